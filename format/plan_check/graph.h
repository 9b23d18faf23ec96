// PlanGraph: a method as verify_plan() looks at it. Items are what can be overwritten: planned tensors, and aliases (a
// value that a MoveCall, et_view or berth::row made a second name of a planned tensor's bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/math.h"
#include "base/span.h"
#include "format/plan_check/operator_access.h"
#include "format/program_view.h"

namespace berth::format::plan_check {

constexpr int32_t kNone = -1;

/// Hands out pieces of the caller's memory; with no memory it only adds up what would be needed.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(Span<uint8_t> memory) : memory_(memory), measuring_(false) {}

  /// `count` zeroed objects. False when memory is too small.
  template <typename T>
  bool take(size_t count, Span<T>* out) {
    size_t bytes = 0;
    size_t end = 0;
    if (!checked_mul(count, sizeof(T), &bytes) || !checked_add(bytes, sizeof(uint64_t), &bytes) ||
        !checked_add(used_, bytes, &end)) {
      used_ = SIZE_MAX;
      return false;
    }
    if (measuring_) {
      used_ = end;
      return true;
    }
    if (end > memory_.size()) return false;
    uint8_t* start = memory_.data() + used_;
    start += (alignof(T) - reinterpret_cast<uintptr_t>(start) % alignof(T)) % alignof(T);
    used_ = end;
    T* objects = reinterpret_cast<T*>(start);
    for (size_t i = 0; i < count; ++i) new (objects + i) T();
    *out = Span<T>(objects, count);
    return true;
  }

  size_t used() const { return used_; }

 private:
  Span<uint8_t> memory_;
  size_t used_ = 0;
  bool measuring_ = true;
};

/// How large the method is; known before any memory is taken.
struct PlanSize {
  size_t values = 0;
  size_t planned = 0;  // planned tensors that have bytes
  size_t operators = 0;
  size_t instructions = 0;
  size_t alias_calls = 0;  // MoveCalls, et_views and berth::rows
  size_t jumps = 0;
  size_t relations = 0;  // of the method in berth.meta
  size_t delegate_calls = 0;
  size_t blocks = 0;  // of the stacks (stacks.h)
  /// Aliases that fit: several for a call when what it names is an alias already.
  size_t alias_capacity() const { return alias_calls == 0 ? 0 : 8 * alias_calls + 64; }
  size_t items() const { return planned + alias_capacity(); }
};

/// `meta`: null when the file has none for the method.
PlanSize measure_plan(const fb::ExecutionPlan& plan, const fb::MethodMeta* meta);

/// What is known about a value.
enum ValueMark : uint8_t {
  kIsInput = 1,
  kHasInitialValue = 2,
  kIsStacked = 4,      // written row by row, by et_copy_index or through berth::row.write
  kIsWritten = 8,      // written by anything else
  kIsAggregate = 16,   // nothing writes it, but its parts
  kIsSuperseded = 32,  // something is computed in place over it
  kIsOutputSlot = 64,  // no tensor, but an instruction may change it
  kIsRenamed = 128,    // a MoveCall, et_view or berth::row.read makes it a name of other bytes
};

struct PlanGraph {
  const ProgramView* program = nullptr;
  const fb::ExecutionPlan* plan = nullptr;
  /// Null when the file says nothing about this method: then views are inferred.
  const fb::MethodMeta* meta = nullptr;
  PlanSize size;
  /// Steps that may still be taken.
  uint64_t budget = 0;

  // A value's own.
  Span<int32_t> item;         // of a planned tensor with bytes; else kNone
  Span<int32_t> first_write;  // instruction; kNone
  Span<int32_t> aliases;      // first alias item that the value may be; the others by next_alias
  Span<uint8_t> marks;        // ValueMark

