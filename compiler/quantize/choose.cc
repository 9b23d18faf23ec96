#include "compiler/quantize/choose.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::quantize {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// What a node does with 8-bit integers.
enum class Kind {
  kOther,  // nothing
  kLayer,
  kSame,  // moves them: the result has the input's scale
  kOwn,   // computes others
};

Kind kind_of(const Node& node) {
  switch (node.op->id) {
    case OpId::view_copy_out:
    case OpId::permute_copy_out:
    case OpId::transpose_copy_int_out:
    case OpId::squeeze_copy_dim_out:
    case OpId::squeeze_copy_dims_out:
    case OpId::unsqueeze_copy_out:
    case OpId::select_copy_int_out:
    case OpId::slice_copy_Tensor_out:
    case OpId::max_pool2d_with_indices_out:
    case OpId::pixel_shuffle_out:
    case OpId::upsample_nearest2d_vec_out: return Kind::kSame;
    case OpId::cat_out:
    case OpId::avg_pool2d_out:
    case OpId::adaptive_avg_pool2d_out:
    case OpId::mean_out:
    case OpId::upsample_bilinear2d_vec_out:
    case OpId::add_out:
    case OpId::mul_out: return Kind::kOwn;
    default: return Kind::kOther;
  }
}

bool is_elementwise(const Node& node) {
  return node.op->in_place == ir::InPlaceClass::kElement && node.results.size() == 1 && !node.op->output_is_list &&
         node.regions.empty() && !node.op->is_random() && !node.op->has_effects;
}

class Chooser {
 public:
  Chooser(const ir::Module& module, const ir::Method& method, std::vector<Layer> layers)
      : module_(module),
        method_(method),
        readers_(method.values.size()),
        is_output_(method.values.size()),
        eight_(method.values.size()),
        wanted_(method.values.size()),
        maker_(method.values.size()),
        kinds_(method.nodes.size()),
        ends_(method.nodes.size()) {
    choice_.layers = std::move(layers);
    for (const Layer& layer : choice_.layers) layer_of_[layer.node] = &layer;
  }

  Choice run() {
    find_readers();
    for (NodeId id : method_.body.nodes) make(id);
    for (size_t i = method_.body.nodes.size(); i-- > 0;) want(method_.body.nodes[i]);
    for (ValueId id : method_.body.inputs) add_point(id);
    for (NodeId id : method_.body.nodes) {
      for (ValueId result : method_.node(id).results) add_point(result);
    }
    return std::move(choice_);
  }

 private:
  void find_readers() {
    for (NodeId id : method_.body.nodes) {
      std::set<ValueId> mentioned;
      ir::for_each_mention(method_, method_.node(id), [&](ValueId value) { mentioned.insert(value); });
      for (ValueId value : mentioned) readers_[value].push_back(id);
    }
    for (const Argument& output : method_.body.outputs) {
      ir::for_each_value(output, [&](const ValueId& value) { is_output_[value] = true; });
    }
  }

  bool is_constant(ValueId value) const { return method_.value(value).kind == ir::ValueKind::kConstant; }

