// An imaginary accelerator as a plug-in: its target for the compiler, its memory and its backend for the runtime, and
// an operator for both. docs/devices.md and docs/operators.md go through it.
//
//     c++ -std=c++17 -shared -fPIC -I INSTALLED/include/berth npu.cc -o libnpu.so
//     berth compile model.onnx --plugin ./libnpu.so --target npu:0,cpu --spec npu:precision=low
//         --bank sram=256K@npu:0 --bank dram@npu:0,slow -o model.pte
//     berth run model.pte --plugin ./libnpu.so
#include "npu_device.h"
#include "npu_target.h"

namespace npu {

// npu::clip, which Berth does not have. This kernel is the host's; the accelerator has its own.
class Clip final : public berth::plugin::Operator {
 public:
  Clip() : Operator("npu::clip", "Tensor self, float limit=1 -> Tensor out") {
    table_.in_place = 1 << 0;  // the result may lie on argument 0
  }
  Status infer(const Node& call, berth::plugin::Results& results) override {
    if (call.argument("self").value().dtype() != BERTH_F32) return {BERTH_INVALID_ARGUMENT, "clips floats only"};
    results.like(call.argument("self").value());
    return {};
  }
  Status compute(const berth::plugin::Call& call) override {
    call.resize_like(2, 0);
    const float limit = static_cast<float>(call.number(1));
    const float* self = call.data<float>(0);
    for (int64_t i = 0; i < call.numel(0); ++i) call.data<float>(2)[i] = std::max(-limit, std::min(limit, self[i]));
    return {};
  }
};

}  // namespace npu

BERTH_PLUGIN(parts) {
  auto memory = std::make_unique<npu::NpuAllocator>();
  auto backend = std::make_unique<npu::NpuBackend>(memory.get());
  parts.set_name("the npu of the examples");
  parts.add_device_type("npu", npu::kDeviceType);
  parts.add(std::make_unique<npu::NpuTarget>());
  parts.add(std::move(memory));
  parts.add(std::move(backend));
  parts.add(std::make_unique<npu::Clip>());
  return {};
}
