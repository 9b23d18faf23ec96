#include "compiler/passes/split_joined_norms.h"

#include <algorithm>

#include "compiler/ir/arguments.h"
#include "compiler/passes/affine.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

// The first of them is the batch, which is there in all images and signals.
constexpr int kChannels = 1;

class JoinSplitter {
 public:
  JoinSplitter(ir::Module& module, ir::Method& method)
      : module_(module), method_(method), uses_(ir::count_uses(method)), constant_uses_(count_constant_uses(module)) {}

  Expected<Action> visit(ir::Builder& build, NodeId id) {
    const Node& node = method_.node(id);
    const Node* const join = join_read_by(node);
    if (join == nullptr) return Action::keep();
    const ValueId joined = join->results[0];
    Affine affine;
    const TensorType& type = method_.tensor(joined);
    const AffineReason read = read_affine(module_, method_, node, kChannels, type.shape[kChannels].value, &affine);
    if (read != AffineReason::kAffine || affine.input != joined || method_.tensor(node.results[0]) != type) {
      return Action::keep();
    }
    ir::ValueList parts = std::get<ir::ValueList>(join->args[arg::cat_out::tensors]);
    const Argument dim = join->args[arg::cat_out::dim];
    const std::string source = node.source, join_source = join->source;
    std::vector<ValueId> results(node.results.size());
    size_t first = 0;
    for (ValueId& part : parts) {
      const size_t count = method_.tensor(part).shape[kChannels].value;
      BERTH_ASSIGN_OR_RETURN(part, scaled(build, part, affine, first, count, source));
      first += count;
    }
    BERTH_ASSIGN_OR_RETURN(results[0], build.one(OpId::cat_out, {std::move(parts), dim}, join_source));
    return Action::replace(std::move(results));
  }

 private:
  int uses(ValueId value) const { return uses_.contains(value) ? uses_[value] : 0; }

  // The concatenation of channels that `node` alone reads, if its parts take scales and shifts.
  const Node* join_read_by(const Node& node) const {
    if (node.results.empty() || node.args.empty()) return nullptr;
    for (size_t i = 1; i < node.results.size(); ++i) {
      if (uses(node.results[i]) > 0) return nullptr;
    }
    for (const Argument& argument : node.args) {
      const Node* const join = defining_node(method_, argument);
      if (join != nullptr && join->is(OpId::cat_out) && takes_scales(*join)) return join;
    }
    return nullptr;
  }

  bool takes_scales(const Node& join) const {
    const TensorType& type = method_.tensor(join.results[0]);
    const Dim* const dim = std::get_if<Dim>(&join.args[arg::cat_out::dim]);
    const bool channels = dim != nullptr && (*dim == Dim(kChannels) || *dim == Dim(kChannels - type.rank()));
    if (!channels || type.dtype != DType::kF32 || uses(join.results[0]) != 1) return false;
    const auto& parts = std::get<ir::ValueList>(join.args[arg::cat_out::tensors]);
    return std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return takes_scale(part, type); });
  }

  // Whether `part` is a convolution whose weight and bias it alone reads.
  bool takes_scale(ValueId part, const TensorType& joined) const {
    const Node* const node = defining_node(method_, part);
    if (node == nullptr || !node->is(OpId::convolution_out) || uses(part) != 1) return false;
    const TensorType& type = method_.tensor(part);
    if (type.dtype != DType::kF32 || type.dim_order != joined.dim_order || !type.shape[kChannels].is_constant()) {
      return false;
    }
    const Argument &weight = node->args[arg::convolution_out::weight], &bias = node->args[arg::convolution_out::bias];
    return is_own(weight) && (ir::is_none(bias) || is_own(bias));
  }

  bool is_own(const Argument& argument) const {
    const ir::Constant* const constant = ir::constant_of(module_, method_, argument);
    if (constant == nullptr || constant->type.dtype != DType::kF32 || !constant->type.is_contiguous()) return false;
    const ValueId value = std::get<ValueId>(argument);
    return uses(value) == 1 && constant_uses_[method_.value(value).constant] == 1;
  }

  Expected<ValueId> scaled(ir::Builder& build, ValueId part, const Affine& affine, size_t first, size_t count,
                           const std::string& source) {
    const std::string name = method_.value(part).name;
    const ValueId scale = row(build, affine.scale, first, count, method_.tensor(part).rank(), name + "_scale");
    const ValueId shift = row(build, affine.shift, first, count, method_.tensor(part).rank(), name + "_shift");
    BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(OpId::mul_out, {part, scale}, source));
    return build.one(OpId::add_out, {product, shift, Dim(1)}, source);
  }

  // [count, 1, …], which is stretched over the places of a channel.
  static ValueId row(ir::Builder& build, const std::vector<double>& numbers, size_t first, size_t count, int rank,
                     const std::string& name) {
    std::vector<Dim> shape(rank - kChannels, Dim(1));
    shape[0] = Dim(static_cast<int64_t>(count));
    return constant_of_numbers(build, DType::kF32, shape, {numbers.data() + first, count}, name);
  }

  ir::Module& module_;
  ir::Method& method_;
  IdVector<ValueId, int> uses_;
  IdVector<ir::ConstantId, int> constant_uses_;
};

}  // namespace

Expected<Changed> split_joined_norms(ir::Module& module, const Options& options) {
  if (!options.fusion) return Changed::kNo;
  Changed changed = Changed::kNo;
  for (ir::Method& method : module.methods) {
    JoinSplitter splitter(module, method);
    BERTH_ASSIGN_OR_RETURN(const Changed one,
                           rewrite(module, method, [&](ir::Builder& build, NodeId id, bool*) -> Expected<Action> {
                             return splitter.visit(build, id);
                           }));
    changed = changed | one;
  }
  return changed;
}

}  // namespace berth::passes
