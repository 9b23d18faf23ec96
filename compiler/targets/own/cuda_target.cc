#include "compiler/targets/own/cuda_target.h"

#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "compiler/targets/own/operator_names.h"

namespace berth::targets::own {
namespace {

using plugin::Argument;
using plugin::Node;
using plugin::refuse;
using plugin::Status;

struct Kernel {
  Row row;
  bool floats_only;
};
#define KERNEL(identifier) {Row::identifier, false},
#define FLOAT_KERNEL(identifier) {Row::identifier, true},
constexpr Kernel kKernels[] = {
#include "backends/cuda/operators.def"
};
#undef KERNEL

// Whether the kernel takes floats only, by the operator's name: "aten::add.Tensor".
const std::unordered_map<std::string, bool>& kernels() {
  static const auto* const all = [] {
    auto* const made = new std::unordered_map<std::string, bool>;
    for (const Kernel& kernel : kKernels) made->emplace(operator_name(kernel.row), kernel.floats_only);
    return made;
  }();
  return *all;
}

bool has_kernel_for(DType dtype, bool floats_only) {
  if (dtype == DType::kF32 || has_16_bits(dtype)) return true;
  return !floats_only && is_real(dtype) && dtype != DType::kU64;
}

Status not_for(DType dtype) { return refuse(std::string("not for tensors of ") + to_string(dtype)); }

// How many places a mask names is not known on the host. The first argument is what is indexed, the others are indices.
bool is_mask(const Node& node, size_t argument, DType dtype) {
  return node.op() == "aten::index.Tensor" && argument > 0 && dtype != DType::kI32 && dtype != DType::kI64;
}

// As many as a launch's parameters hold (backends/cuda/kernels/index.cu).
constexpr size_t kMostIndices = 6;

bool has_too_many_indices(const Node& node) {
  if (node.op() != "aten::index.Tensor" || node.arguments_size() < 2) return false;
  const Argument list = node.argument(1);
  size_t indices = 0;
  for (size_t k = 0; k < list.size(); ++k) indices += list.has_value(k) ? 1 : 0;
  return indices > kMostIndices;
}

}  // namespace

CudaTarget::CudaTarget() : NestedTarget("cuda", "berth.cuda", static_cast<int32_t>(DeviceType::kCuda)) {
  table_.fuses = 1;
}

Status CudaTarget::takes(const Node& node, const plugin::Specs&) {
  const auto kernel = kernels().find(std::string(node.op()));
  if (kernel == kernels().end()) return refuse("it has no " + std::string(node.op()));
  for (size_t i = 0; i < node.arguments_size(); ++i) {
    const Argument argument = node.argument(i);
    for (size_t k = 0; k < argument.size(); ++k) {
      if (!argument.has_value(k)) continue;
      const DType dtype = static_cast<DType>(argument.value(k).dtype());
      if (!has_kernel_for(dtype, kernel->second) || is_mask(node, i, dtype)) return not_for(dtype);
    }
  }
  for (size_t i = 0; i < node.results_size(); ++i) {
    const DType dtype = static_cast<DType>(node.result(i).dtype());
    if (!has_kernel_for(dtype, false)) return not_for(dtype);
  }
  if (has_too_many_indices(node)) return refuse("more than 6 tensors of indices");
  return {};
}

}  // namespace berth::targets::own
