#include "compiler/pipeline.h"

#include <algorithm>

#include "compiler/fuse/fuse.h"
#include "compiler/fuse/fuse_gru_loops.h"
#include "compiler/fuse/fuse_lstm_loops.h"
#include "compiler/passes/check_elements.h"
#include "compiler/passes/dce.h"
#include "compiler/passes/sink_constants.h"
#include "compiler/placement/assign.h"
#include "compiler/placement/compile_delegates.h"
#include "compiler/placement/keep_state.h"
#include "compiler/placement/placement.h"

namespace berth {
namespace {

bool has_loops(const ir::Module& module) {
  bool any = false;
  for (const ir::Method& method : module.methods) {
    for (const ir::Node& node : method.nodes) any = any || node.is(ir::OpId::scan);
  }
  return any;
}

// Loops that the first target takes all of, or by cost another one, where nothing says that a part of them is to run
// elsewhere.
Expected<passes::Changed> fuse_loops(ir::Module& module, const placement::Options& options,
                                     const passes::Options& how) {
  if (!has_loops(module) || placement::all_targets(options).empty()) return passes::Changed::kNo;
  BERTH_ASSIGN_OR_RETURN(const placement::Assignments assignments, placement::assign(module, options));
  const auto fits = [&](const ir::Method& method, const ir::Node& loop) {
    const placement::Options own = placement::options_of(options, method);
    const placement::Assignment& assigned = assignments.methods[&method - module.methods.data()];
    const std::vector<ir::NodeId>& nodes = loop.regions[0].nodes;
    const bool knows = own.by_cost && !nodes.empty() && assigned.target.contains(nodes[0]);
    const int32_t target = knows ? assigned.target[nodes[0]] : 0;
    if (own.split || own.targets.empty() || target < 0 || !fuse::takes_bytes(own.targets[target])) return false;
    const auto there = [&](ir::NodeId id) {
      return assigned.target.contains(id) && assigned.target[id] == target && !assigned.asked[id];
    };
    const ir::NodeId self = method.value(loop.results[0]).node;
    if (!assigned.asked.contains(self) || assigned.asked[self]) return false;
    return std::all_of(nodes.begin(), nodes.end(), there);
  };
  passes::Options named = how;
  if (passes::wants_why(how, "fuse_recurrent_loops")) named.why = {"fusion"};
  BERTH_ASSIGN_OR_RETURN(const passes::Changed lstm, fuse::fuse_lstm_loops(module, fits, named));
  BERTH_ASSIGN_OR_RETURN(const passes::Changed gru, fuse::fuse_gru_loops(module, fits, named));
  return lstm | gru;
}

}  // namespace

std::vector<passes::Pass> pipeline(const placement::Options& options, bool fusion) {
  std::vector<passes::Pass> all;
  const auto append = [&](Span<const passes::Pass> some) { all.insert(all.end(), some.begin(), some.end()); };
  append(passes::pipeline());
  // Before nodes move into delegates, so that failures show them as the model has them, and after unread ones are gone.
  all.push_back({"check_elements", passes::check_elements, true});
  // Before delegates are formed, in the order of the nodes.
  all.push_back({"sink_constants", passes::sink_constants});
  // Before delegates are formed, around which loops stay.
  if (fusion) {
    all.push_back({"fuse_recurrent_loops", [&options](ir::Module& module, const passes::Options& how) {
                     return fuse_loops(module, options, how);
                   }});
    // What made the gates in another order is not to be computed in a delegate.
    all.push_back({"dce", passes::dce});
  }
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
