#include "compiler/plan_module.h"

#include <memory>
#include <optional>
#include <set>

#include "compiler/fuse/fuse.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/memory/remarks.h"
#include "compiler/memory/scratch_ports.h"
#include "compiler/memory/spill.h"
#include "compiler/memory_options.h"
#include "compiler/method_settings.h"
#include "compiler/node_times.h"
#include "compiler/pipeline.h"
#include "compiler/placement/estimate_text.h"

namespace berth {
namespace {

using MethodNames = std::set<std::string>;

class ModulePlanner {
 public:
  ModulePlanner(const CompileOptions& options, const placement::Options& placing,
                const std::vector<memory::MemoryOptions>& memory, const passes::Options& passes)
      : options_(options), placing_(placing), memory_(memory), passes_(passes) {}

  Expected<PlannedModule> run(ir::Module module) const {
    if (!overlaps(options_)) return planned(std::move(module), {}, nullptr);
    const ir::Module given = module;
    MethodNames cut;
    BERTH_ASSIGN_OR_RETURN(PlannedModule first, planned(std::move(module), {}, &cut));
    if (cut.empty()) return first;
    passes::Options quiet = passes_;
    quiet.dump_dir.clear();
    quiet.why.clear();
    const ModulePlanner apart(options_, placing_, memory_, quiet);
    BERTH_ASSIGN_OR_RETURN(const PlannedModule other, apart.planned(given, cut, nullptr));
    std::vector<std::string> lines;
    passes::Options asked = passes_;
    asked.why_lines = &lines;
    const MethodNames whole = sooner_whole(cut, first.runs, other.runs, &lines);
    // Once more, for the files and remarks of what is taken.
    if (!whole.empty()) {
      BERTH_ASSIGN_OR_RETURN(first, planned(given, whole, nullptr));
    }
    if (passes::wants_why(asked, "overlap")) first.why.insert(first.why.end(), lines.begin(), lines.end());
    return first;
  }

 private:
  /// With delegates of the methods in `whole` not cut. `cut` gets those whose delegates were; it may be null.
  Expected<PlannedModule> planned(ir::Module module, const MethodNames& whole, MethodNames* cut) const {
    PlannedModule made;
    made.module = std::move(module);
    placement::Options placing = placing_;
    placing.whole = whole;
    if (placing.delegate_seconds != nullptr) placing.delegate_seconds = std::make_shared<placement::DelegateSeconds>();
    placing.cut_methods = std::make_shared<MethodNames>();
    passes::Options passes = passes_;
    passes.why_lines = passes_.why.empty() ? nullptr : &made.why;
    std::vector<memory::MemoryOptions> memory = memory_;
    BERTH_TRY(passes::run(pipeline(placing, options_.fusion), made.module, passes));
    BERTH_TRY(ir::verify_devices(made.module));
    BERTH_TRY(fuse::check_outside(made.module));
    BERTH_TRY(add_banks(made.module, options_, &memory));
    memory::copy_scratch_inputs(&made.module, memory);
    BERTH_TRY(memory::spill_to_far_banks(&made.module, &memory));
    std::optional<NodeTimes> times;
    if (overlaps(options_)) {
      BERTH_ASSIGN_OR_RETURN(times, NodeTimes::make(made.module, options_.costs, *placing.delegate_seconds));
      for (size_t m = 0; m < made.module.methods.size(); ++m) {
        if (!options_of(options_, made.module.methods[m].name).overlap.empty()) memory[m].overlap.time = *times;
      }
    }
    BERTH_ASSIGN_OR_RETURN(made.plans, memory::plan_memory(made.module, std::move(memory)));
    for (const memory::MemoryPlan& plan : made.plans) {
      if (!plan.plan.run_time.has_value()) continue;
      made.runs.push_back(run_report(made.module, plan, *times));
      if (passes::wants_why(passes, "overlap")) remark_run(made.runs.back(), &made.why);
    }
    if (passes::wants_why(passes, "reuse")) memory::remark_reuse(made.module, made.plans, &made.why);
    if (cut != nullptr) *cut = *placing.cut_methods;
    return made;
  }

  /// The methods that take no longer with whole delegates; a line for each that was cut says why it is as it is.
  static MethodNames sooner_whole(const MethodNames& cut, const std::vector<RunReport>& of_cut,
                                  const std::vector<RunReport>& of_whole, std::vector<std::string>* lines) {
    MethodNames whole;
    for (size_t i = 0; i < of_cut.size(); ++i) {
      const RunReport& run = of_cut[i];
      if (cut.count(run.method) == 0) continue;
      const bool is_whole = of_whole[i].seconds <= run.seconds;
      if (is_whole) whole.insert(run.method);
      lines->push_back("overlap: " + run.method + ": delegates are " + (is_whole ? "whole" : "cut where devices meet") +
                       ": a run takes " + placement::time_text(run.seconds) + " with cut ones, " +
                       placement::time_text(of_whole[i].seconds) + " with whole ones");
    }
    return whole;
  }

  const CompileOptions& options_;
  const placement::Options& placing_;
  const std::vector<memory::MemoryOptions>& memory_;
  const passes::Options& passes_;
};

}  // namespace

Expected<PlannedModule> plan_module(ir::Module module, const CompileOptions& options, const placement::Options& placing,
                                    const std::vector<memory::MemoryOptions>& memory, const passes::Options& passes) {
  return ModulePlanner(options, placing, memory, passes).run(std::move(module));
}

}  // namespace berth
