#include "compiler/fuse/mean_of_bytes.h"

#include <algorithm>
#include <cmath>

#include "compiler/fuse/quantized_pairs.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// The sum of so many numbers up to 255 is exact in f32.
constexpr int64_t kMostExact = 1 << 16;

// The largest difference between a byte and its zero point. Where that is infinite as a float, the mean could be.
constexpr float kMostSteps = 255;

// How many numbers each mean is of; 0 where that is not known.
int64_t count_of(const DimList& dims, const ir::TensorType& type) {
  int64_t count = 1;
  for (const Dim dim : dims) {
    const int64_t d = dim.value < 0 ? dim.value + type.rank() : dim.value;
    const Dim size = type.shape[d];
    if (!size.is_constant() || size.value < 1 || size.value > kMostExact) return 0;
    count = std::min(count * size.value, kMostExact + 1);
  }
  return count;
}

Expected<passes::Action> move_mean(Context& context, ir::Builder& build, NodeId id) {
  const Node node = context.node(id);
  if (!node.is(OpId::mean_out) || !ir::is_none(node.args[arg::mean_out::dtype])) return passes::Action::keep();
  const DimList* const dims = std::get_if<DimList>(&node.args[arg::mean_out::dim]);
  const auto bytes = dequantized(context, value_argument(node, arg::mean_out::self));
  if (dims == nullptr || dims->empty() || !bytes || !bytes->scale.number() || !bytes->zero_point.number()) {
    return passes::Action::keep();
  }
  const ir::TensorType& type = context.type(bytes->integers);
  const float scale = static_cast<float>(*bytes->scale.number());
  const int64_t count = is_byte(type.dtype) ? count_of(*dims, type) : 0;
  if (count < 2 || count > kMostExact || !std::isfinite(kMostSteps * scale)) return passes::Action::keep();
  std::vector<ir::Argument> args = node.args;
  args[arg::mean_out::self] = bytes->integers;
  args[arg::mean_out::dtype] = Dim(static_cast<int64_t>(DType::kF32));
  BERTH_ASSIGN_OR_RETURN(ValueId mean, build.one(OpId::mean_out, std::move(args), node.source));
  BERTH_ASSIGN_OR_RETURN(mean, build.one(OpId::sub_Scalar_out, {mean, *bytes->zero_point.number(), Dim(1)}, ""));
  BERTH_ASSIGN_OR_RETURN(mean, build.one(OpId::mul_Scalar_out, {mean, double{scale}}, ""));
  context.remark(context.node(id), Reason::kFused, "a mean of bytes");
  return context.replace(id, mean);
}

}  // namespace

Expected<passes::Changed> mean_of_bytes(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] { return Visit(move_mean); });
}

}  // namespace berth::fuse
