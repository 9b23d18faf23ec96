#include "compiler/pipeline.h"

#include "compiler/fuse/fuse.h"
#include "compiler/passes/check_elements.h"
#include "compiler/passes/sink_constants.h"
#include "compiler/placement/compile_delegates.h"
#include "compiler/placement/keep_state.h"
#include "compiler/placement/placement.h"

namespace berth {

std::vector<passes::Pass> pipeline(const placement::Options& options, bool fusion) {
  std::vector<passes::Pass> all;
  const auto append = [&](Span<const passes::Pass> some) { all.insert(all.end(), some.begin(), some.end()); };
  append(passes::pipeline());
  // Before nodes move into delegates, so that failures show them as the model has them, and after unread ones are gone.
  all.push_back({"check_elements", passes::check_elements, true});
  // Before delegates are formed, in the order of the nodes.
  all.push_back({"sink_constants", passes::sink_constants});
  append(placement::placement_passes(options));
  // What may be fused is what one delegate holds.
  if (fusion) append(fuse::fuse_passes(placement::all_targets(options)));
  all.push_back({"compile_delegates", [&options](ir::Module& module, const passes::Options& how) {
                   return placement::compile_delegates(module, options, how);
                 }});
  // Behind what makes delegates; those of other compilers come with the model.
  all.push_back({"keep_state", placement::keep_state});
  return all;
}

}  // namespace berth
