#include "compiler/placement/placement.h"

#include "compiler/ir/verify.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/placement/insert_copies.h"
#include "compiler/placement/partition.h"
#include "compiler/placement/propagate_devices.h"

namespace berth::placement {

std::vector<passes::Pass> placement_passes(const Options& options) {
  // Shared by the last two, which may outlive this call.
  auto outputs = std::make_shared<OutputDevices>();
  return {
      {"partition",
       [&options](ir::Module& module, const passes::Options& how) { return partition(module, options, how); }, true},
      {"propagate_devices",
       [&options, outputs](ir::Module& module, const passes::Options& how) {
         return propagate_devices(module, options, how, outputs.get());
       },
       true},
      {"insert_copies",
       [&options, outputs](ir::Module& module, const passes::Options& how) {
         return insert_copies(module, options, how, *outputs);
       }},
  };
}

Status place(ir::Module& module, const Options& options, const passes::Options& pass_options) {
  BERTH_TRY(passes::run(placement_passes(options), module, pass_options));
  BERTH_TRY(ir::verify(module));
  return ir::verify_devices(module);
}

}  // namespace berth::placement
