#include "compiler/fuse/fuse.h"

#include <algorithm>
#include <memory>

#include "compiler/fuse/channels_last.h"
#include "compiler/fuse/conv1d_to_2d.h"
#include "compiler/fuse/cut_channels.h"
#include "compiler/fuse/cut_images.h"
#include "compiler/fuse/cut_rows.h"
#include "compiler/fuse/expand_batch_norms.h"
#include "compiler/fuse/expand_transposed.h"
#include "compiler/fuse/fuse_activations.h"
#include "compiler/fuse/fuse_attention.h"
#include "compiler/fuse/fuse_bottlenecks.h"
#include "compiler/fuse/fuse_dynamic_quantize.h"
#include "compiler/fuse/fuse_elementwise.h"
#include "compiler/fuse/fuse_group_norms.h"
#include "compiler/fuse/fuse_grouped_attention.h"
#include "compiler/fuse/fuse_gru.h"
#include "compiler/fuse/fuse_layer_norms.h"
#include "compiler/fuse/fuse_lstm.h"
#include "compiler/fuse/fuse_narrow_products.h"
#include "compiler/fuse/fuse_products.h"
#include "compiler/fuse/fuse_quantized.h"
#include "compiler/fuse/fuse_rms_norms.h"
#include "compiler/fuse/fuse_rotations.h"
#include "compiler/fuse/fuse_shuffles.h"
#include "compiler/fuse/gather_masks.h"
#include "compiler/fuse/join_lstm_steps.h"
#include "compiler/fuse/lift_last_views.h"
#include "compiler/fuse/mean_of_bytes.h"
#include "compiler/fuse/move_permutes.h"
#include "compiler/fuse/move_quantization.h"
#include "compiler/fuse/narrow_caches.h"
#include "compiler/fuse/narrow_results.h"
#include "compiler/fuse/narrow_weights.h"
#include "compiler/fuse/order_weights.h"
#include "compiler/fuse/pack_weights.h"
#include "compiler/fuse/share_tables.h"
#include "compiler/fuse/split_activations.h"
#include "compiler/fuse/split_concatenations.h"
#include "compiler/fuse/split_heads.h"
#include "compiler/fuse/sum_before_product.h"
#include "compiler/fuse/take_columns.h"
#include "compiler/fuse/take_rows.h"
#include "compiler/fuse/transpose_weighted.h"
#include "compiler/fuse/widen_transposed.h"
#include "compiler/passes/dce.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/simplify.h"

