// An imaginary accelerator as a plug-in: its target for the compiler, its memory and its backend for the runtime.
//
//     c++ -std=c++17 -shared -fPIC -I INSTALLED/include/berth npu.cc -o libnpu.so
//     berth compile model.onnx --plugin ./libnpu.so --target npu:0,cpu --spec npu:precision=low -o model.pte
//     berth run model.pte --plugin ./libnpu.so
//
// docs/devices.md goes through it.
#include "npu_device.h"
#include "npu_target.h"

BERTH_PLUGIN(parts) {
  auto memory = std::make_unique<npu::NpuAllocator>();
  auto backend = std::make_unique<npu::NpuBackend>(memory.get());
  parts.set_name("the npu of the examples");
  parts.add_device_type("npu", npu::kDeviceType);
  parts.add(std::make_unique<npu::NpuTarget>());
  parts.add(std::move(memory));
  parts.add(std::move(backend));
  return {};
}
