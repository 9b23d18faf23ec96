#include "backends/vulkan/faults.h"

namespace berth::vulkan {
namespace {

const char* name_of(uint32_t op) {
  switch (static_cast<PickOp>(op)) {
    case PickOp::kEmbedding: return "aten::embedding";
    case PickOp::kGather: return "aten::gather";
    case PickOp::kIndex: return "aten::index";
    case PickOp::kIndexSelect: return "aten::index_select";
    case PickOp::kScatter: return "aten::scatter";
    case PickOp::kScatterAdd: return "aten::scatter_add";
  }
  return "an operator";
}

}  // namespace

std::string to_text(const Fault& fault) {
  const auto index = static_cast<int64_t>(uint64_t{fault.index[1]} << 32 | fault.index[0]);
  return std::string(name_of(fault.op)) + ": index " + std::to_string(index) + " is outside the dimension of " +
         std::to_string(fault.size) + " that it selects from";
}

}  // namespace berth::vulkan
