#include "compiler/memory/packing/search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "compiler/memory/packing/search_bounds.h"
#include "compiler/memory/packing/search_ranks.h"

namespace berth::packing {
namespace {

/// Heights below these fit in 16 and in 32 bits, with room for a sum of two. Narrow ones are faster: a machine adds
/// more of them at once.
constexpr int64_t kSmall = int64_t{1} << 14;
constexpr int64_t kMiddling = int64_t{1} << 30;

/// Nanoseconds of a node for each of its bodies, more or less, for the deadline.
constexpr int64_t kBodyNodeCost = 15;

struct Part {
  int32_t lower;
  int32_t upper;
  int64_t room;
  size_t count;
};

template <typename Height>
class Searcher {
 public:
  Searcher(const SearchProblem& problem, int64_t capacity, const SearchOptions& options)
      : problem_(problem),
        bodies_(problem, capacity),
        options_(options),
        ranks_(problem, options),
        bounds_(bodies_, problem.sections),
        placed_(problem.bodies.size(), 0),
        offsets_(problem.bodies.size(), 0) {}

  SearchResult run() {
    SearchResult result;
    if (fits_by_load() && start()) {
      result.verdict = Verdict::kFound;
      for (const Height offset : offsets_) result.offsets.push_back(offset);
    } else {
      result.verdict = limit_met_ ? Verdict::kUnknown : Verdict::kImpossible;
    }
    result.nodes = nodes_;
    return result;
  }

 private:
  using FrameT = Frame<Height>;

  bool fits_by_load() const {
    std::vector<int64_t> load(problem_.sections, 0);
    for (const SearchBody& body : problem_.bodies) {
      if (body.size > bodies_.capacity) return false;
      for (int32_t s = body.lower; s < body.upper; ++s) load[s] += body.size;
    }
    for (const int64_t bytes : load) {
      if (bytes > bodies_.capacity) return false;
    }
    return true;
  }

  FrameT& frame(size_t depth) {
    while (frames_.size() <= depth) frames_.push_back(std::make_unique<FrameT>());
    FrameT& f = *frames_[depth];
    return f;
  }

  bool start() {
    FrameT& f = frame(0);
    f.count = problem_.bodies.size();
    f.reserve(f.count, problem_.sections);
    std::iota(f.ids.begin(), f.ids.begin() + static_cast<std::ptrdiff_t>(f.count), 0);
    ranks_.sort_all(f.ids.data(), f.count);
    std::fill(f.low.begin(), f.low.end(), Height{0});
    std::fill(f.early.begin(), f.early.end(), Height{0});
    std::fill(f.passed.begin(), f.passed.end(), uint8_t{0});
    std::iota(f.by_early.begin(), f.by_early.begin() + static_cast<std::ptrdiff_t>(f.count), 0);
    count_crossings(&f);
    f.lower = 0;
    f.upper = problem_.sections;
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = f.ids[i];
      f.ends[i] = bodies_.size[id];
      f.begins_at[i] = static_cast<int16_t>(bodies_.lower[id]);
      f.ends_at[i] = static_cast<int16_t>(bodies_.upper[id]);
      for (int32_t s = bodies_.lower[id]; s < bodies_.upper[id]; ++s)
        f.rest[s] = static_cast<Height>(f.rest[s] + bodies_.size[id]);
    }
    return solve_parts(0, 0, problem_.sections);
  }

  void count_crossings(FrameT* f) const {
    std::fill(f->crossing.begin(), f->crossing.end(), int16_t{0});
    for (size_t i = 0; i < f->count; ++i) {
      const size_t id = f->ids[i];
      for (int32_t s = bodies_.lower[id] + 1; s < bodies_.upper[id]; ++s) ++f->crossing[s];
    }
  }