  std::vector<ValueId> tensors(const Node& node) const {
    std::vector<ValueId> values;
    for (const Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) { values.push_back(value); });
    }
    return values;
  }

  // Whether the node gives a function of each element of one of `region`, and of nothing else that is not constant.
  bool continues(const Node& node, const std::set<ValueId>& region) const {
    const bool reshapes = node.op->is_reshape() && node.results.size() == 1;
    if (!reshapes && !is_elementwise(node)) return false;
    const ValueId result = node.results[0];
    if (!is_f32(method_, result)) return false;
    bool any = false;
    for (ValueId value : tensors(node)) {
      if (is_constant(value)) continue;
      if (region.count(value) == 0) return false;
      if (!reshapes && method_.tensor(value).shape != method_.tensor(result).shape) return false;
      any = true;
    }
    return any;
  }

  // The value behind the functions of `start` that follow it, where they join to one; otherwise `start`.
  ValueId end_of_functions(ValueId start) const {
    std::set<ValueId> region = {start};
    std::vector<ValueId> order = {start};
    for (size_t i = 0; i < order.size() && i < kMostFunctions; ++i) {
      for (NodeId reader : readers_[order[i]]) {
        const Node& node = method_.node(reader);
        if (node.results.empty() || region.count(node.results[0]) != 0 || !continues(node, region)) continue;
        region.insert(node.results[0]);
        order.push_back(node.results[0]);
      }
    }
    ValueId end;
    for (ValueId value : order) {
      const bool inside = !is_output_[value] && !readers_[value].empty() &&
                          std::all_of(readers_[value].begin(), readers_[value].end(), [&](NodeId reader) {
                            const Node& node = method_.node(reader);
                            return !node.results.empty() && region.count(node.results[0]) != 0;
                          });
      if (inside) continue;
      if (end.valid()) return start;  // two are read from outside
      end = value;
    }
    if (!end.valid()) return start;
    // Views at the end move integers as well.
    for (;;) {
      const Node* node = end == start ? nullptr : passes::defining_node(method_, end);
      if (node == nullptr || !node->op->is_reshape()) return end;
      const ValueId before = value_of(node->args[0]);
      if (!before.valid() || readers_[before].size() != 1) return end;
      end = before;
    }
  }

  // Forwards: which values are made by what computes in 8 bits.
  void make(NodeId id) {
    const Node& node = method_.node(id);
    if (node.results.empty() || !is_f32(method_, node.results[0])) return;
    const bool made = eight_[node.results[0]];  // within the functions behind another node
    Kind kind = layer_of_.count(id) != 0 ? Kind::kLayer : kind_of(node);
    if (kind == Kind::kOther && is_elementwise(node) && tensors(node).size() == 1) kind = Kind::kOwn;
    if (kind == Kind::kOther && node.is(OpId::constant_pad_nd_out)) {
      const auto padding = passes::uniform_number(module_, method_, node.args[arg::constant_pad_nd_out::value]);
      if (padding == 0.0) kind = Kind::kSame;
    }
    if (made || swallowed_.count(id) != 0 || kind == Kind::kOther) return;
    if (kind != Kind::kLayer) {
      for (ValueId value : tensors(node)) {
        if (!eight_[value]) return;
      }
    }
    // Indices of the largest are of numbers.
    for (size_t i = 1; i < node.results.size(); ++i) {
      if (is_output_[node.results[i]] || !readers_[node.results[i]].empty()) return;
    }
    const ValueId end = end_of_functions(node.results[0]);
    swallow(node.results[0], end);
    kinds_[id] = kind;
    ends_[id] = end;
    eight_[end] = true;
    maker_[end] = id;
  }

  // The nodes from `start` to `end` are part of what makes `start`.
  void swallow(ValueId start, ValueId end) {
    if (end == start || !end.valid()) return;
    const ir::Value& value = method_.value(end);
    if (value.kind != ir::ValueKind::kNode || !swallowed_.insert(value.node).second) return;
    for (ValueId before : tensors(method_.node(value.node))) swallow(start, before);
  }

  // Backwards: which values are rounded because what computes in 8 bits reads them.
  void want(NodeId id) {
    const Node& node = method_.node(id);
    const auto layer = layer_of_.find(id);
    if (layer != layer_of_.end()) return want(layer->second->input, id);
    if (!ends_[id].valid() || !wanted_[ends_[id]]) return;
    const ValueId unrounded = kinds_[id] == Kind::kOwn ? unrounded_side(node) : ValueId();
    for (ValueId value : tensors(node)) {
      if (value != unrounded) want(value, id);
    }
  }

  void want(ValueId value, NodeId reader) {
    wanted_[value] = true;
    rounded_readers_[value].push_back(reader);
  }

  // Of a sum: the later of its sides that is a layer's own result, read here alone.
  ValueId unrounded_side(const Node& node) const {
    if (!node.is(OpId::add_out) || passes::uniform_number(module_, method_, node.args[arg::add_out::alpha]) != 1.0) {
      return {};
    }
    const ValueId sides[2] = {value_of(node.args[arg::add_out::self]), value_of(node.args[arg::add_out::other])};
    ValueId found;
    for (ValueId side : sides) {
      if (!side.valid() || sides[0] == sides[1] || !maker_[side].valid() || readers_[side].size() != 1) continue;
      const bool own = kinds_[maker_[side]] == Kind::kLayer && method_.node(maker_[side]).results[0] == side;
      if (!own || is_output_[side] || method_.tensor(side).shape != method_.tensor(node.results[0]).shape) continue;
      if (!found.valid() || method_.value(found).node.index < method_.value(side).node.index) found = side;
    }
    return found;
  }

  void add_point(ValueId value) {
    if (!wanted_[value]) return;
    Point point;
    point.value = value;
    point.everywhere = eight_[value];
    point.readers = rounded_readers_[value];
    const NodeId maker = maker_[value];
    if (maker.valid() && kinds_[maker] == Kind::kSame && ends_[maker] == method_.node(maker).results[0]) {
      point.scale_of = value_of(method_.node(maker).args[0]);
    }
    choice_.points.push_back(std::move(point));
  }

  static constexpr size_t kMostFunctions = 64;

  const ir::Module& module_;
  const ir::Method& method_;
  Choice choice_;
  std::map<NodeId, const Layer*> layer_of_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  IdVector<ValueId, bool> is_output_;
  IdVector<ValueId, bool> eight_;    // made by what computes in 8 bits
  IdVector<ValueId, bool> wanted_;   // rounded
  IdVector<ValueId, NodeId> maker_;  // of eight_
  IdVector<NodeId, Kind> kinds_;
  IdVector<NodeId, ValueId> ends_;  // what each that computes in 8 bits makes
  std::set<NodeId> swallowed_;
  std::map<ValueId, std::vector<NodeId>> rounded_readers_;
};

}  // namespace

Choice choose(const ir::Module& module, const ir::Method& method, std::vector<Layer> layers) {
  return Chooser(module, method, std::move(layers)).run();
}

}  // namespace berth::quantize