  // An item's own. Planned tensors come first, aliases after them.
  size_t item_count = 0;
  Span<uint64_t> begin;  // addresses: arenas one after the other
  Span<uint64_t> end;
  Span<int32_t> value;
  Span<int32_t> parent;   // of a view: the item that it is a view of; of an alias: the item whose bytes it names
  Span<int32_t> group;    // items that views connect have the same
  Span<int32_t> next;     // in the group, of those that something writes and nothing supersedes
  Span<int32_t> members;  // first of these of the group, at the group's number

  // An alias's own, by item - size.planned.
  Span<int32_t> alias_instruction;
  Span<int32_t> alias_from;  // value
  Span<int32_t> next_alias;
  Span<uint8_t> alias_is_row;  // made by berth::row.write: a write of it is one of a part of its parent

  // Of blocks (stacks.h), once they are moved apart; empty where the method has no stack.
  Span<int32_t> block;         // by item; kNone: its arena has no stack
  Span<uint32_t> block_arena;  // by block
  Span<uint64_t> below;        // by block, a bit a block: it lies below, whatever the sizes are
  bool by_blocks = false;

  Span<OperatorAccess> access;  // by operator

  // What berth.meta records (relations.h).
  Span<uint32_t> relations;  // numbers of relations, by value
  Span<int32_t> successor;   // of a planned item: the item that takes its place for the next run; else kNone

  // Empty where no delegate is called.
  Span<uint32_t> results;  // by instruction: how many of a delegate's last arguments it writes
  Span<uint8_t> arrives;  // by instruction: a note of was_written() in writes.cc, whether a jump brings the value there
  int32_t last_leave = kNone;  // the last jump that is always taken, of the instructions collected so far

  bool is_alias(int32_t i) const { return static_cast<size_t>(i) >= size.planned; }
  uint8_t mark(int32_t v) const { return marks[v]; }
  /// Whether something gives the value its bytes: a caller, the file or an instruction.
  bool is_defined(int32_t v) const { return (mark(v) & (kIsInput | kHasInitialValue | kIsStacked | kIsWritten)) != 0; }
  /// Whether a read or a write of the value meets its planned place, not only what it was renamed to.
  bool has_own_place(int32_t v) const { return item[v] != kNone && ((mark(v) & kIsRenamed) == 0 || is_defined(v)); }
  /// Whether the jump is taken whatever happens: ExecuTorch leaves a branch with a jump on a constant. REQUIRES: the
  /// slots that instructions change are marked.
  bool is_always(const fb::JumpFalseCall& call) const {
    const auto* constant = plan->values()->Get(static_cast<uint32_t>(call.cond_value_index()))->val_as_Bool();
    return constant != nullptr && !constant->bool_val() &&
           (mark(call.cond_value_index()) & (kIsOutputSlot | kIsInput)) == 0;
  }
  bool overlap(int32_t a, int32_t b) const { return begin[a] < end[b] && begin[b] < end[a]; }
  bool covers(int32_t a, int32_t b) const { return begin[a] <= begin[b] && end[a] >= end[b]; }
  size_t block_words() const { return (size.blocks + 63) / 64; }
  bool is_below(int32_t a, int32_t b) const { return (below[b * block_words() + a / 64] >> (a % 64) & 1) != 0; }
  /// Whether two items may share bytes although they lie in different blocks.
  bool may_meet(int32_t a, int32_t b) const {
    const int32_t first = block[a];
    const int32_t second = block[b];
    return first != kNone && second != kNone && first != second && block_arena[first] == block_arena[second] &&
           !is_below(first, second) && !is_below(second, first);
  }
  bool spend(uint64_t steps) {
    if (steps > budget) {
      budget = 0;
      return false;
    }
    budget -= steps;
    return true;
  }
};

/// Takes the graph's memory from `scratch`. False when it is too small.
bool take_graph_memory(const PlanSize& size, Scratch* scratch, PlanGraph* graph);

Error out_of_budget(int method, Report* report);

/// "value 7", with its name in the model where the file has it, into `buffer`.
const char* describe_value(const PlanGraph& graph, int32_t value, char* buffer, size_t size);

}  // namespace berth::format::plan_check
