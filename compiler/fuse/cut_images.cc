#include "compiler/fuse/cut_images.h"

#include <algorithm>
#include <map>

#include "compiler/fuse/image_block.h"
#include "compiler/fuse/live_bytes.h"
#include "compiler/fuse/replacements.h"

namespace berth::fuse {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// What is smaller stays whole: it fits a first or second-level cache, and hardly decides what a model takes.
constexpr int64_t kLeastImageBytes = 256 * 1024;
// A strip of fewer rows would read its weights, and rows of its neighbours, more often than its memory is worth.
constexpr int64_t kFewestImageRows = 4;
// Of the memory at a block: strips for less would cost more time than that is worth.
constexpr int64_t kLeastImageGain = 8;
// Strips that come as near to the bound as this part of it are enough: more of them take less and less off.
constexpr int64_t kNearImageBound = 16;

// A block, and the most memory that is taken at it.
struct CutCandidate {
  ImageBlock block;
  size_t first = 0, last = 0;  // positions of its nodes in the region
  int64_t whole = 0;
  int64_t beside = 0;  // its result, and all that is there while it runs and is not a part of it
  int64_t strips = 1;
};

class ImageCutter {
 public:
  ImageCutter(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = graph_.nodes;
    find(old);
    std::map<NodeId, const CutCandidate*> cut;
    IdVector<NodeId, bool> gone(method_.nodes.size(), false);
    for (const CutCandidate& one : candidates_) {
      if (one.strips < 2) continue;
      cut.emplace(one.block.nodes().back(), &one);
      for (const NodeId id : one.block.nodes()) gone[id] = true;
    }
    if (cut.empty()) return false;
    graph_.nodes.clear();
    for (const NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      const auto found = cut.find(id);
      if (found != cut.end()) BERTH_TRY(make(id, *found->second));
      if (!gone[id]) graph_.nodes.push_back(id);
    }
    replaced_.apply(&graph_.outputs);
    return true;
  }

 private:
  void find(const std::vector<NodeId>& nodes) {
    IdVector<NodeId, bool> taken(method_.nodes.size(), false);
    IdVector<NodeId, size_t> position(method_.nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) position[nodes[i]] = i;
    IdVector<ValueId, bool> inner(method_.values.size(), false);
    for (size_t i = nodes.size(); i-- > 0;) {
      if (taken[nodes[i]] || method_.node(nodes[i]).results.empty()) continue;
      ImageBlock block(context_, nodes[i], kLeastImageBytes, taken);
      if (block.nodes().size() < 2) continue;
      CutCandidate one{std::move(block)};
      one.first = one.last = i;
      for (const NodeId id : one.block.nodes()) {
        taken[id] = true;
        one.first = std::min(one.first, position[id]);
      }
      for (const ValueId value : one.block.inner()) inner[value] = true;
      candidates_.push_back(std::move(one));
    }
    if (!candidates_.empty()) decide(nodes, taken, inner);
  }

  // What one block comes down to, all may take.
  void decide(const std::vector<NodeId>& nodes, const IdVector<NodeId, bool>& taken,
              const IdVector<ValueId, bool>& inner) {
    const LiveBytes live(context_, graph_);
    int64_t bound = outside();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!taken[nodes[i]]) bound = std::max(bound, live.at(i, inner));
    }
    const IdVector<ValueId, bool> none(method_.values.size(), false);
    for (CutCandidate& one : candidates_) {
      for (size_t i = one.first; i <= one.last; ++i) one.whole = std::max(one.whole, live.at(i, none));
      const ValueId result = method_.node(nodes[one.last]).results[0];
      IdVector<ValueId, bool> own = inner;
      own[result] = true;
      one.beside = live.within(one.first, one.last, own) + ir::max_bytes(context_.type(result), context_.symbols());
      bound = std::max(bound, std::min(one.whole, one.beside + strip_bytes(one, most_strips(one))));
    }
    for (CutCandidate& one : candidates_) {
      if (one.whole - one.whole / kLeastImageGain <= bound) continue;
      const int64_t enough = bound + bound / kNearImageBound;
      while (one.strips < most_strips(one) && one.beside + strip_bytes(one, one.strips) > enough) ++one.strips;
      for (const NodeId id : one.block.nodes()) context_.remark(method_.node(id), Reason::kFused, "strips of an image");
    }
  }

  static int64_t most_strips(const CutCandidate& one) {
    return std::max<int64_t>(one.block.rows() / kFewestImageRows, 1);
  }

  static ImageRows rows_of(const CutCandidate& one, int64_t strip, int64_t strips) {
    return {one.block.rows() * strip / strips, one.block.rows() * (strip + 1) / strips};
  }

  static int64_t strip_bytes(const CutCandidate& one, int64_t strips) {
    int64_t most = 0;
    for (int64_t i = 0; i < strips; ++i) most = std::max(most, one.block.bytes_for(rows_of(one, i, strips)));
    return most;
  }

  // The most memory that a node around the region takes, such as what makes bytes of the input.
  int64_t outside() const {
    int64_t most = 0;
    for (const NodeId id : method_.body.nodes) {
      const Node& node = method_.node(id);
      if (!node.is(OpId::delegate)) continue;
      int64_t bytes = 0;
      const auto add = [&](ValueId value) {
        const bool counts =
            method_.value(value).tensor() != nullptr && context_.constant(ir::Argument(value)) == nullptr;
        if (counts) bytes += ir::max_bytes(context_.type(value), context_.symbols());
      };
      ir::for_each_value(node.args[arg::delegate::inputs], [&](const ValueId& value) { add(value); });
      for (const ValueId result : node.results) add(result);
      most = std::max(most, bytes);
    }
    return most;
  }

  Status make(NodeId id, const CutCandidate& one) {
    const Node last = method_.node(id);
    ir::ValueList parts;
    for (int64_t i = 0; i < one.strips; ++i) {
      BERTH_ASSIGN_OR_RETURN(const ValueId part, one.block.append(context_, build_, rows_of(one, i, one.strips)));
      BERTH_ASSIGN_OR_RETURN(const ValueId lines, lines_of_image(build_, part, last.source));
      parts.push_back(lines);
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId joined, build_.one(OpId::cat_out, {parts, ir::Dim(1)}, last.source));
    BERTH_ASSIGN_OR_RETURN(const ValueId image, image_of_lines(build_, joined, last.source));
    replaced_.add(last.results[0], image);
    return Done{};
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  std::vector<CutCandidate> candidates_;
  Replacements replaced_;
};

}  // namespace

Expected<passes::Changed> cut_images(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets_of_bytes(targets),
                         [&](ir::Method& method, const targets::Target&, Graph& region) {
                           return ImageCutter(module, method, options, region).run();
                         });
}

}  // namespace berth::fuse
