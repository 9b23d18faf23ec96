#include "compiler/fuse/fuse.h"

#include "compiler/fuse/activations.h"
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
      pass("fuse_products", fuse_products),
      // What was fused stands no longer.
      {"dce", passes::dce},
  };
}

}  // namespace berth::fuse
