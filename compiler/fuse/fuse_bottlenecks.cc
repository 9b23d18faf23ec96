#include "compiler/fuse/fuse_bottlenecks.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/fuse/replacements.h"

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
namespace at_conv = arg::fused_conv_out;
namespace at_block = arg::inverted_residual_out;

const std::vector<uint8_t> kChannelsInnermost = {0, 2, 3, 1};

// From or to so few channels there are kernels that do not work by rows (kernels/cpu/first_conv.h, last_conv.h).
constexpr int64_t kFewInputs = 4;
constexpr int64_t kFewOutputs = 8;

// As large as a second-level cache. Where all images of 100 KB and more are worked off by rows, MobileNetV3, GhostNet
// and MnasNet take some per cent more time; with those of 1 MiB each of the four models that have some takes 0.94 to
// 1.00.
constexpr int64_t kLeastElements = 256 * 1024;

bool all_are_number(const Argument& list, int64_t number) {
  for (const Dim& dim : std::get<DimList>(list)) {
    if (dim != Dim(number)) return false;
  }
  return true;
}

struct Bottleneck {
  NodeId expand, depthwise, project;  // the first and the last may be invalid
};

class RegionBlocks {
 public:
  RegionBlocks(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    find_readers(old);
    std::map<NodeId, Bottleneck> blocks = find_blocks(old);
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      const auto found = blocks.find(id);
      if (found == blocks.end()) {
        graph_.nodes.push_back(id);
        continue;
      }
      BERTH_TRY(make(id, found->second));
    }
    replaced_.apply(&graph_.outputs);
    return !blocks.empty();
  }

 private:
  void find_readers(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      for (const Argument& argument : method_.node(id).args)
        ir::for_each_value(argument, [&](const ValueId& value) { reader_[value] = id; });
      for (ValueId result : method_.node(id).results) maker_[result] = id;
    }
  }

  bool is_image(ValueId value) const {
    const ir::TensorType& type = context_.type(value);
    return type.dtype == DType::kF32 && type.rank() == 4 && type.dim_order == kChannelsInnermost;
  }

  bool is_plain_conv(const Node& node) const {
    return node.is(OpId::fused_conv_out) && !std::get<bool>(node.args[at_conv::transposed]) &&
           context_.constant(node.args[at_conv::weight]) != nullptr &&
           is_image(std::get<ValueId>(node.args[at_conv::input])) && is_image(node.results[0]);
  }

  bool is_depthwise(const Node& node) const {
    if (!is_plain_conv(node) || !ir::is_none(node.args[at_conv::residual])) return false;
    const Dim channels = context_.type(node.results[0]).shape[1];
    return std::get<Dim>(node.args[at_conv::groups]) == channels && channels != Dim(1) &&
           context_.type(std::get<ValueId>(node.args[at_conv::input])).shape[1] == channels;
  }

  // Without strides and padding, the result is as large as the image for pointwise windows, and for no others.
  bool is_pointwise(const Node& node) const {
    if (!is_plain_conv(node) || node.args[at_conv::groups] != Argument(Dim(1))) return false;
    const ir::TensorType& input = context_.type(std::get<ValueId>(node.args[at_conv::input]));
    const ir::TensorType& out = context_.type(node.results[0]);
    return input.shape[1].is_constant() && input.shape[1].value > kFewInputs && out.shape[1].value > kFewOutputs &&
           all_are_number(node.args[at_conv::stride], 1) && all_are_number(node.args[at_conv::padding], 0) &&
           input.shape[2] == out.shape[2] && input.shape[3] == out.shape[3];
  }

  int64_t elements(ValueId value) const { return ir::max_numel(context_.type(value), context_.symbols()); }

  // Whether `value`, which `node` makes or reads, is worth being never whole, at its largest. A result that is larger
  // would stand beside what the block reads, and take more memory than it saves.
  bool is_worth(ValueId value, ValueId result, const Node& node) const {
    if (elements(value) >= std::max(kLeastElements, elements(result))) return true;
    context_.remark(node, Reason::kSmall, "berth::inverted_residual");
    return false;
  }

  // The node of this region that makes `value` for one reader alone, if it is large.
  NodeId expansion(ValueId value, ValueId result) const {
    const auto found = maker_.find(value);
    if (found == maker_.end() || !is_pointwise(method_.node(found->second))) return NodeId{};
    const Node& node = method_.node(found->second);
    if (!ir::is_none(node.args[at_conv::residual])) return NodeId{};
    if (context_.uses(value) != 1) {
      context_.remark(node, Reason::kReadElsewhere, "berth::inverted_residual");
      return NodeId{};
    }
    return is_worth(value, result, node) ? found->second : NodeId{};
  }

  NodeId projection(ValueId value, const std::set<NodeId>& taken) const {
    const auto found = reader_.find(value);
    if (found == reader_.end() || context_.uses(value) != 1) return NodeId{};
    const Node& node = method_.node(found->second);
    const bool fits =
        taken.count(found->second) == 0 && is_pointwise(node) && node.args[at_conv::input] == Argument(value);
    return fits && is_worth(value, node.results[0], node) ? found->second : NodeId{};
  }

  // By the node in whose place each stands, its last.
  std::map<NodeId, Bottleneck> find_blocks(const std::vector<NodeId>& nodes) const {
    std::vector<Bottleneck> found;
    std::set<NodeId> taken;
    for (NodeId id : nodes) {
      const Node& node = method_.node(id);
      if (!is_depthwise(node)) continue;
      Bottleneck one = {{}, id, {}};
      one.expand = expansion(std::get<ValueId>(node.args[at_conv::input]), node.results[0]);
      if (one.expand.valid()) taken.insert(one.expand);
      found.push_back(one);
    }
    // What could be both is the expansion: it makes the wider image.
    std::map<NodeId, Bottleneck> blocks;
    for (Bottleneck& one : found) {
      one.project = projection(method_.node(one.depthwise).results[0], taken);
      if (one.project.valid()) blocks.emplace(one.project, one);
      if (!one.project.valid() && one.expand.valid()) blocks.emplace(one.depthwise, one);
    }
    return blocks;
  }

  // The arguments of a convolution in the places of one of the block's.
  void take(NodeId id, size_t weight, size_t bias, size_t activation, size_t packing, std::vector<Argument>* args) {
    const std::vector<Argument>& from = method_.node(id).args;
    (*args)[weight] = from[at_conv::weight];
    (*args)[bias] = from[at_conv::bias];
    (*args)[activation] = from[at_conv::activation];
    (*args)[activation + 1] = from[at_conv::alpha];
    (*args)[activation + 2] = from[at_conv::beta];
    (*args)[packing] = from[at_conv::packing];
  }

  Status make(NodeId id, const Bottleneck& one) {
    std::vector<Argument> args(at_block::project_packing + 1, ir::None{});
    for (const size_t activation :
         {size_t{at_block::expand_activation}, size_t{at_block::activation}, size_t{at_block::project_activation}}) {
      args[activation] = std::string("none");
      args[activation + 1] = args[activation + 2] = 0.0;
    }
    args[at_block::expand_packing] = args[at_block::project_packing] = std::string();
    const Node& depthwise = method_.node(one.depthwise);
    args[at_block::input] = depthwise.args[at_conv::input];
    args[at_block::stride] = depthwise.args[at_conv::stride];
    args[at_block::padding] = depthwise.args[at_conv::padding];
    args[at_block::dilation] = depthwise.args[at_conv::dilation];
    take(one.depthwise, at_block::weight, at_block::bias, at_block::activation, at_block::packing, &args);
    if (one.expand.valid()) {
      args[at_block::input] = method_.node(one.expand).args[at_conv::input];
      take(one.expand, at_block::expand_weight, at_block::expand_bias, at_block::expand_activation,
           at_block::expand_packing, &args);
      context_.remark(method_.node(one.expand), Reason::kFused, "berth::inverted_residual");
    }
    if (one.project.valid()) {
      args[at_block::residual] = method_.node(one.project).args[at_conv::residual];
      take(one.project, at_block::project_weight, at_block::project_bias, at_block::project_activation,
           at_block::project_packing, &args);
      context_.remark(depthwise, Reason::kFused, "berth::inverted_residual");
    }
    context_.remark(method_.node(id), Reason::kFused, "berth::inverted_residual");
    const std::string source = method_.node(id).source;
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(OpId::inverted_residual_out, std::move(args), source));
    replaced_.add(method_.node(id).results[0], made);
    return Done{};
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  std::map<ValueId, NodeId> reader_, maker_;
  Replacements replaced_;
};

}  // namespace

Expected<passes::Changed> fuse_bottlenecks(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    // The others have no kernel for it.
    if (!target.fuses || target.backend != "berth.cpu") return Expected<bool>(false);
    return RegionBlocks(module, method, options, region).run();
  });
}

}  // namespace berth::fuse
