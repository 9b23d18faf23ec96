#include "compiler/fuse/split_concatenations.h"

#include <algorithm>
#include <utility>

#include "base/huge_page_buffer.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

constexpr size_t kMostParts = 3;

// The part of a dense weight [out, in, …] that reads `count` input channels from `first` on. Weights are most of a
// model's bytes: each is copied once.
Expected<ValueId> channels_of(ir::Builder& build, const ir::Constant& weight, int64_t first, int64_t count) {
  const int64_t out = weight.type.shape[0].value;
  const int64_t in = weight.type.shape[1].value;
  const size_t channel = weight.blob.size() / (out * in);
  HugePageBuffer part;
  if (!part.allocate(out * count * channel)) {
    return Failure{Error::kMemoryAllocationFailed, weight.name, "there is no memory for a part of it"};
  }
  for (int64_t o = 0; o < out; ++o) {
    weight.blob.read((o * in + first) * channel, {part.data() + o * count * channel, count * channel});
  }
  ir::TensorType type = weight.type;
  type.shape[1] = ir::Dim(count);
  return build.constant(type, ir::Blob::owned_buffer(std::move(part)), weight.name + "_part");
}

// The concatenation that a convolution reads, and the max pooling between them, if there is one.
struct Joined {
  const Node* cat = nullptr;
  const Node* pool = nullptr;
};

// What the convolution reads, when it can be split.
Joined splittable(const Context& context, const Node& node) {
  if (!node.is(OpId::fused_conv_out) || std::get<bool>(node.args[arg::fused_conv_out::transposed]) ||
      node.args[arg::fused_conv_out::groups] != Argument(ir::Dim(1))) {
    return {};
  }
  const ValueId read = std::get<ValueId>(node.args[arg::fused_conv_out::input]);
  Joined joined = {context.maker(read)};
  ValueId whole = read;
  if (joined.cat != nullptr && joined.cat->is(OpId::max_pool2d_with_indices_out)) {
    joined.pool = joined.cat;
    if (context.uses(read) != 1 || context.uses(joined.pool->results[1]) != 0) return {};
    whole = std::get<ValueId>(joined.pool->args[arg::max_pool2d_with_indices_out::self]);
    joined.cat = context.maker(whole);
  }
  const ir::TensorType& type = context.type(whole);
  if (joined.cat == nullptr || !joined.cat->is(OpId::cat_out) || type.rank() != 4) return {};
  const auto dim = context.number(joined.cat->args[arg::cat_out::dim]);
  if ((dim != 1.0 && dim != -3.0) || context.uses(whole) != 1) return {};
  const auto& parts = std::get<ir::ValueList>(joined.cat->args[arg::cat_out::tensors]);
  const ir::Constant* weight = context.constant(node.args[arg::fused_conv_out::weight]);
  if (parts.size() < 2 || parts.size() > kMostParts || weight == nullptr || weight->blob.size() == 0) return {};
  const ir::TensorType& out = context.type(node.results[0]);
  if (ir::max_numel(out, context.symbols()) > ir::max_numel(context.type(read), context.symbols())) return {};
  // A concatenation takes other element types along, and tensors of one dimension without elements.
  const auto fits = [&](ValueId part) {
    const ir::TensorType& own = context.type(part);
    return own.dtype == DType::kF32 && own.rank() == 4 && own.shape[1].is_constant() && own.shape[1] != ir::Dim(0) &&
           own.shape[0] == type.shape[0] && own.shape[2] == type.shape[2] && own.shape[3] == type.shape[3];
  };
  return std::all_of(parts.begin(), parts.end(), fits) ? joined : Joined();
}

// What is joined, each pooled.
Expected<ir::ValueList> parts_of(const Joined& joined, ir::Builder& build) {
  ir::ValueList parts = std::get<ir::ValueList>(joined.cat->args[arg::cat_out::tensors]);
  if (joined.pool == nullptr) return parts;
  const Node pool = *joined.pool;
  for (ValueId& part : parts) {
    std::vector<Argument> args = pool.args;
    args[arg::max_pool2d_with_indices_out::self] = part;
    BERTH_ASSIGN_OR_RETURN(part, build.one(OpId::max_pool2d_with_indices_out, std::move(args), pool.source));
  }
  return parts;
}

Expected<passes::Action> fuse_concatenation(Context& context, ir::Builder& build, NodeId id) {
  const Joined joined = splittable(context, context.node(id));
  if (joined.cat == nullptr) return passes::Action::keep();
  context.remark(*joined.cat, Reason::kFused, "a sum of convolutions");
  BERTH_ASSIGN_OR_RETURN(const ir::ValueList parts, parts_of(joined, build));
  const Node node = context.node(id);
  const ir::Constant constant = *context.constant(node.args[arg::fused_conv_out::weight]);
  int64_t first = 0;
  Argument sum = node.args[arg::fused_conv_out::residual];
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t channels = context.type(parts[i]).shape[1].value;
    BERTH_ASSIGN_OR_RETURN(const ValueId weight, channels_of(build, constant, first, channels));
    std::vector<Argument> args = node.args;
    args[arg::fused_conv_out::input] = parts[i];
    args[arg::fused_conv_out::weight] = weight;
    args[arg::fused_conv_out::residual] = sum;
    first += channels;
    if (i + 1 < parts.size()) {
      args[arg::fused_conv_out::bias] = ir::None{};
      args[arg::fused_conv_out::activation] = std::string("none");
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build.one(OpId::fused_conv_out, std::move(args), node.source));
    sum = made;
  }
  return context.replace(id, std::get<ValueId>(sum));
}

}  // namespace

Expected<passes::Changed> split_concatenations(ir::Module& module, const Targets& targets,
                                               const passes::Options& options) {
  Targets those;
  for (const targets::Target& target : targets) {
    if (target.channels_last) those.push_back(target);
  }
  return rewrite_regions(module, those, options, [] { return Visit(fuse_concatenation); });
}

}  // namespace berth::fuse
