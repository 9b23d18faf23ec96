#include "compiler/memory/packing/generators.h"

#include <algorithm>
#include <cmath>

#include "base/splitmix64.h"

namespace berth::packing {
namespace {

struct Tile {
  int64_t lower, upper;  // steps
  int64_t begin, end;    // bytes

  int64_t steps() const { return upper - lower; }
  int64_t bytes() const { return end - begin; }
};

class Cutter {
 public:
  Cutter(uint64_t seed, int64_t steps, int64_t bytes) : random_(seed), pieces_{{0, steps, 0, bytes}} {}

  /// Cuts until there are `count` pieces or nothing can be cut any more.
  void cut(size_t count) {
    for (size_t misses = 0; pieces_.size() < count && misses < 100 * count;) {
      // Of two the larger, so that sizes stay of a kind.
      size_t at = pick();
      const size_t other = pick();
      if (area(pieces_[other]) > area(pieces_[at])) at = other;
      const bool pinwheel = pieces_.size() + 4 <= count && random_.below(4) == 0;
      const bool done = pinwheel ? cut_pinwheel(at) : cut_straight(at, random_.below(2) == 0);
      if (!done) ++misses;
    }
  }

  SplitMix64& random() { return random_; }
  const std::vector<Tile>& pieces() const { return pieces_; }

 private:
  size_t pick() { return random_.below(static_cast<int64_t>(pieces_.size())); }
  static int64_t area(const Tile& r) { return r.steps() * r.bytes(); }
  /// Somewhere inside, not at the ends.
  int64_t inside(int64_t lower, int64_t upper) { return lower + 1 + random_.below(upper - lower - 1); }

  bool cut_straight(size_t at, bool across_time) {
    const Tile r = pieces_[at];
    if ((across_time ? r.steps() : r.bytes()) < 2) return false;
    Tile first = r;
    Tile second = r;
    if (across_time) {
      first.upper = second.lower = inside(r.lower, r.upper);
    } else {
      first.end = second.begin = inside(r.begin, r.end);
    }
    pieces_[at] = first;
    pieces_.push_back(second);
    return true;
  }

  bool cut_pinwheel(size_t at) {
    const Tile r = pieces_[at];
    if (r.steps() < 3 || r.bytes() < 3) return false;
    const int64_t t1 = inside(r.lower, r.upper - 1);
    const int64_t t2 = inside(t1, r.upper);
    const int64_t b1 = inside(r.begin, r.end - 1);
    const int64_t b2 = inside(b1, r.end);
    pieces_[at] = {r.lower, t2, r.begin, b1};
    pieces_.push_back({t2, r.upper, r.begin, b2});
    pieces_.push_back({t1, r.upper, b2, r.end});
    pieces_.push_back({r.lower, t1, b1, r.end});
    pieces_.push_back({t1, t2, b1, b2});
    return true;
  }

  SplitMix64 random_;
  std::vector<Tile> pieces_;
};

}  // namespace

Planted planted_problem(uint64_t seed, int32_t pieces, int32_t slack_percent) {
  constexpr int64_t kHeight = 1024;
  Cutter cutter(seed, pieces, kHeight);
  cutter.cut(pieces);
  Planted planted;
  planted.height = kHeight;
  for (const Tile& r : cutter.pieces()) {
    Buffer buffer;
    buffer.lower = r.lower;
    buffer.upper = r.upper;
    const int64_t most = r.bytes() * 2 * slack_percent / 100;
    buffer.size = std::max<int64_t>(1, r.bytes() - cutter.random().below(most + 1));
    planted.problem.buffers.push_back(buffer);
  }
  std::vector<Buffer>& all = planted.problem.buffers;
  for (size_t i = all.size(); i > 1; --i) {
    std::swap(all[i - 1], all[cutter.random().below(static_cast<int64_t>(i))]);
  }
  return planted;
}

Problem long_problem(uint64_t seed, int32_t buffers) {
  SplitMix64 random(seed);
  Problem problem;
  problem.buffers.reserve(buffers);
  for (int32_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.lower = i;
    buffer.upper = i + 1 + static_cast<int64_t>(std::log(random.unit()) / std::log1p(-1.0 / 64));
    buffer.size = static_cast<int64_t>(std::exp2(6 + 16 * random.unit())) / 64 * 64;
    buffer.alignment = 64;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

Problem repeated(const Problem& problem, int32_t times) {
  Problem out;
  out.spaces = problem.spaces;
  int64_t first = 0;
  int64_t last = 0;
  for (const Buffer& buffer : problem.buffers) {
    first = std::min(first, buffer.lower);
    last = std::max(last, buffer.upper);
  }
  for (int32_t k = 0; k < times; ++k) {
    for (Buffer buffer : problem.buffers) {
      buffer.lower += k * (last - first);
      buffer.upper += k * (last - first);
      out.buffers.push_back(buffer);
    }
  }
  return out;
}

}  // namespace berth::packing