  /// Solves the frame at `depth`, which has been checked; boundaries inside [lower, upper) may have come free.
  bool solve_parts(size_t depth, int32_t lower, int32_t upper) {
    FrameT& f = frame(depth);
    if (f.count == 0) return true;
    if (f.count == 1) {
      offsets_[f.ids[0]] = f.early[0];
      return true;
    }
    bool free = false;
    for (int32_t s = lower + 1; s < upper; ++s) free |= f.crossing[s] == 0;
    if (!free) return solve(depth);
    std::vector<Part> parts = find_parts(f);
    if (parts.size() <= 1) return solve(depth);
    for (Part& part : parts) part.room = bounds_.room_in(f, part.lower, part.upper);
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.room != b.room ? a.room < b.room : a.count > b.count;
    });
    for (const Part& part : parts) {
      cut_out(f, part, depth + 1);
      if (frame(depth + 1).count == 1) {
        offsets_[frame(depth + 1).ids[0]] = frame(depth + 1).early[0];
        continue;
      }
      if (!solve(depth + 1)) return false;
    }
    return true;
  }

  /// The runs of sections that no body leaves, in order of time.
  std::vector<Part> find_parts(const FrameT& f) {
    std::vector<std::pair<int32_t, int32_t>> spans;
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = f.ids[i];
      spans.emplace_back(bodies_.lower[id], bodies_.upper[id]);
    }
    std::sort(spans.begin(), spans.end());
    std::vector<Part> parts;
    for (const auto& [lower, upper] : spans) {
      if (parts.empty() || parts.back().upper <= lower) parts.push_back({lower, upper, 0, 0});
      parts.back().upper = std::max(parts.back().upper, upper);
      ++parts.back().count;
    }
    return parts;
  }

  void cut_out(const FrameT& f, const Part& part, size_t depth) {
    FrameT& g = frame(depth);
    g.reserve(f.count, problem_.sections);
    picked_.clear();
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = f.ids[i];
      if (bodies_.lower[id] >= part.lower && bodies_.lower[id] < part.upper) picked_.push_back(static_cast<int32_t>(i));
    }
    if (options_.rank_parts) {
      ranks_.sort_part(f.ids.data(), part.lower, part.upper, &picked_);
    }
    g.count = picked_.size();
    for (size_t k = 0; k < g.count; ++k) {
      g.copy(k, f, picked_[k]);
      g.by_early[k] = static_cast<int32_t>(k);
    }
    std::sort(g.by_early.begin(), g.by_early.begin() + static_cast<std::ptrdiff_t>(g.count),
              [&](int32_t a, int32_t b) { return g.early[a] > g.early[b]; });
    std::copy(f.crossing.begin() + part.lower, f.crossing.begin() + part.upper, g.crossing.begin() + part.lower);
    std::copy(f.rest.begin() + part.lower, f.rest.begin() + part.upper, g.rest.begin() + part.lower);
    g.lower = part.lower;
    g.upper = part.upper;
  }

  bool solve(size_t depth) {
    FrameT& f = frame(depth);
    find_candidates(&f);
    for (size_t c = 0; c < f.candidates.size(); ++c) {
      if (is_over(f)) return false;
      const size_t k = f.candidates[c];
      const size_t id = f.ids[k];
      const Height offset = f.low[k];
      if (!fits_above(f, id, offset)) continue;
      ++nodes_;
      if (!place(f, k, depth + 1)) continue;
      placed_[id] = 1;
      if (solve_parts(depth + 1, bodies_.lower[id], bodies_.upper[id])) {
        offsets_[id] = offset;
        return true;
      }
      placed_[id] = 0;
      if (limit_met_) return false;
    }
    return false;
  }

  /// Whether the limit is met, or the deadline passed with what the next node costs.
  bool is_over(const FrameT& f) {
    limit_met_ |= nodes_ >= options_.nodes;
    if (options_.deadline != nullptr) {
      limit_met_ |= options_.deadline->passed_after(kBodyNodeCost * static_cast<int64_t>(f.count));
    }
    return limit_met_;
  }

  /// Indices of the bodies that may be the next, in the order of their keys.
  void find_candidates(FrameT* f) {
    int64_t limit = std::numeric_limits<int64_t>::max();  // offsets stay below
    for (size_t i = 0; i < f->count; ++i) {
      limit = std::min<int64_t>(limit, f->low[i] + bodies_.size[f->ids[i]]);
    }
    Height most = 0;
    for (int32_t s = f->lower; s < f->upper; ++s) most = std::max(most, f->rest[s]);
    limit = std::min<int64_t>(limit, bodies_.capacity - most + 1);
    f->candidates.clear();
    for (size_t i = 0; i < f->count; ++i) {
      if (f->passed[i] != 0 || f->low[i] >= limit) continue;
      const int32_t twin = problem_.bodies[f->ids[i]].twin;
      if (twin >= 0 && placed_[twin] == 0) continue;
      f->candidates.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(f->candidates.begin(), f->candidates.end(),
                     [&](int32_t a, int32_t b) { return f->low[a] < f->low[b]; });
  }

  /// Whether the bodies above this one fit in each of its sections.
  bool fits_above(const FrameT& f, size_t id, int64_t offset) const {
    Height most = 0;
    for (int32_t s = bodies_.lower[id]; s < bodies_.upper[id]; ++s) most = std::max(most, f.rest[s]);
    return offset + most <= bodies_.capacity;
  }

  /// Makes the frame at `depth`: `f` with its body `k` placed. False when that cannot be completed.
  bool place(const FrameT& f, size_t k, size_t depth) {
    FrameT& g = frame(depth);
    g.reserve(f.count, problem_.sections);
    g.count = f.count - 1;
    g.lower = f.lower;
    g.upper = f.upper;
    size_t to = 0;
    for (size_t i = 0; i < f.count; ++i) {
      if (i == k) continue;
      g.copy(to, f, i);
      lift(f, k, i, to, &g);
      ++to;
    }
    take_out_of_sections(f, f.ids[k], &g);
    to = 0;
    for (size_t at = 0; at < f.count; ++at) {
      const int32_t i = f.by_early[at];
      if (i != static_cast<int32_t>(k)) g.by_early[to++] = i < static_cast<int32_t>(k) ? i : i - 1;
    }
    return bounds_.tighten(&g);
  }

  /// Body `i` of `f`, which is body `to` of `g`, lies above the placed body `k` if it meets it; else it is passed if
  /// its turn was before.
  void lift(const FrameT& f, size_t k, size_t i, size_t to, FrameT* g) const {
    const Height offset = f.low[k];
    const Height end = static_cast<Height>(offset + bodies_.size[f.ids[k]]);
    if (f.low[i] < end && f.begins_at[i] < f.ends_at[k] && f.begins_at[k] < f.ends_at[i]) {
      const int32_t id = f.ids[i];
      const Height low = bodies_.align(end, id);
      g->low[to] = low;
      g->passed[to] = f.early[i] > low ? 1 : 0;
      g->early[to] = std::max(low, f.early[i]);
      g->support[to] = -1;
      g->ends[to] = static_cast<Height>(g->early[to] + bodies_.size[id]);
    } else if (f.passed[i] == 0 && (f.low[i] < offset || (f.low[i] == offset && i < k))) {
      g->passed[to] = 1;
      g->support[to] = -1;
    }
  }

  void take_out_of_sections(const FrameT& f, size_t placed, FrameT* g) const {
    std::copy(f.crossing.begin() + f.lower, f.crossing.begin() + f.upper, g->crossing.begin() + f.lower);
    std::copy(f.rest.begin() + f.lower, f.rest.begin() + f.upper, g->rest.begin() + f.lower);
    for (int32_t s = bodies_.lower[placed]; s < bodies_.upper[placed]; ++s) {
      if (s > bodies_.lower[placed]) --g->crossing[s];
      g->rest[s] = static_cast<Height>(g->rest[s] - bodies_.size[placed]);
    }
  }

  const SearchProblem& problem_;
  const Columns<Height> bodies_;
  const SearchOptions& options_;
  Ranks ranks_;
  SearchBounds<Height> bounds_;
  std::vector<std::unique_ptr<FrameT>> frames_;  // by depth
  std::vector<uint8_t> placed_;                  // of each body: on the path to this node
  std::vector<Height> offsets_;
  std::vector<int32_t> picked_;
  int64_t nodes_ = 0;
  bool limit_met_ = false;
};

}  // namespace

SearchResult search(const SearchProblem& problem, int64_t capacity, const SearchOptions& options) {
  if (capacity < kSmall) return Searcher<int16_t>(problem, capacity, options).run();
  if (capacity < kMiddling) return Searcher<int32_t>(problem, capacity, options).run();
  return Searcher<int64_t>(problem, capacity, options).run();
}

}  // namespace berth::packing
