#include "compiler/targets/cuda_operators.h"

#include <bitset>

namespace berth::targets {
namespace {

using ir::OpId;

using OperatorSet = std::bitset<static_cast<size_t>(OpId::kCount)>;

const OperatorSet& listed() {
  static const OperatorSet set = [] {
    OperatorSet made;
#define KERNEL(identifier) made.set(static_cast<size_t>(OpId::identifier));
#include "backends/cuda/operators.def"
#undef KERNEL
    return made;
  }();
  return set;
}

// What the libraries compute, or kernels that know no whole numbers.
bool is_for_floats(OpId op) {
  switch (op) {
    case OpId::mm_out:
    case OpId::bmm_out:
    case OpId::addmm_out:
    case OpId::convolution_out:
    case OpId::softmax_out:
    case OpId::log_softmax_out:
    case OpId::native_layer_norm_out:
    case OpId::native_group_norm_out:
    case OpId::native_batch_norm_legit_no_training_out:
    case OpId::avg_pool2d_out:
    case OpId::adaptive_avg_pool2d_out:
    case OpId::max_pool2d_with_indices_out:
    case OpId::upsample_bilinear2d_vec_out:
    case OpId::upsample_nearest2d_vec_out: return true;
    default: return false;
  }
}

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

Answer cuda_takes(const ir::Method& method, const ir::Node& node) {
  if (!listed()[static_cast<size_t>(node.op->id)]) return Answer::kOperator;
  const bool floats = is_for_floats(node.op->id);
  bool all = true;
  const auto look = [&](ir::ValueId id, bool narrow) {
    const DType dtype = method.tensor(id).dtype;
    const bool is_float = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
    const bool is_whole = (is_integer(dtype) && dtype != DType::kU64) || dtype == DType::kBool;
    all = all && (is_float || (!narrow && (is_floating(dtype) || is_whole)));
  };
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ir::ValueId& id) { look(id, floats); });
  }
  for (ir::ValueId id : node.results) look(id, false);
  if (node.op->id == OpId::index_Tensor_out) all = all && has_no_masks(method, node);
  return all ? Answer::kTakes : Answer::kDType;
}

}  // namespace berth::targets
