#include "format/plan_check/sweep.h"

#include <algorithm>
#include <cstdio>

#include "base/result.h"
#include "format/plan_check/calls.h"
#include "format/plan_check/instructions.h"
#include "format/plan_check/overwrites.h"
#include "format/plan_check/reads.h"
#include "format/plan_check/views.h"

namespace berth::format::plan_check {

bool too_many_rows(const PlanSize& size, uint64_t program_size) {
  uint64_t bytes = 0;
  const uint64_t row_bytes = 8 * LiveSet::word_count(size.items());
  return !checked_mul<uint64_t>(row_bytes, size.jumps, &bytes) || bytes > 8 * program_size + (uint64_t{1} << 20);
}

bool take_sweep_memory(const PlanSize& size, Scratch* scratch, SweepMemory* memory) {
  const size_t items = size.items();
  const size_t words = LiveSet::word_count(items);
  const size_t row_words = words * size.jumps;  // small enough: too_many_rows()
  return scratch->take(items, &memory->order) && scratch->take(items, &memory->rank) &&
         scratch->take(LiveSet::tree_size(items), &memory->tree) && scratch->take(words, &memory->live) &&
         scratch->take(items, &memory->reader) && scratch->take(size.planned, &memory->births) &&
         scratch->take(size.jumps, &memory->destinations) && scratch->take(row_words, &memory->rows) &&
         scratch->take(words, &memory->at_end);
}

Sweep::Sweep(PlanGraph* graph, const SweepMemory* memory, int method, Report* report)
    : graph_(*graph),
      memory_(*memory),
      state_{*graph,
             LiveSet({graph->begin.data(), graph->item_count}, {graph->end.data(), graph->item_count},
                     memory->order.subspan(0, graph->item_count), memory->rank.subspan(0, graph->item_count),
                     memory->tree, memory->live),
             memory->reader, method, report} {}

Error Sweep::run() {
  BERTH_RETURN_IF_ERROR(collect_destinations());
  if (!find_births(graph_, memory_.births, &birth_count_)) return stopped(state_);
  const auto visit = [this](const fb::Instruction& instruction, int32_t i, int32_t chain_start) -> Error {
    state_.now = i;
    BERTH_RETURN_IF_ERROR(step(instruction, chain_start));
    return keep_row();
  };
  do {
    changed_ = false;
    BERTH_RETURN_IF_ERROR(start());
    BERTH_RETURN_IF_ERROR(for_each_instruction_backwards(*graph_.plan, graph_.size.instructions, visit));
    BERTH_RETURN_IF_ERROR(enter());
  } while (changed_);
  return Error::kOk;
}

Error Sweep::collect_destinations() {
  size_t count = 0;
  for_each_instruction(*graph_.plan, [&](const fb::Instruction& instruction, int32_t i, int32_t chain_start) {
    if (const fb::JumpFalseCall* call = instruction.instr_args_as_JumpFalseCall()) {
      const int32_t to = chain_start + call->destination_instruction();
      memory_.destinations[count++] = static_cast<uint32_t>(to) * 2 + (to <= i ? 1 : 0);
    }
    return Error::kOk;
  });
  std::sort(memory_.destinations.begin(), memory_.destinations.begin() + count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t entry = memory_.destinations[i];
    const bool again = destination_count_ > 0 && memory_.destinations[destination_count_ - 1] / 2 == entry / 2;
    if (!again) ++destination_count_;
    memory_.destinations[destination_count_ - 1] = entry;  // of equal ones the last has the mark, if any has
  }
  return Error::kOk;
}

int64_t Sweep::row_of(int32_t destination) const {
  const uint32_t* begin = memory_.destinations.begin();
  const uint32_t* end = begin + destination_count_;
  const uint32_t* found = std::lower_bound(begin, end, static_cast<uint32_t>(destination) * 2);
  return found != end && *found / 2 == static_cast<uint32_t>(destination) ? found - begin : -1;
}

Span<uint64_t> Sweep::row(int64_t index) const {
  const size_t words = memory_.live.size();
  return memory_.rows.subspan(static_cast<size_t>(index) * words, words);
}

/// After the last instruction: outputs are read, and what the next run reads.
Error Sweep::start() {
  births_passed_ = 0;
  state_.live.assign({memory_.at_end.data(), memory_.at_end.size()});
  state_.now = state_.end_step();
  for (uint32_t i = 0; i < graph_.plan->outputs()->size(); ++i) {
    bool good = true;
    good = for_each_tensor(graph_, graph_.plan->outputs()->Get(i),
                           [&](int32_t v) { good = read_value(state_, v) && good; }) &&
           good;
    if (!good) return stopped(state_);
  }
  return keep_row();
}

/// Before an instruction that jumps go to: what is live here is live at those jumps.
Error Sweep::keep_row() {
  const int64_t index = destination_count_ == 0 ? -1 : row_of(state_.now);
  // Who jumps forward comes before the births as well; who jumps back has been through them.
  const bool loop_begins = index >= 0 && memory_.destinations[index] % 2 == 1;
  if (!loop_begins && !pass_births()) return stopped(state_);
  if (index >= 0) {
    const Span<uint64_t> kept = row(index);
    if (!graph_.spend(kept.size())) return stopped(state_);
    uint64_t added = 0;
    for (size_t w = 0; w < kept.size(); ++w) {
      added |= state_.live.words()[w] & ~kept[w];
      kept[w] |= state_.live.words()[w];
    }
    // Jumps forward to here are yet to come in this sweep; only those from behind were seen already.
    changed_ = changed_ || (added != 0 && loop_begins);
  }
  return !loop_begins || pass_births() ? Error::kOk : stopped(state_);
}

/// Those before the instruction. False: out of budget.
bool Sweep::pass_births() {
  while (births_passed_ < birth_count_ && memory_.births[births_passed_].instruction == state_.now) {
    if (!bear(memory_.births[births_passed_].item)) return false;
    ++births_passed_;
  }
  return true;
}

/// The item's life begins here, and that of its views.
bool Sweep::bear(int32_t item) {
  const uint64_t begin = graph_.begin[item];
  const uint64_t end = graph_.end[item];
  for (int64_t at = state_.live.find(begin, end, 0); at >= 0; at = state_.live.find(begin, end, at + 1)) {
    if (!graph_.spend(1)) return false;
    const int32_t live = state_.live.at(at);
    const bool view = !graph_.is_alias(live) && !graph_.is_defined(graph_.value[live]) && graph_.covers(item, live) &&
                      is_view_of(graph_, live, item);
    if (live == item || view) state_.live.remove(live);
  }
  return true;
}

Error Sweep::step(const fb::Instruction& instruction, int32_t chain_start) {
  if (!graph_.spend(1)) return stopped(state_);
  if (const auto* call = instruction.instr_args_as_KernelCall()) return sweep_kernel(state_, *call);
  if (const auto* call = instruction.instr_args_as_DelegateCall()) return sweep_delegate(state_, *call);
  if (const auto* call = instruction.instr_args_as_MoveCall())
    return sweep_rename(state_, call->move_from(), call->move_to());
  if (const auto* call = instruction.instr_args_as_JumpFalseCall()) return jump(*call, chain_start);
  return Error::kOk;
}

Error Sweep::jump(const fb::JumpFalseCall& call, int32_t chain_start) {
  const Span<uint64_t> there = row(row_of(chain_start + call.destination_instruction()));
  if (!graph_.spend(there.size())) return stopped(state_);
  // What stands behind a jump that is always taken is not reached from here.
  if (graph_.is_always(call)) {
    state_.live.assign({there.data(), there.size()});
  } else {
    state_.live.add_all({there.data(), there.size()});
  }
  return read_value(state_, call.cond_value_index()) ? Error::kOk : stopped(state_);
}

/// Before the first instruction: inputs are set, in any order; what else is live was left there by the run before.
Error Sweep::enter() {
  state_.now = -1;
  for (const bool keep : {true, false}) {
    for (uint32_t i = 0; i < graph_.plan->inputs()->size(); ++i) {
      const int32_t v = graph_.plan->inputs()->Get(i);
      if (graph_.item[v] == kNone) continue;
      BERTH_RETURN_IF_ERROR(write_value(state_, v, WriteKind::kWhole, keep));
    }
  }
  // First all reads of this run are found, loops included; then what the next run reads.
  return changed_ ? Error::kOk : keep_state();
}

Error Sweep::keep_state() {
  const Span<const uint64_t> words = state_.live.words();
  if (!graph_.spend(words.size())) return stopped(state_);
  for (size_t w = 0; w < words.size(); ++w) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      const int32_t live = static_cast<int32_t>(64 * w) + __builtin_ctzll(left);
      // An alias that is live here was not made yet: its reader takes what the value was before.
      if (graph_.is_alias(live)) continue;
      if (graph_.by_blocks && graph_.block[live] != kNone) return moves(live);
      const size_t kept = item_at_end(live);
      uint64_t& word = memory_.at_end[kept / 64];
      const uint64_t bit = uint64_t{1} << (kept % 64);
      if ((word & bit) != 0) continue;
      word |= bit;
      state_.reader[kept] = state_.end_step() + 1;
      state_.next_run = true;
      changed_ = true;
    }
  }
  return Error::kOk;
}

/// The item is read before it is written, and its place follows the sizes, which change from run to run.
Error Sweep::moves(int32_t item) const {
  char place[64];
  char name[48];
  std::snprintf(place, sizeof place, "methods[%d].stacks", state_.method);
  return fail(state_.report, Error::kInvalidProgram, place,
              "%s keeps what it holds from run to run, so its place must not follow the sizes",
              describe_value(graph_, graph_.value[item], name, sizeof name));
}

/// Where the next run's value of a piece of state is after this run: in the item, or in what was recorded to replace
/// it.
int32_t Sweep::item_at_end(int32_t item) const {
  if (graph_.meta == nullptr) return item;
  const int32_t successor = graph_.successor[item];
  return successor != kNone ? successor : item;
}

}  // namespace berth::format::plan_check
