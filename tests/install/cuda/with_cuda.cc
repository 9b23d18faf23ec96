// Loads a program for cuda:0 with the CUDA backend of an installed Berth, and runs it where there is a GPU. Where there
// is none, loading must end with an error that names the device.
//
//     with_cuda model.pte

#include <cstdio>
#include <cstring>
#include <vector>

#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace {

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  berth::cuda::CudaAllocator allocator;
  berth::cuda::CudaBackend backend;
  berth::DeviceAllocatorRegistry registry;
  const bool has_gpu = allocator.device_count() > 0;
  if (has_gpu && registry.register_allocator(&allocator) != berth::Error::kOk) return 1;
  std::printf("cuda: %s\n", berth::cuda::describe_devices());

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
  if (!has_gpu) {
    if (!method.ok() && std::strstr(report.message, "cuda") != nullptr) return 0;
    return fail("without a GPU an error that names the device was expected", report);
  }
  if (!method.ok()) return fail(argv[1], report);
  const berth::MethodMeta meta = method->method().meta();
  std::vector<std::vector<uint8_t>> zeros(meta.num_inputs());
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const berth::Result<berth::TensorInfo> input = meta.input_tensor_meta(i);
    if (!input.ok()) return fail("the model has an input that is not a tensor", report);
    zeros[i].assign(input->nbytes, 0);
    if (method->method().set_input(i, zeros[i].data(), input->sizes, input->dtype) != berth::Error::kOk) {
      return fail("input", method->method().last_report());
    }
  }
  if (method->method().execute() != berth::Error::kOk) return fail("run", method->method().last_report());
  return 0;
}
