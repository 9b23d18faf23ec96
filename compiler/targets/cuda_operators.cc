#include "compiler/targets/cuda_operators.h"

#include <algorithm>
#include <iterator>

namespace berth::targets {
namespace {

using ir::OpId;

struct Row {
  OpId op;
  bool floats_only;
};

#define KERNEL(identifier) {OpId::identifier, false},
#define FLOAT_KERNEL(identifier) {OpId::identifier, true},
constexpr Row kRows[] = {
#include "backends/cuda/operators.def"
};
#undef KERNEL

// How many places a mask names is not known on the host. The first argument is what is indexed, the others are indices.
bool has_no_masks(const ir::Method& method, const ir::Node& node) {
  bool none = true;
  for (size_t i = 1; i < node.args.size(); ++i) {
    ir::for_each_value(node.args[i], [&](const ir::ValueId& id) {
      const DType dtype = method.tensor(id).dtype;
      none = none && (dtype == DType::kI32 || dtype == DType::kI64);
    });
  }
  return none;
}

}  // namespace

Support cuda_supports(const ir::Method& method, const ir::Node& node) {
  const auto is_row = [&](const Row& row) { return row.op == node.op->id; };
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows), is_row);
  if (row == std::end(kRows)) return Support::kOperator;
  bool all = true;
  const auto look = [&](ir::ValueId id, bool narrow) {
    const DType dtype = method.tensor(id).dtype;
    const bool is_float = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
    const bool is_whole = (is_integer(dtype) && dtype != DType::kU64) || dtype == DType::kBool;
    all = all && (is_float || (!narrow && (is_floating(dtype) || is_whole)));
  };
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ir::ValueId& id) { look(id, row->floats_only); });
  }
  for (ir::ValueId id : node.results) look(id, false);
  if (node.op->id == OpId::index_Tensor_out) all = all && has_no_masks(method, node);
  return all ? Support::kSupported : Support::kDType;
}

}  // namespace berth::targets
