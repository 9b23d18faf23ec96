// Runs a program on a custom device (toy_device.h).
//
//     berth compile model.onnx --target sim:0 -o model.pte
//     device model.pte
//
// Inputs are filled with ones; the first elements of each output are printed.

#include <cstdio>
#include <vector>

#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"
#include "toy_device.h"

namespace {

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

void print(size_t index, const berth::Tensor& tensor) {
  std::printf("out%zu:", index);
  for (int64_t i = 0; i < tensor.numel() && i < 8 && tensor.dtype() == berth::DType::kF32; ++i) {
    std::printf(" %g", static_cast<double>(tensor.data<float>()[i]));
  }
  std::printf("\n");
}

int run(berth::Method& method) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const berth::Result<berth::TensorInfo> info = method.meta().input_tensor_meta(i);
    if (!info.ok() || info->dtype != berth::DType::kF32) {
      std::fprintf(stderr, "input %zu is not a tensor of floats\n", i);
      return 2;
    }
    const std::vector<float> ones(info->nbytes / sizeof(float), 1.0f);
    if (method.set_input(i, ones.data(), info->sizes, info->dtype) != berth::Error::kOk) {
      return fail("input", method.last_report());
    }
  }
  if (method.execute() != berth::Error::kOk) return fail("run", method.last_report());
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (method.get_output(i).is_tensor()) print(i, method.get_output(i).tensor());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: device PROGRAM.pte\n");
    return 2;
  }
  // They outlive the program, and are static because the device's memory is large.
  static toy::ToyAllocator allocator;
  static toy::ToyBackend backend(&allocator);
  static berth::DeviceAllocatorRegistry registry;
  if (registry.register_allocator(&allocator) != berth::Error::kOk) return 1;

  berth::Report report;
  const berth::Result<berth::MappedFileLoader> loader = berth::MappedFileLoader::open(argv[1], &report);
  if (!loader.ok()) return fail(argv[1], report);
  berth::Backend* const backends[] = {&backend};
  berth::LoadOptions options;
  options.registry = &registry;
  options.backends = backends;
  options.report = &report;
  const berth::Result<berth::Program> program = berth::Program::load(*loader, berth::portable::kernels(), options);
  if (!program.ok()) return fail(argv[1], report);
  berth::HostOptions host;
  host.report = &report;
  berth::Result<berth::HostMethod> method = berth::HostMethod::load(*program, program->method_name(0), host);
  if (!method.ok()) return fail(argv[1], report);
  return run(method->method());
}
