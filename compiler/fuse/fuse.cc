#include "compiler/fuse/fuse.h"

#include "compiler/fuse/activations.h"
#include "compiler/fuse/attention.h"
#include "compiler/fuse/layout.h"
#include "compiler/fuse/lstm.h"
#include "compiler/fuse/products.h"
#include "compiler/passes/dce.h"

namespace berth::fuse {
namespace {

using Function = Expected<passes::Changed> (*)(ir::Module&, const Targets&, const passes::Options&);

}  // namespace

std::vector<passes::Pass> fuse_passes(const Targets& targets) {
  const auto pass = [&targets](const char* name, Function function) {
    return passes::Pass{name, [&targets, function](ir::Module& module, const passes::Options& options) {
                          return function(module, targets, options);
                        }};
  };
  return {
      pass("fuse_activations", fuse_activations),
      // Before products: each looks for the products that it takes in.
      pass("fuse_attention", fuse_attention),
      pass("fuse_lstm", fuse_lstm),
      {"dce", passes::dce},
      pass("fuse_products", fuse_products),
      // What was fused stands no longer.
      {"dce", passes::dce},
      // After the others, which look through views of row-major tensors.
      pass("channels_last", channels_last),
  };
}

}  // namespace berth::fuse
