#include "compiler/memory/scheduling/needs.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

/// For each task a set of tasks.
class Sets {
 public:
  Sets(size_t tasks, size_t words) : words_(words), bits_(tasks * words) {}

  const uint64_t* row(int32_t task) const { return bits_.data() + task * words_; }
  bool has(int32_t task, int32_t member) const { return (row(task)[member / 64] >> (member % 64) & 1) != 0; }

  /// `other` and all that are in its set.
  void add(int32_t task, int32_t other) {
    uint64_t* const mine = bits_.data() + task * words_;
    for (size_t w = 0; w < words_; ++w) mine[w] |= row(other)[w];
    mine[other / 64] |= uint64_t{1} << (other % 64);
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// The tasks that run before each in every order, and those behind. Tasks are numbered in an order that respects them.
struct Relations {
  Sets before;
  Sets behind;

  Relations(const Stretch& stretch, size_t words)
      : before(stretch.tasks.size(), words), behind(stretch.tasks.size(), words) {
    for (int32_t t = 0; t < stretch.size(); ++t) {
      for (const int32_t other : stretch.tasks[t].before) before.add(t, other);
    }
    for (int32_t t = stretch.size(); t-- > 0;) {
      for (const int32_t other : stretch.tasks[t].after) behind.add(t, other);
    }
  }
};

/// While which tasks a buffer is still wanted if it is made: those that read it, and all that come before one of them.
void find_who_runs_before_its_end(const StretchBuffer& buffer, const Sets& before, std::vector<uint64_t>* out) {
  std::fill(out->begin(), out->end(), buffer.kept ? ~uint64_t{0} : 0);
  if (buffer.kept) return;
  for (const int32_t reader : buffer.readers) {
    for (size_t w = 0; w < out->size(); ++w) (*out)[w] |= before.row(reader)[w];
    (*out)[reader / 64] |= uint64_t{1} << (reader % 64);
  }
}

/// The most that a task may save when the buffers for which `may_die` holds die with it.
template <typename MayDie>
int64_t most_saved(const Stretch& stretch, const StretchTask& task, const MayDie& may_die) {
  int64_t saved = 0;
  for (const int32_t made : task.makes) {
    int64_t most = 0;
    for (const InPlace& candidate : task.in_place) {
      if (candidate.to != made || !may_die(candidate.from)) continue;
      most = std::max(most, std::min(stretch.buffers[candidate.from].bytes, stretch.buffers[made].bytes));
    }
    saved += most;
  }
  return saved;
}

}  // namespace

int64_t needed_by_any_order(const Stretch& stretch) {
  const size_t words = (stretch.tasks.size() + 63) / 64;
  const Relations relations(stretch, words);
  std::vector<int64_t> needs(stretch.tasks.size(), stretch.base);
  std::vector<uint64_t> wanted(words);
  int64_t end = stretch.base;
  for (const StretchBuffer& buffer : stretch.buffers) {
    if (buffer.producer < 0 && buffer.kept) continue;  // in the base
    if (buffer.kept) end += buffer.bytes;
    find_who_runs_before_its_end(buffer, relations.before, &wanted);
    if (buffer.producer >= 0) {
      for (size_t w = 0; w < words; ++w) wanted[w] &= relations.behind.row(buffer.producer)[w];
      wanted[buffer.producer / 64] |= uint64_t{1} << (buffer.producer % 64);
    }
    for (size_t t = 0; t < needs.size(); ++t) needs[t] += (wanted[t / 64] >> (t % 64) & 1) != 0 ? buffer.bytes : 0;
  }
  int64_t most = std::max(stretch.start, end);
  for (int32_t t = 0; t < stretch.size(); ++t) {
    const int64_t saved = most_saved(stretch, stretch.tasks[t], [&](int32_t b) {
      const StretchBuffer& buffer = stretch.buffers[b];
      const auto follows = [&](int32_t reader) { return relations.behind.has(t, reader); };
      return !buffer.kept && std::none_of(buffer.readers.begin(), buffer.readers.end(), follows);
    });
    most = std::max(most, needs[t] - saved);
  }
  return most;
}

}  // namespace berth::scheduling
