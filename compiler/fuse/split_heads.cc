#include "compiler/fuse/split_heads.h"

#include <algorithm>
#include <map>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

namespace linear = arg::quantized_linear_out;

// Where softmax and all that reshapes have what they read.
constexpr size_t kInput = arg::softmax_out::self;

// Floats of all scores; fewer fit a second-level cache as they are.
constexpr int64_t kLeastBytes = 256 * 1024;
// Of a model's attention; more would be a program of too many small steps.
constexpr int64_t kMostHeads = 64;

bool is_batched_product(const Context& context, const Node& node) {
  return node.is(OpId::quantized_linear_out) && context.type(value_argument(node, linear::weight)).rank() == 3 &&
         ir::is_none(node.args[linear::residual]);
}

// What stands between both products, first to last, and they themselves.
struct Attention {
  std::vector<NodeId> nodes;
  int64_t heads = 0;
};

class HeadSplitter {
 public:
  HeadSplitter(const Context& context, NodeId last) : context_(context), last_(last) {}

  // Nothing where node `last` is not the second product of an attention that is worth it.
  std::optional<Attention> match() const {
    Attention found;
    found.nodes.push_back(last_);
    bool softmax = false;
    ValueId value = value_argument(context_.node(last_), linear::input);
    while (true) {
      const Node* node = context_.maker(value);
      if (node == nullptr || context_.uses(value) != 1) return std::nullopt;
      found.nodes.push_back(context_.method().value(value).node);
      if (is_batched_product(context_, *node)) break;
      if (node->is(OpId::softmax_out)) {
        if (softmax || !is_last(node->args[arg::softmax_out::dim], context_.type(value).rank())) return std::nullopt;
        softmax = true;
      } else if (!node->op->is_reshape() && !reads_one(*node)) {
        return std::nullopt;
      }
      value = node->op->is_reshape() || node->is(OpId::softmax_out)
                  ? value_argument(*node, kInput)
                  : std::get<ValueList>(node->args[arg::fused_elementwise_out::inputs])[0];
    }
    std::reverse(found.nodes.begin(), found.nodes.end());
    const Dim heads = context_.type(value).shape[0];
    if (!softmax || !heads.is_constant() || heads.value < 2 || heads.value > kMostHeads) return std::nullopt;
    found.heads = heads.value;
    const auto of_heads = [&](NodeId id) { return has_heads(context_.node(id).results[0], heads); };
    return std::all_of(found.nodes.begin(), found.nodes.end(), of_heads) && is_large(value)
               ? std::optional<Attention>(found)
               : std::nullopt;
  }

 private:
  static bool is_last(const Argument& dim, int rank) {
    const Dim* d = std::get_if<Dim>(&dim);
    return d != nullptr && (*d == Dim(-1) || *d == Dim(rank - 1));
  }

  static bool reads_one(const Node& node) {
    return node.is(OpId::fused_elementwise_out) &&
           std::get<ValueList>(node.args[arg::fused_elementwise_out::inputs]).size() == 1;
  }

  // [heads, rows, columns], or that behind ones, of known sizes.
  bool has_heads(ValueId value, Dim heads) const {
    const ir::TensorType& type = context_.type(value);
    if (type.rank() < 3 || !type.is_contiguous() || type.shape[type.rank() - 3] != heads) return false;
    const auto is_one = [](Dim d) { return d == Dim(1); };
    const auto known = [](Dim d) { return d.is_constant(); };
    return std::all_of(type.shape.begin(), type.shape.end() - 3, is_one) &&
           std::all_of(type.shape.begin(), type.shape.end(), known);
  }

  bool is_large(ValueId scores) const {
    return ir::max_numel(context_.type(scores), context_.symbols()) * static_cast<int64_t>(sizeof(float)) >=
           kLeastBytes;
  }

  const Context& context_;
  NodeId last_;
};

// Head `head` of what the nodes compute.
Expected<ValueId> one_head(Context& context, ir::Builder& build, const Attention& attention, int64_t head) {
  std::map<ValueId, ValueId> own;
  const auto slice = [&](ValueId value) -> Expected<ValueId> {
    const auto found = own.find(value);
    if (found != own.end()) return found->second;
    return build.one(OpId::slice_copy_Tensor_out, {value, Dim(0), Dim(head), Dim(head + 1), Dim(1)}, "");
  };
  ValueId made;
  for (NodeId id : attention.nodes) {
    const Node node = context.node(id);
    const ValueId result = node.results[0];
    std::vector<Argument> args = node.args;
    OpId op = node.op->id;
    if (node.is(OpId::quantized_linear_out)) {
      for (const size_t side : {size_t{linear::input}, size_t{linear::weight}}) {
        BERTH_ASSIGN_OR_RETURN(args[side], slice(value_argument(node, side)));
      }
    } else if (node.is(OpId::fused_elementwise_out)) {
      auto& inputs = std::get<ValueList>(args[arg::fused_elementwise_out::inputs]);
      inputs[0] = own.at(inputs[0]);
    } else {
      args[kInput] = own.at(value_argument(node, kInput));
    }
    if (node.op->is_reshape()) {
      DimList shape = context.type(result).shape;
      shape[shape.size() - 3] = Dim(1);
      op = OpId::view_copy_out;
      args = {args[kInput], shape};
    }
    BERTH_ASSIGN_OR_RETURN(made, build.one(op, std::move(args), node.source));
    own[result] = made;
  }
  return made;
}

Expected<passes::Action> split(Context& context, ir::Builder& build, NodeId id) {
  if (!is_batched_product(context, context.node(id))) return passes::Action::keep();
  const auto attention = HeadSplitter(context, id).match();
  if (!attention) return passes::Action::keep();
  ValueList heads;
  for (int64_t head = 0; head < attention->heads; ++head) {
    BERTH_ASSIGN_OR_RETURN(const ValueId one, one_head(context, build, *attention, head));
    heads.push_back(one);
  }
  context.remark(context.node(id), Reason::kFused, "attention, a head at a time");
  BERTH_ASSIGN_OR_RETURN(const ValueId joined, build.one(OpId::cat_out, {heads, Dim(0)}, context.node(id).source));
  return context.replace(id, joined);
}

}  // namespace

Expected<passes::Changed> split_heads(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] { return Visit(split); });
}

}  // namespace berth::fuse
