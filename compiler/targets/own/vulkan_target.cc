#include "compiler/targets/own/vulkan_target.h"

#include <algorithm>
#include <map>
#include <string>
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
using plugin::Value;

// As backends/vulkan/operators.def explains them.
enum class Takes { FLOATS, NUMBERS, WHOLES, ALIKE, TESTS, CHOICES, INDICES, SCATTERED, FOLDED, ANY };

struct VulkanKernel {
  Row row;
  Takes takes;
};

#define KERNEL(identifier, takes) {Row::identifier, Takes::takes},
constexpr VulkanKernel kVulkanKernels[] = {
#include "backends/vulkan/operators.def"
};
#undef KERNEL

// By the operators' names: "aten::add.Tensor".
const std::map<std::string, Takes>& vulkan_kernels() {
  static const auto* const all = [] {
    auto* const made = new std::map<std::string, Takes>;
    for (const VulkanKernel& kernel : kVulkanKernels) made->emplace(operator_name(kernel.row), kernel.takes);
    return made;
  }();
  return *all;
}

bool vulkan_float(DType dtype) { return dtype == DType::kF32 || has_16_bits(dtype); }
bool is_index(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }
bool is_whole(DType dtype) { return is_index(dtype) || is_byte(dtype); }
bool is_exact(DType dtype) { return is_whole(dtype) || dtype == DType::kBool; }
bool is_number(DType dtype) { return vulkan_float(dtype) || is_whole(dtype); }
bool is_known(DType dtype) { return vulkan_float(dtype) || is_whole(dtype) || dtype == DType::kBool; }

// The types of a node's tensors, and how large they can be.
struct VulkanTypes {
  std::vector<DType> arguments;
  std::vector<DType> results;
  bool has_numbers = false;  // that are known only when it runs
  int64_t most_elements = 0;
  int most_rank = 0;
  bool too_large = false;  // one of them, for a kernel to see

  explicit VulkanTypes(const Node& node) {
    for (size_t i = 0; i < node.arguments_size(); ++i) {
      const Argument argument = node.argument(i);
      for (size_t k = 0; k < argument.size(); ++k) {
        if (!argument.has_value(k)) continue;
        has_numbers = has_numbers || !argument.value(k).is_tensor();
        arguments.push_back(measured(argument.value(k)));
      }
    }
    for (size_t i = 0; i < node.results_size(); ++i) results.push_back(measured(node.result(i)));
  }

  bool are_all(bool (*test)(DType)) const {
    return std::all_of(arguments.begin(), arguments.end(), test) && std::all_of(results.begin(), results.end(), test);
  }

 private:
  // Of which each device lets a kernel see so much at least.
  static constexpr int64_t kMostBytes = (int64_t{1} << 27) - 4096;

  DType measured(const Value& value) {
    const auto dtype = static_cast<DType>(value.dtype());
    if (!value.is_tensor()) return dtype;
    most_elements = std::max(most_elements, value.numel());
    most_rank = std::max(most_rank, value.rank());
    too_large = too_large || value.numel() > kMostBytes / static_cast<int64_t>(element_size(dtype));
    return dtype;
  }
};

using Test = bool (*)(DType);

Status all_are(const std::vector<DType>& types, Test test) {
  for (const DType dtype : types) {
    if (!test(dtype)) return refuse(std::string("not for tensors of ") + to_string(dtype));
  }
  return {};
}

// Floats may be mixed; what else passes the test is of one type.
Status all_alike(const std::vector<DType>& types, Test test) {
  if (all_are(types, vulkan_float).ok()) return {};
  if (const Status status = all_are(types, test); !status.ok()) return status;
  for (const DType dtype : types) {
    if (dtype == types[0]) continue;
    return refuse(std::string("not for tensors of ") + to_string(types[0]) + " and " + to_string(dtype) + " together");
  }
  return {};
}

std::vector<DType> joined(std::vector<DType> types, const std::vector<DType>& more) {
  types.insert(types.end(), more.begin(), more.end());
  return types;
}

Status takes_floats(const Node& node, const VulkanTypes& types) {
  if (const Status status = all_are(types.arguments, vulkan_float); !status.ok()) return status;
  // The indices of a max pooling, which the kernel can write.
  const bool indices = node.op() == "aten::max_pool2d_with_indices" && types.results.size() == 2;
  return all_are(indices ? std::vector<DType>{types.results[0]} : types.results, vulkan_float);
}

