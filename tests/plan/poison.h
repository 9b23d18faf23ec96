// Poison: an observer that overwrites every byte which nobody may rely on. Before each instruction, all bytes of the
// arenas that no value is in, by the lifetimes that the planner was told, become 0xFF, and so does what is about to be
// made. A value that is read after the end of its life, or before it was made, is then no number any more, whoever else
// used its bytes.
#pragma once

#include <cstring>
#include <vector>

#include "compiler/emit/emit.h"
#include "runtime/observer.h"

namespace berth::plan_test {

class Poison final : public InstructionObserver {
 public:
  /// `arenas`: those of the method, by memory id less 1. Of a method that was emitted with these lives.
  Poison(const std::vector<emit::Life>& lives, size_t instructions, const std::vector<Span<uint8_t>>& arenas) {
    for (int32_t pc = -1; pc <= static_cast<int32_t>(instructions); ++pc) {
      std::vector<Span<uint8_t>> dead;
      for (size_t k = 0; k < arenas.size(); ++k) add_dead(lives, pc, static_cast<uint32_t>(k + 1), arenas[k], &dead);
      add_unmade(lives, pc, arenas, &dead);
      dead_.push_back(std::move(dead));
    }
  }

  /// Before inputs are set.
  void begin_run() { poison(-1); }
  Error before(const InstructionEvent& event) override {
    if (depth_++ == 0) poison(static_cast<int32_t>(event.index));
    return Error::kOk;
  }
  void after(const InstructionEvent&, Error) override { --depth_; }
  /// Before outputs are read.
  void end_run() { poison(static_cast<int32_t>(dead_.size()) - 2); }

  /// Bytes that were overwritten so far.
  uint64_t bytes() const { return bytes_; }

 private:
  static bool wanted(const emit::Life& life, int32_t pc) { return life.state || (life.first <= pc && pc < life.end); }

  static void add_dead(const std::vector<emit::Life>& lives, int32_t pc, uint32_t memory_id, Span<uint8_t> arena,
                       std::vector<Span<uint8_t>>* dead) {
    std::vector<bool> alive(arena.size(), false);
    for (const emit::Life& life : lives) {
      if (life.memory_id != memory_id || !wanted(life, pc)) continue;
      for (uint64_t b = life.offset; b < life.offset + life.bytes; ++b) alive[b] = true;
    }
    size_t begin = 0;
    for (size_t b = 0; b <= arena.size(); ++b) {
      if (b < arena.size() && !alive[b]) continue;
      if (b > begin) dead->push_back(arena.subspan(begin, b - begin));
      begin = b + 1;
    }
  }

  /// What is made by this instruction. Not where it is made over something else on purpose.
  static void add_unmade(const std::vector<emit::Life>& lives, int32_t pc, const std::vector<Span<uint8_t>>& arenas,
                         std::vector<Span<uint8_t>>* dead) {
    for (const emit::Life& life : lives) {
      if (life.state || life.merged || life.first != pc || life.bytes == 0) continue;
      dead->push_back(arenas[life.memory_id - 1].subspan(life.offset, life.bytes));
    }
  }

  void poison(int32_t pc) {
    for (const Span<uint8_t> range : dead_[static_cast<size_t>(pc + 1)]) {
      std::memset(range.data(), 0xFF, range.size());
      bytes_ += range.size();
    }
  }

  std::vector<std::vector<Span<uint8_t>>> dead_;  // by instruction, from -1
  int depth_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace berth::plan_test
