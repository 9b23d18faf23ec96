// Remembered: a library's answers to the problems that it was asked about.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>

namespace berth::cuda {

/// `Problem` is compared by its bytes, so its padding must be cleared. At most kMost problems are remembered: more of
/// them are a program's whose sizes change, and all are forgotten then.
template <typename Problem, typename Answer>
class Remembered {
 public:
  static constexpr size_t kMost = 4096;

  /// The answer for `problem`: the remembered one, or that of `ask()`. Valid until the next call.
  template <typename Ask>
  Answer& find(const Problem& problem, Ask&& ask) {
    const auto known = answers_.find(problem);
    if (known != answers_.end()) return known->second;
    if (answers_.size() == kMost) answers_.clear();
    return answers_.emplace(problem, ask()).first->second;
  }

 private:
  struct Bytes {
    size_t operator()(const Problem& problem) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(&problem), sizeof problem});
    }
    bool operator()(const Problem& a, const Problem& b) const { return std::memcmp(&a, &b, sizeof a) == 0; }
  };

  std::unordered_map<Problem, Answer, Bytes, Bytes> answers_;
};

}  // namespace berth::cuda
