// Remembered: a library's answers to the problems that it was asked about.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace berth::cuda {

/// A table of kSlots slots, allocated when it is made. `Problem` is compared by its bytes, so its padding must be
/// cleared. When three quarters of the slots are taken, as by a program of many sizes, all answers are forgotten.
template <typename Problem, typename Answer>
class Remembered {
 public:
  static constexpr size_t kSlots = 512;

  Remembered() : slots_(kSlots) {}

  /// The answer for `problem`: the remembered one, or that of `ask()`. Valid until the next call.
  template <typename Ask>
  Answer& find(const Problem& problem, Ask&& ask) {
    size_t at = hash(problem) % kSlots;
    for (; slots_[at].known; at = (at + 1) % kSlots) {
      if (std::memcmp(&slots_[at].problem, &problem, sizeof problem) == 0) return slots_[at].answer;
    }
    if (count_ >= kSlots / 4 * 3) {
      clear();
      at = hash(problem) % kSlots;
    }
    Slot& slot = slots_[at];
    slot.answer = ask();
    std::memcpy(static_cast<void*>(&slot.problem), &problem, sizeof problem);
    slot.known = true;
    ++count_;
    return slot.answer;
  }

  /// Forgets all answers.
  void clear() {
    for (Slot& slot : slots_) slot.known = false;
    count_ = 0;
  }

 private:
  struct Slot {
    bool known = false;
    Problem problem{};
    Answer answer{};
  };

  static size_t hash(const Problem& problem) {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&problem), sizeof problem});
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace berth::cuda
