#include "compiler/memory/packing/overlaps.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

namespace berth::packing {
namespace {

/// Up to so many buffers each pair is compared: a few milliseconds.
constexpr size_t kFewBuffers = 2000;

std::string range(int64_t begin, int64_t end) { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; }

class Overlaps {
 public:
  Overlaps(const Problem& problem, const Plan& plan, const Partners& partners)
      : problem_(problem), plan_(plan), partners_(partners) {}

  Status compare_all() const {
    for (size_t b = 0; b < partners_.size(); ++b) {
      for (size_t a = 0; a < b; ++a) BERTH_TRY(compare(a, b));
    }
    return Done{};
  }

  /// Keeps what is alive sorted by offset. As long as only partners overlap, a newcomer that overlaps any other buffer
  /// overlaps the next ones of that order, which begin inside it, the one before it, or a partner of that one.
  Status sweep() const {
    const std::vector<size_t> births = sorted_by(&Buffer::lower);
    const std::vector<size_t> deaths = sorted_by(&Buffer::upper);
    std::set<Key> alive;
    size_t dead = 0;
    for (const size_t young : births) {
      for (; buffer(deaths[dead]).upper <= buffer(young).lower; ++dead) alive.erase(key(deaths[dead]));
      const auto next = alive.lower_bound(key(young));
      const int64_t end = plan_.offsets[young] + buffer(young).size;
      for (auto it = next; it != alive.end() && *it < Key(buffer(young).space, end, 0); ++it) {
        BERTH_TRY(compare(std::get<2>(*it), young));
      }
      if (next != alive.begin()) {
        const size_t below = std::get<2>(*std::prev(next));
        BERTH_TRY(compare(below, young));
        // One that begins lower still and reaches the newcomer overlaps `below`, so it is a partner of it.
        for (const size_t partner : partners_[below]) {
          if (partner != young) BERTH_TRY(compare(partner, young));
        }
      }
      alive.insert(next, key(young));
    }
    return Done{};
  }

 private:
  using Key = std::tuple<int32_t, int64_t, size_t>;  // space, offset, buffer

  const Buffer& buffer(size_t i) const { return problem_.buffers[i]; }
  Key key(size_t i) const { return {buffer(i).space, plan_.offsets[i], i}; }

  /// The buffers that have bytes in some step, by one end of their live ranges.
  std::vector<size_t> sorted_by(int64_t Buffer::*end) const {
    std::vector<size_t> sorted;
    for (size_t i = 0; i < partners_.size(); ++i) {
      if (buffer(i).size > 0 && buffer(i).lower < buffer(i).upper) sorted.push_back(i);
    }
    const auto before = [&](size_t a, size_t b) { return buffer(a).*end < buffer(b).*end; };
    std::stable_sort(sorted.begin(), sorted.end(), before);
    return sorted;
  }

  bool are_partners(size_t a, size_t b) const {
    if (partners_[a].size() > partners_[b].size()) std::swap(a, b);
    return std::find(partners_[a].begin(), partners_[a].end(), b) != partners_[a].end();
  }

  Status compare(size_t a, size_t b) const {
    if (buffer(a).lower > buffer(b).lower) std::swap(a, b);
    const Buffer& old = buffer(a);
    const Buffer& young = buffer(b);
    if (old.space != young.space || young.lower >= std::min(old.upper, young.upper)) return Done{};
    const int64_t old_end = plan_.offsets[a] + old.size;
    const int64_t young_end = plan_.offsets[b] + young.size;
    if (std::max(plan_.offsets[a], plan_.offsets[b]) >= std::min(old_end, young_end)) return Done{};
    if (are_partners(a, b)) return Done{};
    return Failure{Error::kInternal, "buffer " + std::to_string(b),
                   "its bytes " + range(plan_.offsets[b], young_end) + " overlap the bytes " +
                       range(plan_.offsets[a], old_end) + " of buffer " + std::to_string(a) +
                       ": both are alive in step " + std::to_string(young.lower)};
  }

  const Problem& problem_;
  const Plan& plan_;
  const Partners& partners_;
};

}  // namespace

Status check_overlaps(const Problem& problem, const Plan& plan, const Partners& partners) {
  const Overlaps overlaps(problem, plan, partners);
  return partners.size() <= kFewBuffers ? overlaps.compare_all() : overlaps.sweep();
}

}  // namespace berth::packing
