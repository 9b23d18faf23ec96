// Compiles a random module with a random list of passes and several random planners, checks the plans, runs the
// programs with Poison, and compares the outputs with those of the evaluator. The seed determines everything.
#pragma once

#include <cstdint>
#include <string>

namespace berth::plan_test {

struct Tried {
  /// Empty: no error. Else what is not, with the module.
  std::string problem;
  /// Runs that were compared: of each plan, each method several times. 0: the module is too large, or its sizes do not
  /// fit each other when it runs.
  int runs = 0;
  int methods = 0;
  int followed = 0;               // of the runs, those whose arenas follow the sizes
  uint64_t poisoned = 0;          // bytes
  uint64_t poisoned_inside = 0;   // bytes of scratch and results, within delegates
  int outputs_as_scratch = 0;     // outputs of delegates that were used as scratch, of all plans
  int64_t inputs_in_scratch = 0;  // inputs of delegates that lay in their scratch, of all plans
  int64_t outputs_in_scratch = 0;
  uint64_t in_place = 0;  // values, of all plans
  uint64_t elided = 0;    // concatenations and slices
  int spilled = 0;        // values that wait in far banks, of all plans
  int reordered = 0;      // plans that another order made smaller
  bool has_regions = false;
  bool has_delegates = false;
};

Tried try_random_plan(unsigned seed);

}  // namespace berth::plan_test
