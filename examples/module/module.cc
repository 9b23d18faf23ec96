// Runs a program by its path, and says which of its instructions took the longest.
//
//     module MODEL.pte [DATA.ptd]
//
// Every input is a tensor of zeros; the first elements of each output are printed.
#include "runtime/host/module.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "kernels/portable/portable.h"
#include "runtime/observer.h"

namespace {

using Clock = std::chrono::steady_clock;

// Delegates call it as well, between their own before() and after(): only the outermost instruction is timed.
class Slowest final : public berth::InstructionObserver {
 public:
  berth::Error before(const berth::InstructionEvent&) override {
    if (depth_++ == 0) start_ = Clock::now();
    return berth::Error::kOk;
  }
  void after(const berth::InstructionEvent& event, berth::Error) override {
    if (--depth_ > 0) return;
    const auto taken = Clock::now() - start_;
    if (taken <= longest_) return;
    longest_ = taken;
    name_ = event.name;
  }
  void print() const {
    std::printf("slowest: %s, %.1f us\n", name_.c_str(), std::chrono::duration<double, std::micro>(longest_).count());
  }

 private:
  int depth_ = 0;
  Clock::time_point start_;
  Clock::duration longest_{};
  std::string name_;
};

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

void print(size_t index, const berth::Tensor& tensor) {
  std::printf("out%zu: %s[", index, to_string(tensor.dtype()));
  for (int d = 0; d < tensor.rank(); ++d) std::printf(d == 0 ? "%" PRId64 : ",%" PRId64, tensor.size(d));
  std::printf("]");
  for (int64_t i = 0; i < std::min<int64_t>(tensor.numel(), 8); ++i) {
    if (tensor.dtype() == berth::DType::kF32) std::printf(" %g", static_cast<double>(tensor.data<float>()[i]));
    if (tensor.dtype() == berth::DType::kI64) std::printf(" %" PRId64, tensor.data<int64_t>()[i]);
  }
  std::printf("\n");
}

berth::Result<std::vector<berth::OwnedTensor>> zeros(const berth::MethodMeta& meta) {
  std::vector<berth::OwnedTensor> tensors;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const berth::Result<berth::TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) continue;  // a number, which was compiled into the program
    BERTH_ASSIGN_OR_RETURN(berth::OwnedTensor tensor, berth::OwnedTensor::make(info->dtype, info->sizes));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: module MODEL.pte [DATA.ptd]\n");
    return 2;
  }
  berth::CpuBackend cpu;
  berth::Backend* const backends[] = {&cpu};
  berth::Report report;
  berth::ModuleOptions options;
  options.backends = backends;
  options.data_files.assign(argv + 2, argv + argc);
  options.report = &report;
  berth::Result<berth::Module> module = berth::Module::load(argv[1], berth::portable::kernels(), options);
  if (!module.ok()) return fail(argv[1], report);

  const char* name = module->program().method_name(0);
  const berth::Result<berth::HostMethod*> method = module->load_method(name);
  if (!method.ok()) return fail(argv[1], module->last_report());
  Slowest slowest;
  (*method)->method().set_observer(&slowest);

  const auto tensors = zeros((*method)->method().meta());
  if (!tensors.ok()) return fail("inputs", module->last_report());
  const std::vector<berth::TensorInput> inputs(tensors->begin(), tensors->end());
  const auto outputs = module->execute(name, inputs);
  if (!outputs.ok()) return fail(argv[1], module->last_report());
  for (size_t i = 0; i < outputs->size(); ++i) print(i, (*outputs)[i].tensor());
  slowest.print();
  (*method)->method().set_observer(nullptr);
  return 0;
}
