#include "compiler/fuse/fuse_shuffles.h"

#include <map>

#include "compiler/fuse/replacements.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

struct Shuffle {
  ir::ValueList parts;
  int64_t groups = 0;
};

class RegionShuffles {
 public:
  RegionShuffles(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : old) find_split(id);
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      BERTH_ASSIGN_OR_RETURN(const bool done, visit(id));
      if (!done) graph_.nodes.push_back(id);
    }
    replaced_.apply(&graph_.outputs);
    return changed_;
  }

 private:
  static bool is_channels(const Argument& dim) { return dim == Argument(Dim(1)) || dim == Argument(Dim(-3)); }

  // The shuffled images that a split alone reads are left to it.
  void find_split(NodeId id) {
    const Node& node = method_.node(id);
    if (!node.is(OpId::split_with_sizes_copy_out) || !is_channels(node.args[arg::split_with_sizes_copy_out::dim]))
      return;
    const ValueId image = std::get<ValueId>(node.args[arg::split_with_sizes_copy_out::self]);
    if (context_.uses(image) == 1 && match(image)) split_.emplace(image, id);
  }

  // The maker of `value` when it is `op` and its result has no other reader.
  const Node* maker_alone(ValueId value, OpId op) const {
    const Node* node = context_.maker(value);
    return node != nullptr && node->is(op) && context_.uses(value) == 1 ? node : nullptr;
  }

  std::optional<Shuffle> match(ValueId shuffled) const {
    const Node* last = context_.maker(shuffled);
    if (last == nullptr || !last->is(OpId::view_copy_out) || !is_row_major(context_, shuffled)) return std::nullopt;
    const ValueId turned = std::get<ValueId>(last->args[arg::view_copy_out::self]);
    const Node* permutation = maker_alone(turned, OpId::permute_copy_out);
    if (permutation == nullptr ||
        std::get<DimList>(permutation->args[arg::permute_copy_out::dims]) != ir::dims({0, 2, 1, 3, 4})) {
      return std::nullopt;
    }
    const ValueId cut = std::get<ValueId>(permutation->args[arg::permute_copy_out::self]);
    const Node* view = maker_alone(cut, OpId::view_copy_out);
    if (view == nullptr) return std::nullopt;
    const ValueId joined = std::get<ValueId>(view->args[arg::view_copy_out::self]);
    const Node* cat = maker_alone(joined, OpId::cat_out);
    if (cat == nullptr || !is_channels(cat->args[arg::cat_out::dim]) || !is_row_major(context_, joined))
      return std::nullopt;
    const std::vector<Dim> image = context_.type(joined).shape;
    const std::vector<Dim> groups = context_.type(cut).shape;
    if (image.size() != 4 || groups.size() != 5 || context_.type(shuffled).shape != image) return std::nullopt;
    if (groups[0] != image[0] || groups[3] != image[2] || groups[4] != image[3]) return std::nullopt;
    if (!image[1].is_constant() || !groups[1].is_constant() || !groups[2].is_constant()) return std::nullopt;
    // Of images without places, views give channels any number.
    if (groups[1].value * groups[2].value != image[1].value) return std::nullopt;
    if (context_.type(joined).dtype != DType::kF32) return std::nullopt;
    const auto& parts = std::get<ir::ValueList>(cat->args[arg::cat_out::tensors]);
    for (ValueId part : parts) {
      if (context_.type(part).rank() != 4 || context_.type(part).dtype != DType::kF32) return std::nullopt;
    }
    return Shuffle{parts, groups[1].value};
  }

  Expected<bool> visit(NodeId id) {
    const Node& node = method_.node(id);
    if (node.is(OpId::split_with_sizes_copy_out)) {
      const auto split = split_.find(std::get<ValueId>(node.args[arg::split_with_sizes_copy_out::self]));
      if (split == split_.end() || split->second.index != id.index) return false;
      return replace(id, split->first, std::get<DimList>(node.args[arg::split_with_sizes_copy_out::split_sizes]));
    }
    if (!node.is(OpId::view_copy_out) || split_.count(node.results[0]) != 0) return false;
    const ValueId image = node.results[0];
    if (!match(image)) return false;
    return replace(id, image, {context_.type(image).shape[1]});
  }

  Expected<bool> replace(NodeId id, ValueId shuffled, const DimList& sizes) {
    const Shuffle found = *match(shuffled);
    context_.remark(method_.node(id), Reason::kFused, "berth::shuffle");
    const std::string source = method_.node(id).source;
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                           build_.create(OpId::fused_shuffle_out, {found.parts, Dim(found.groups), sizes}, source));
    for (size_t i = 0; i < made.size(); ++i) replaced_.add(method_.node(id).results[i], made[i]);
    changed_ = true;
    return true;
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  std::map<ValueId, NodeId> split_;  // by the shuffled image that it takes apart
  Replacements replaced_;
  bool changed_ = false;
};

}  // namespace

Expected<passes::Changed> fuse_shuffles(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    return target.fuses ? RegionShuffles(module, method, options, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
