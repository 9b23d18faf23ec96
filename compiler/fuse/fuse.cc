#include "compiler/fuse/fuse.h"

#include "compiler/fuse/activations.h"
#include "compiler/fuse/attention.h"
#include "compiler/fuse/batch_norms.h"
#include "compiler/fuse/concatenations.h"
#include "compiler/fuse/elementwise.h"
#include "compiler/fuse/group_norms.h"
#include "compiler/fuse/layout.h"
#include "compiler/fuse/lines.h"
#include "compiler/fuse/lstm.h"
#include "compiler/fuse/lstm_steps.h"
#include "compiler/fuse/pack.h"
#include "compiler/fuse/products.h"
#include "compiler/fuse/shuffles.h"
#include "compiler/passes/dce.h"

namespace berth::fuse {
namespace {

bool is_fused(ir::OpId op) {
  switch (op) {
    case ir::OpId::fused_conv_out:
    case ir::OpId::fused_linear_out:
    case ir::OpId::fused_attention_out:
    case ir::OpId::fused_elementwise_out:
    case ir::OpId::fused_lstm_out:
    case ir::OpId::fused_shuffle_out:
    case ir::OpId::fused_lstm_cell_out: return true;
    default: return false;
  }
}

using Function = Expected<passes::Changed> (*)(ir::Module&, const Targets&, const passes::Options&);

}  // namespace

std::vector<passes::Pass> fuse_passes(const Targets& targets) {
  const auto pass = [&targets](const char* name, Function function) {
    return passes::Pass{name, [&targets, name, function](ir::Module& module, const passes::Options& options) {
                          passes::Options own = options;
                          if (passes::wants_why(options, name)) own.why = {"fusion"};
                          return function(module, targets, own);
                        }};
  };
  return {
      pass("fuse_activations", fuse_activations),
      // Before products, which take sums as residuals.
      pass("fuse_group_norms", fuse_group_norms),
      // Before products: each looks for the products that it takes in.
      pass("fuse_attention", fuse_attention),
      pass("fuse_lstm", fuse_lstm),
      {"dce", passes::dce},
      // What the steps were made of must not count as a reader of their cells.
      pass("join_lstm_steps", join_lstm_steps),
      pass("fuse_products", fuse_products),
      // What was fused must not count as a reader.
      {"dce", passes::dce},
      pass("split_concatenations", split_concatenations),
      pass("fuse_shuffles", fuse_shuffles),
      // After products, which have taken what follows a convolution.
      pass("expand_batch_norms", expand_batch_norms),
      // After products, which take activations and sums to their ends.
      pass("fuse_elementwise", fuse_elementwise),
      // What was fused stands no longer.
      {"dce", passes::dce},
      pass("lines_as_images", lines_as_images),
      // Lines that nobody reads count as readers of their images.
      {"dce", passes::dce},
      // After the others, which look through views of row-major tensors.
      pass("channels_last", channels_last),
      // Last: how a weight is packed depends on all that its operator does, and dense weights go then.
      pass("pack_weights", pack_weights),
      {"dce", passes::dce},
  };
}

Status check_outside(const ir::Module& module) {
  for (const ir::Method& method : module.methods) {
    std::vector<bool> inside(method.nodes.size(), false);
    std::vector<ir::NodeId> found;
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (ir::NodeId id : graph.nodes) {
        const ir::Node& node = method.node(id);
        if (is_fused(node.op->id)) found.push_back(id);
        if (!node.is(ir::OpId::delegate) || node.regions.empty()) continue;
        ir::for_each_graph(method, node.regions[0], [&](const ir::Graph& region) {
          for (ir::NodeId inner : region.nodes) inside[static_cast<size_t>(inner.index)] = true;
        });
      }
    });
    for (ir::NodeId id : found) {
      if (inside[static_cast<size_t>(id.index)]) continue;
      const ir::Node& node = method.node(id);
      return Failure{
          Error::kNotSupported,
          "method " + method.name + ": " + node.op->functional_name + " (%" + method.value(node.results[0]).name + ")",
          "fused operators run in delegates alone; write what it is made of, or compile for the cpu target"};
    }
  }
  return Done{};
}

}  // namespace berth::fuse