namespace berth::fuse {
namespace {

using Function = Expected<passes::Changed> (*)(ir::Module&, const Targets&, const passes::Options&);

// A pass of compiler/passes/ that runs again where it has left alone what `kept` says.
std::function<Expected<passes::Changed>(ir::Module&, const passes::Options&)> if_kept(
    Expected<passes::Changed> (*pass)(ir::Module&, const passes::Options&),
    bool passes::Options::*kept = &passes::Options::keep_quantized) {
  return [pass, kept](ir::Module& module, const passes::Options& options) -> Expected<passes::Changed> {
    if (!(options.*kept)) return passes::Changed::kNo;
    passes::Options own = options;
    own.*kept = false;
    return pass(module, own);
  };
}

// Whether all that make delegates are `such`, of which there is one.
bool all_delegates(const Targets& targets, bool (*such)(const targets::Target& target)) {
  bool any = false;
  for (const targets::Target& target : targets) {
    if (!target.is_portable() && !such(target)) return false;
    any = any || !target.is_portable();
  }
  return any;
}

}  // namespace

std::vector<passes::Pass> fuse_passes(Targets targets) {
  const auto shared = std::make_shared<const Targets>(std::move(targets));
  // `subject`: what the pass remarks on, which its own name asks for as well.
  const auto pass = [&shared](const char* name, Function function, const char* subject = "fusion") {
    return passes::Pass{name, [shared, name, function, subject](ir::Module& module, const passes::Options& options) {
                          passes::Options own = options;
                          if (passes::wants_why(options, name)) own.why = {subject};
                          return function(module, *shared, own);
                        }};
  };
  return {
      // Before quantisation is moved: it makes moves.
      pass("expand_transposed", expand_transposed),
      // Early: what reads moved numbers may read moved bytes.
      pass("move_quantization", move_quantization),
      // Behind it, which may have moved the dequantisation to the mean.
      pass("mean_of_bytes", mean_of_bytes),
      pass("fuse_dynamic_quantize", fuse_dynamic_quantize),
      // What was moved or rounded in another way must not count as a reader.
      {"dce", passes::dce},
      pass("fuse_activations", fuse_activations),
      // What was moved, and what formulas were made of, must not count as a reader.
      {"dce", passes::dce},
      // Before all others that look for products, and behind activations, which it takes to their ends.
      pass("fuse_quantized", fuse_quantized),
      {"dce", passes::dce},
      // Behind it: these are of numbers that are not quantised.
      pass("fuse_narrow_products", fuse_narrow_products),
      {"dce", passes::dce},
      // From here on the weights of products that are not of quantised numbers are floats, and take batch norms.
      {"fold_constants", if_kept(passes::fold_constants)},
      {"fold_batch_norm", if_kept(passes::fold_batch_norm)},
      // Before products, which take sums as residuals.
      pass("fuse_group_norms", fuse_group_norms),
      pass("fuse_layer_norms", fuse_layer_norms),
      pass("fuse_rms_norms", fuse_rms_norms),
      pass("gather_masks", gather_masks),
      pass("transpose_weighted", transpose_weighted),
      // What was gathered or transposed must not count as a reader.
      {"dce", passes::dce},
      // Before products: each looks for the products that it takes in.
      pass("fuse_attention", fuse_attention),
      // Behind it, which reads heads out of rows of tokens: what is left has them in an order of their own.
      pass("fuse_grouped_attention", fuse_grouped_attention),
      // What attention has not cut itself.
      pass("cut_channels", cut_channels),
      pass("fuse_lstm", fuse_lstm),
      {"dce", passes::dce},
      // What the steps were made of must not count as a reader of their cells.
      pass("join_lstm_steps", join_lstm_steps),
      pass("fuse_gru", fuse_gru),
      // Products that these steps were made of are not to become operators.
      {"dce", passes::dce},
      {"fold_constants", if_kept(passes::fold_constants, &passes::Options::keep_first_steps)},
      // Sums with products of zeros.
      {"simplify", if_kept(passes::simplify, &passes::Options::keep_first_steps)},
      {"dce", passes::dce},
      pass("take_columns", take_columns),
      // Before products, which have no place for what sums their rows.
      pass("sum_before_product", sum_before_product),
      {"dce", passes::dce},
      // Behind all that look for permutations of heads.
      pass("move_permutes", move_permutes),
      // Before products, which take activations to their ends.
      pass("split_activations", split_activations),
      // What was joined before must not count as a reader of its parts.
      {"dce", passes::dce},
      pass("fuse_products", fuse_products),
      // What was fused must not count as a reader.
      {"dce", passes::dce},
      pass("split_concatenations", split_concatenations),
      pass("fuse_shuffles", fuse_shuffles),
      // After products, which have taken what follows a convolution.
      pass("expand_batch_norms", expand_batch_norms),
      // Before chains, which take the products with sines.
      pass("fuse_rotations", fuse_rotations),
      {"dce", passes::dce},
      // After products, which take activations and sums to their ends.
      pass("fuse_elementwise", fuse_elementwise),
      // What was fused stands no longer.
      {"dce", passes::dce},
      // Behind element-wise chains, which make floats of the scores and bytes of their softmax.
      pass("split_heads", split_heads),
      {"dce", passes::dce},
      pass("conv1d_to_2d", conv1d_to_2d),
      // Unused signals count as readers of their images.
      {"dce", passes::dce},
      // Behind it, which makes images of signals, and before channels_last, for which most of its moves are nothing.
      pass("widen_transposed", widen_transposed),
      // After the others, which look through views of row-major tensors.
      pass("channels_last", channels_last),
      // Behind it: convolutions of one axis have images and weights as those of two by now.
      pass("order_weights", order_weights),
      // Behind it, so that an ordered weight is one of all strips.
      pass("take_rows", take_rows),
      {"dce", passes::dce},
      pass("cut_rows", cut_rows),
      // Before weights are packed, whose windows tell what rows see; a packed weight is one of all strips.
      pass("cut_images", cut_images),
      {"dce", passes::dce},
      // Behind all that makes results of other sizes and layouts.
      pass("lift_last_views", lift_last_views),
      {"dce", passes::dce},
      // After the others: how a product is best computed depends on all that its operator does, and on its layout.
      {"precision", [shared](ir::Module& module,
                             const passes::Options& options) { return narrow_weights(module, *shared, options); }},
      pass("narrow_caches", narrow_caches, "precision"),
      // Behind all that changes an operator: how a weight is packed depends on all that it does.
      pass("pack_weights", pack_weights),
      // Behind it: a table is read out of a weight as it is packed.
      pass("share_tables", share_tables),
      // Behind pack_weights: each convolution of a block keeps its weight as it has packed it. Dense weights go with
      // what was fused.
      pass("fuse_bottlenecks", fuse_bottlenecks),
      {"dce", passes::dce},
      // Behind it, whose convolutions read f32.
      pass("narrow_results", narrow_results, "precision"),
  };
}

bool keeps_quantized(const Targets& targets) { return all_delegates(targets, multiplies_bytes); }
bool keeps_narrow(const Targets& targets) { return all_delegates(targets, takes_bytes); }

bool joins_steps(const Targets& targets) {
  return std::any_of(targets.begin(), targets.end(), [](const targets::Target& target) { return target.fuses; });
}

Status check_outside(const ir::Module& module) {
  for (const ir::Method& method : module.methods) {
    IdVector<ir::NodeId, bool> inside(method.nodes.size());
    std::vector<ir::NodeId> found;
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (ir::NodeId id : graph.nodes) {
        const ir::Node& node = method.node(id);
        if (node.op->is_fused()) found.push_back(id);
        if (!node.is(ir::OpId::delegate) || node.regions.empty()) continue;
        ir::for_each_graph(method, node.regions[0], [&](const ir::Graph& region) {
          for (ir::NodeId inner : region.nodes) inside[inner] = true;
        });
      }
    });
    for (ir::NodeId id : found) {
      if (inside[id]) continue;
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
