#include "compiler/passes/pipeline.h"

#include <chrono>
#include <cstdio>
#include <fstream>

#include "base/output_file.h"
#include "base/stopwatch.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/canonicalise_views.h"
#include "compiler/passes/cse.h"
#include "compiler/passes/dce.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/hoist_state_writes.h"
#include "compiler/passes/pick_first.h"
#include "compiler/passes/read_pieces.h"
#include "compiler/passes/simplify.h"
#include "compiler/passes/split_joined_norms.h"

namespace berth::passes {
namespace {

const std::vector<Pass>& passes_in_order() {
  static const std::vector<Pass> kPasses = {
      // First: from here on state is read anywhere, and written at the end of a method's body alone.
      {"hoist_state_writes", hoist_state_writes},
      // Before the others, so that nothing below works on unused values.
      {"dce", dce},
      // Before folding: what copies a constant is gone then, and the constant stays in its file.
      {"simplify", simplify},
      // Behind it, which joins permutations.
      {"read_pieces", read_pieces},
      // Before fold_batch_norm, which looks for weights and shifts that are constants, such as transposed ones.
      {"fold_constants", fold_constants},
      // After folding: what is computed from constants still is what folding left because it grows.
      {"pick_first", pick_first},
      // Before fold_batch_norm, so that a weight which two nodes share is one weight and stays one.
      {"cse", cse},
      // Before view removal: it looks through one view, not through chains that were not joined yet.
      {"canonicalise_views", canonicalise_views},
      // Again: views of views are neighbours only now.
      {"simplify", simplify},
      // Before fold_batch_norm, which looks through no concatenation.
      {"split_joined_norms", split_joined_norms},
      // What was joined before must not count as a reader of its parts.
      {"dce", dce},
      {"fold_batch_norm", fold_batch_norm},
      // Again: a scale of 1 and a shift of 0 may be left, and views that a folded node stood between.
      {"simplify", simplify},
      // Again: views of equal values are equal, and equal biases were made.
      {"cse", cse},
      // Last, so that the planner and the file see only what runs.
      {"dce", dce},
  };
  return kPasses;
}

bool verifies(const Options& options) {
#ifdef NDEBUG
  return options.verify;
#else
  static_cast<void>(options);
  return true;
#endif
}

class Runner {
 public:
  Runner(ir::Module& module, const Options& options, std::vector<PassTime>* times)
      : module_(module), options_(options), times_(times) {}

  Status run(Span<const Pass> passes) {
    if (!options_.dump_dir.empty()) BERTH_TRY(dump("input", ir::print(module_, elided())));
    for (const Pass& pass : passes) {
      if (options_.watch != nullptr) {
        options_.watch->begin("pass " + std::string(pass.name),
                              kPassesPart * number_ / static_cast<double>(passes.size()));
        if (options_.watch->ended()) return Watch::failure();
      }
      ++number_;
      ir::Module before;
      if (!options_.dump_dir.empty()) before = module_;
      const Status status = step(pass);
      if (!status.ok()) return explain_failure(pass, before, status.error());
    }
    return Done{};
  }

 private:
  static ir::PrintOptions elided() {
    ir::PrintOptions options;
    options.elide = true;
    return options;
  }

  Status step(const Pass& pass) {
    const Stopwatch watch;
    const bool sweeps = pass.name == "dce";
    // Nothing has become unused where nothing was changed.
    const bool needless = sweeps && swept_;
    BERTH_ASSIGN_OR_RETURN(const Changed changed,
                           needless ? Expected<Changed>(Changed::kNo) : pass.run(module_, options_));
    if (times_ != nullptr) times_->push_back({pass.name, watch.milliseconds(), changed});
    swept_ = sweeps || (swept_ && changed == Changed::kNo);
    if (changed == Changed::kNo) return Done{};
    if (verifies(options_)) BERTH_TRY(ir::verify(module_));
    if (!options_.dump_dir.empty()) BERTH_TRY(dump(std::string(pass.name), ir::print(module_, elided())));
    return Done{};
  }

  std::string path(const std::string& name) const {
    char number[16];
    std::snprintf(number, sizeof number, "%02d-", number_);
    return options_.dump_dir + "/" + number + name + ".ir";
  }

  Status dump(const std::string& name, const std::string& text) const {
    BERTH_TRY(keep_files(module_.files, path(name), path(name)));
    std::ofstream file(path(name), std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (file.good()) return Done{};
    return Failure{Error::kAccessFailed, path(name), "cannot be written"};
  }

  Failure explain_failure(const Pass& pass, const ir::Module& before, Failure failure) const {
    if (pass.answers_user) return failure;
    failure.place = "pass " + std::string(pass.name) + (failure.place.empty() ? "" : ", " + failure.place);
    if (options_.dump_dir.empty()) {
      failure.message += "; --dump-ir DIR writes the IR before it and the command that repeats this";
      return failure;
    }
    // With all contents, so that the file alone repeats the failure.
    ir::PrintOptions whole;
    whole.files = false;
    const std::string name = "before-" + std::string(pass.name);
    if (dump(name, ir::print(before, whole)).ok()) {
      failure.message +=
          "; to repeat it: berth compile " + path(name) + " -o again.pte --why " + std::string(pass.name);
    }
    return failure;
  }

  ir::Module& module_;
  const Options& options_;
  std::vector<PassTime>* times_;
  int number_ = 0;
  bool swept_ = false;  // dce has run, and no pass has changed anything since
};

}  // namespace

Span<const Pass> pipeline() { return passes_in_order(); }

Status run(Span<const Pass> passes, ir::Module& module, const Options& options, std::vector<PassTime>* times) {
  return Runner(module, options, times).run(passes);
}

}  // namespace berth::passes
