// The backward sweep of verify_plan(): walks a method from its last instruction to its first with the set of items that
// are still to be read, and refuses each write over one of them. For this room alone.
#pragma once

#include "format/plan_check/births.h"
#include "format/plan_check/graph.h"
#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

/// Memory of the sweep, beside the graph's.
struct SweepMemory {
  Span<int32_t> order;
  Span<int32_t> rank;
  Span<uint64_t> tree;
  Span<uint64_t> live;
  Span<int32_t> reader;  // by item: see SweepState
  Span<Birth> births;
  Span<uint32_t> destinations;  // of jumps: twice the instruction, plus 1 when a jump goes backwards to it; ascending
  Span<uint64_t> rows;          // by destination, a bit an item: live there
  Span<uint64_t> at_end;        // a bit an item: read by the next run
};

/// Whether the rows of the jumps would take far more memory than a file of this size justifies.
bool too_many_rows(const PlanSize& size, uint64_t program_size);

/// False when `scratch` is too small. REQUIRES: !too_many_rows.
bool take_sweep_memory(const PlanSize& size, Scratch* scratch, SweepMemory* memory);

class Sweep {
 public:
  /// Both must outlive the sweep.
  Sweep(PlanGraph* graph, const SweepMemory* memory, int method, Report* report);

  /// Ok, or the first thing wrong.
  Error run();

 private:
  Error collect_destinations();
  Error start();
  Error step(const fb::Instruction& instruction, int32_t chain_start);
  Error jump(const fb::JumpFalseCall& call, int32_t chain_start);
  Error keep_row();
  bool pass_births();
  bool bear(int32_t item);
  Error enter();
  Error keep_state();
  Error moves(int32_t item) const;
  int32_t item_at_end(int32_t item) const;
  int64_t row_of(int32_t destination) const;
  Span<uint64_t> row(int64_t index) const;

  PlanGraph& graph_;
  const SweepMemory& memory_;
  SweepState state_;
  size_t destination_count_ = 0;
  size_t birth_count_ = 0;
  size_t births_passed_ = 0;
  bool changed_ = false;
};

}  // namespace berth::format::plan_check
