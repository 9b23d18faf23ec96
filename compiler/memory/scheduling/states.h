// The states of an exact search, found by their sets of tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth::scheduling {

/// A set of tasks that have run, and the least peak with which the search came to it.
struct State {
  int64_t peak = 0;
  int64_t live = 0;
  int32_t parent = -1;
  int32_t task = -1;  // that was run last
  int32_t done = 0;
};

/// Each with its set of tasks and the set of those that may run next, in words of 64.
class States {
 public:
  explicit States(size_t words) : words_(words) {}

  size_t size() const { return states_.size(); }
  State& operator[](int32_t state) { return states_[state]; }
  const State& operator[](int32_t state) const { return states_[state]; }
  const uint64_t* set(int32_t state) const { return bits_.data() + 2 * words_ * static_cast<size_t>(state); }
  const uint64_t* ready(int32_t state) const { return set(state) + words_; }

  /// The table's entry for a set: a state, or -1 for a new one. Good until the next call.
  int32_t& find(const uint64_t* set) {
    if ((states_.size() + 1) * 2 > table_.size()) grow();
    const uint64_t hash = hash_of(set);
    for (size_t i = hash & (table_.size() - 1);; i = (i + 1) & (table_.size() - 1)) {
      Entry& entry = table_[i];
      if (entry.state >= 0 && (entry.hash != hash || !std::equal(set, set + words_, this->set(entry.state)))) continue;
      entry.hash = hash;
      return entry.state;
    }
  }

  int32_t add(const State& state, const uint64_t* set, const uint64_t* ready) {
    states_.push_back(state);
    bits_.insert(bits_.end(), set, set + words_);
    bits_.insert(bits_.end(), ready, ready + words_);
    return static_cast<int32_t>(states_.size()) - 1;
  }

 private:
  struct Entry {
    uint64_t hash = 0;
    int32_t state = -1;
  };

  uint64_t hash_of(const uint64_t* set) const {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < words_; ++i) {
      h ^= set[i];
      h *= 0xBF58476D1CE4E5B9u;
      h ^= h >> 29;
    }
    return h;
  }

  void grow() {
    const std::vector<Entry> old = std::move(table_);
    table_.assign(std::max<size_t>(1024, old.size() * 4), Entry{});
    for (const Entry& entry : old) {
      if (entry.state < 0) continue;
      size_t i = entry.hash & (table_.size() - 1);
      while (table_[i].state >= 0) i = (i + 1) & (table_.size() - 1);
      table_[i] = entry;
    }
  }

  const size_t words_;
  std::vector<State> states_;
  std::vector<uint64_t> bits_;
  std::vector<Entry> table_;  // open addressing
};

}  // namespace berth::scheduling
