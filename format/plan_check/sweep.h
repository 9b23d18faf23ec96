// The backward sweep of verify_plan(): walks a method from its last instruction to its first with the set of items that
// are still to be read, and refuses each write over one of them. For this room alone.
#pragma once

#include "format/plan_check/access.h"
#include "format/plan_check/graph.h"
#include "format/plan_check/live_set.h"

namespace berth::format::plan_check {

/// Memory of the sweep, beside the graph's.
struct SweepMemory {
  Span<int32_t> order;
  Span<int32_t> rank;
  Span<uint64_t> tree;
  Span<uint64_t> live;
  Span<int32_t> reader;         // by item: the instruction after the point reached that reads it next
  Span<uint64_t> births;        // see Sweep::find_births
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
  // The way through the instructions (sweep.cc).
  Error collect_destinations();
  Error find_births();
  Error start();
  Error step(const fb::Instruction& instruction, int32_t chain_start);
  Error jump(const fb::JumpFalseCall& call, int32_t chain_start);
  Error keep_row();
  bool bear(int32_t item);
  Error enter();
  Error keep_state();
  int32_t item_at_end(int32_t item) const;
  int64_t row_of(int32_t destination) const;
  Span<uint64_t> row(int64_t index) const;
  int32_t end_step() const { return static_cast<int32_t>(graph_.size.instructions); }

  // What an instruction does (calls.cc).
  Error kernel(const fb::KernelCall& call);
  Error delegate(const fb::DelegateCall& call);
  Error rename(int32_t from, int32_t to);
  bool read(int32_t value);
  bool read_aggregate(int32_t item);
  template <typename Visit>
  bool for_each_part(int32_t item, bool own, Visit&& visit);
  bool is_part_of(int32_t value, int32_t item, int depth);
  void mark_read(int32_t item);
  /// `keep`: only look; what is written stays in the set.
  Error write(int32_t value, WriteKind kind, bool keep = false);
  Error write_bytes(int32_t writer, int32_t item, WriteKind kind, bool keep);
  bool may_write_over(int32_t writer, int32_t written, int32_t live) const;
  bool is_of_old_state(int32_t written) const;
  Error check_results(const CallShape& shape);
  Error check_result(const CallShape* shape, int32_t value);
  bool allows_in_place(const CallShape& shape, int32_t result, int32_t item) const;
  bool names(int32_t value, int32_t item) const;
  bool is_recorded_in_place(int32_t value, int32_t base) const;
  /// Whether a read or a write of the value meets its planned place, not only what it was renamed to.
  bool has_own_place(int32_t value) const;

  Error overwritten(int32_t writer, int32_t live) const;
  Error in_place_refused(int32_t writer, int32_t read) const;
  Error stopped() const;

  PlanGraph& graph_;
  const SweepMemory& memory_;
  LiveSet live_;
  int method_;
  Report* report_;
  size_t destination_count_ = 0;
  size_t birth_count_ = 0;
  size_t births_passed_ = 0;
  int32_t now_ = 0;
  bool changed_ = false;
  int32_t unmade_ = kNone;  // read, but not all of it is made
  bool next_run_ = false;   // what the next run reads is in the set too
};

}  // namespace berth::format::plan_check
