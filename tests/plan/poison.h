// Poison: an observer that overwrites every byte which nothing may rely on. Before each instruction it sets to 0xFF all
// bytes of the arenas that are not live, by the live ranges that the planner used, and those of the values that are
// about to be computed. A value that is read after the end of its live range, or before it was computed, is then NaN,
// whatever else used its bytes.
//
// Within a delegate that Berth compiled the same is done to its scratch and to the bytes of its results, which are
// arenas of its nested program.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "compiler/emit/emit.h"
#include "runtime/observer.h"

namespace berth::plan_test {

/// For each instruction of a method, the bytes of its arenas that nothing may rely on.
class DeadBytes {
 public:
  /// `arenas`: how large they are, by memory id less 1. Of a method that was emitted with these lives.
  DeadBytes(const std::vector<LiveRange>& lives, size_t instructions, const std::vector<size_t>& arenas) {
    for (int32_t pc = -1; pc <= static_cast<int32_t>(instructions); ++pc) {
      std::vector<Range> dead;
      for (size_t k = 0; k < arenas.size(); ++k) add_dead(lives, pc, static_cast<uint32_t>(k + 1), arenas[k], &dead);
      add_unmade(lives, pc, &dead);
      dead_.push_back(std::move(dead));
    }
  }

  /// What is read after the last instruction.
  int32_t end() const { return static_cast<int32_t>(dead_.size()) - 2; }

  /// Overwrites what is dead before instruction `pc`; -1: before inputs are set. The bytes that were overwritten.
  uint64_t poison(int32_t pc, const std::vector<Span<uint8_t>>& arenas) const {
    uint64_t bytes = 0;
    for (const Range& range : dead_.at(static_cast<size_t>(pc + 1))) {
      std::memset(arenas[range.arena].data() + range.offset, 0xFF, range.bytes);
      bytes += range.bytes;
    }
    return bytes;
  }

 private:
  struct Range {
    size_t arena;
    size_t offset;
    size_t bytes;
  };

  static bool wanted(const LiveRange& life, int32_t pc) { return life.state || (life.first <= pc && pc < life.end); }

  static void add_dead(const std::vector<LiveRange>& lives, int32_t pc, uint32_t memory_id, size_t bytes,
                       std::vector<Range>* dead) {
    std::vector<bool> alive(bytes, false);
    for (const LiveRange& life : lives) {
      if (life.memory_id != memory_id || !wanted(life, pc)) continue;
      for (uint64_t b = life.offset; b < life.offset + life.bytes; ++b) alive[b] = true;
    }
    size_t begin = 0;
    for (size_t b = 0; b <= bytes; ++b) {
      if (b < bytes && !alive[b]) continue;
      if (b > begin) dead->push_back({memory_id - 1, begin, b - begin});
      begin = b + 1;
    }
  }

  /// What is made by this instruction. Not where it is made over something else on purpose.
  static void add_unmade(const std::vector<LiveRange>& lives, int32_t pc, std::vector<Range>* dead) {
    for (const LiveRange& life : lives) {
      if (life.state || life.shared || life.first != pc || life.bytes == 0) continue;
      dead->push_back({life.memory_id - 1, life.offset, life.bytes});
    }
  }

  std::vector<std::vector<Range>> dead_;  // by instruction, from -1
};

class Poison final : public InstructionObserver {
 public:
  /// Where the host finds a tensor's bytes.
  using Reach = std::function<uint8_t*(const Tensor& tensor)>;

  /// `arenas`: those of the method, by memory id less 1. Of a method that was emitted with these lives.
  Poison(const std::vector<LiveRange>& lives, size_t instructions, const std::vector<Span<uint8_t>>& arenas)
      : dead_(lives, instructions, sizes_of(arenas)), instructions_(instructions), arenas_(arenas) {}

  /// The next run has its buffers there: arenas follow the sizes. After the inputs are set.
  void follow(const std::vector<LiveRange>& lives) { dead_ = DeadBytes(lives, instructions_, sizes_of(arenas_)); }

  /// Instruction `index` calls this delegate.
  void enter(size_t index, const DelegateReport& delegate, Reach reach) {
    reach_ = std::move(reach);
    delegates_.insert_or_assign(index, delegate);
  }

  /// Before inputs are set.
  void begin_run() { bytes_ += dead_.poison(-1, arenas_); }
  Error before(const InstructionEvent& event) override {
    const int32_t index = static_cast<int32_t>(event.index);
    if (depth_++ == 0) {
      bytes_ += dead_.poison(index, arenas_);
      begin_delegate(event);
    } else if (inner_ != nullptr) {
      inner_bytes_ += inner_->poison(index, inner_arenas_);
    }
    return Error::kOk;
  }
  void after(const InstructionEvent&, Error) override {
    if (--depth_ > 0 || inner_ == nullptr) return;
    inner_bytes_ += inner_->poison(inner_->end(), inner_arenas_);
    inner_ = nullptr;
  }
  /// Before outputs are read.
  void end_run() { bytes_ += dead_.poison(dead_.end(), arenas_); }

  /// Bytes that were overwritten so far, and those of scratch and results within delegates.
  uint64_t bytes() const { return bytes_; }
  uint64_t inner_bytes() const { return inner_bytes_; }

 private:
  static std::vector<size_t> sizes_of(const std::vector<Span<uint8_t>>& arenas) {
    std::vector<size_t> sizes;
    for (const Span<uint8_t>& arena : arenas) sizes.push_back(arena.size());
    return sizes;
  }

  /// Its arenas are arguments of the call: the scratch is the last one, the results stand before it.
  void begin_delegate(const InstructionEvent& event) {
    const auto found = delegates_.find(event.index);
    if (!event.is_delegate || found == delegates_.end()) return;
    const DelegateReport& delegate = found->second;
    const size_t scratch = delegate.scratch_bytes > 0 ? 1 : 0;
    const size_t first = event.args.size() - scratch - delegate.output_scratch_bytes.size();
    inner_arenas_.assign(1, {});
    if (scratch > 0) {
      inner_arenas_[0] = {reach_(event.args[event.args.size() - 1]->tensor()), size_t(delegate.scratch_bytes)};
    }
    for (size_t k = 0; k < delegate.output_scratch_bytes.size(); ++k) {
      const size_t bytes = size_t(delegate.output_scratch_bytes[k]);
      inner_arenas_.push_back({bytes == 0 ? nullptr : reach_(event.args[first + k]->tensor()), bytes});
    }
    auto known = inner_dead_.find(event.index);
    if (known == inner_dead_.end()) {
      DeadBytes dead(delegate.live_ranges, delegate.instructions, sizes_of(inner_arenas_));
      known = inner_dead_.emplace(event.index, std::move(dead)).first;
    }
    inner_ = &known->second;
    inner_bytes_ += inner_->poison(-1, inner_arenas_);
  }

  DeadBytes dead_;
  size_t instructions_;
  std::vector<Span<uint8_t>> arenas_;
  std::map<size_t, DelegateReport> delegates_;  // by instruction
  Reach reach_;
  std::map<size_t, DeadBytes> inner_dead_;   // by instruction
  const DeadBytes* inner_ = nullptr;         // of the delegate that runs
  std::vector<Span<uint8_t>> inner_arenas_;  // its scratch and results
  int depth_ = 0;
  uint64_t bytes_ = 0;
  uint64_t inner_bytes_ = 0;
};

}  // namespace berth::plan_test