Status takes_choice(const Node& node, const VulkanTypes& types) {
  const size_t condition = node.op() == "aten::where.self" ? 0 : 1;
  std::vector<DType> rest = joined(types.arguments, types.results);
  if (rest.size() <= condition || rest[condition] != DType::kBool) return refuse("its condition is not of bool");
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(condition));
  if (const Status status = all_are(rest, is_known); !status.ok()) return status;
  for (const DType dtype : rest) {
    if (dtype != rest[0]) return refuse("not for tensors of several types");
  }
  return {};
}

Status takes_indices(const VulkanTypes& types) {
  if (types.arguments.size() != 2) return refuse("not for several tensors of indices");
  std::vector<DType> indices = types.arguments;
  std::vector<DType> values = types.results;
  values.push_back(indices[0]);
  indices.erase(indices.begin());
  if (const Status status = all_are(indices, is_index); !status.ok()) return status;
  return all_alike(values, is_known);
}

Status takes_whole(const VulkanTypes& types) {
  if (const Status status = all_are(types.arguments, is_exact); !status.ok()) return status;
  return all_alike(types.arguments, is_exact);
}

// Its tensors are self, the indices, and perhaps a source. Bool is not added.
Status takes_scattered(const Node& node, const VulkanTypes& types) {
  if (types.arguments.size() < 2) return refuse("not for numbers");
  // A line of indices is one loop, which lavapipe ends after 65535 rounds.
  if (types.most_elements > 60000) return refuse("not for so many places, which are one after the other");
  std::vector<DType> values = joined({types.arguments[0]}, types.results);
  if (types.arguments.size() > 2) values.push_back(types.arguments[2]);
  return all_alike(values, node.op() == "aten::scatter_add" ? is_number : is_known);
}

// Rows end where lavapipe would end their loops. Real numbers are not cut off to whole ones first.
Status takes_folded(const Node& node, const VulkanTypes& types) {
  if (types.most_elements > int64_t{1} << 20) return refuse("not for rows of more than 2^20 elements");
  const bool sums = node.op() == "aten::cumsum" || node.op() == "aten::prod" || node.op() == "aten::prod.dim_int";
  if (sums && is_exact(types.results[0]) && all_are(types.arguments, vulkan_float).ok()) {
    return refuse("not for whole numbers of real ones");
  }
  return all_are(joined(types.arguments, types.results), is_known);
}

// What is not of floats alone the host computes as well: a loop would wait for the device in every turn to learn
// whether there is another, and a tensor that no kernel sees would be an error of the run.
Status takes_sizes(const VulkanTypes& types) {
  if (types.are_all(vulkan_float)) return {};
  if (types.are_all(is_exact) && types.most_elements <= 1) {
    return refuse("the host is sooner done with single whole numbers, such as a loop counts with");
  }
  return types.too_large ? refuse("not for tensors of more than 128 MiB") : Status();
}

Status takes_types(Takes takes, const Node& node, const VulkanTypes& types) {
  if (types.arguments.empty()) return refuse("none of its tensors is on the device before");
  // Such a copy has a dimension for each repetition and one for what is repeated.
  if (node.op() == "aten::repeat" && types.most_rank > 8) return refuse("not for more than 8 dimensions");
  if (types.has_numbers) return all_are(types.arguments, vulkan_float);
  if (const Status status = takes_sizes(types); !status.ok()) return status;
  switch (takes) {
    case Takes::FLOATS: return takes_floats(node, types);
    case Takes::NUMBERS: return all_alike(joined(types.arguments, types.results), is_whole);
    case Takes::WHOLES: return takes_whole(types);
    case Takes::FOLDED: return takes_folded(node, types);
    case Takes::ALIKE: return all_alike(joined(types.arguments, types.results), is_known);
    case Takes::TESTS: return all_alike(types.arguments, is_known);
    case Takes::CHOICES: return takes_choice(node, types);
    case Takes::INDICES: return takes_indices(types);
    case Takes::SCATTERED: return takes_scattered(node, types);
    case Takes::ANY: return all_are(joined(types.arguments, types.results), is_known);
  }
  return {};
}

}  // namespace

VulkanTarget::VulkanTarget() : NestedTarget("vulkan", "berth.vulkan", static_cast<int32_t>(DeviceType::kVulkan)) {
  table_.fuses = 1;
  table_.channels_last = 2;
  table_.alignment = 256;  // the most that a device may want of where a buffer's part begins
}

Status VulkanTarget::takes(const Node& node, const plugin::Specs&) {
  const auto kernel = vulkan_kernels().find(std::string(node.op()));
  if (kernel == vulkan_kernels().end()) return refuse("it has no " + std::string(node.op()));
  return takes_types(kernel->second, node, VulkanTypes(node));
}

}  // namespace berth::targets::own
