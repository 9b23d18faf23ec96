#include "compiler/memory/packing/load.h"

#include <algorithm>
#include <utility>

namespace berth::packing {
namespace {

/// Answers for the largest of values[begin, end). A table of the largest of each run of 2^k values.
class RangeMax {
 public:
  explicit RangeMax(std::vector<int64_t> values) : levels_{std::move(values)} {
    for (size_t run = 1; 2 * run <= levels_[0].size(); run *= 2) {
      const std::vector<int64_t>& below = levels_.back();
      std::vector<int64_t> level(below.size() - run);
      for (size_t i = 0; i < level.size(); ++i) level[i] = std::max(below[i], below[i + run]);
      levels_.push_back(std::move(level));
    }
  }

  /// REQUIRES: begin < end <= the number of values.
  int64_t largest(size_t begin, size_t end) const {
    size_t level = 0;
    while ((size_t{2} << level) <= end - begin) ++level;
    return std::max(levels_[level][begin], levels_[level][end - (size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;
};

/// sums[i] becomes the sum of all values before i.
void accumulate(std::vector<int64_t>* sums) {
  int64_t sum = 0;
  for (int64_t& value : *sums) sum += std::exchange(value, sum);
}

}  // namespace

std::vector<int64_t> section_loads(const Layout& layout) {
  std::vector<int64_t> loads(layout.sections + 1, 0);
  for (const Piece& piece : layout.pieces) {
    loads[piece.lower] += piece.size;
    loads[piece.upper] -= piece.size;
  }
  for (size_t s = 1; s < loads.size(); ++s) loads[s] += loads[s - 1];
  loads.pop_back();
  return loads;
}

std::vector<int64_t> loads_touched(const Layout& layout) {
  const RangeMax ranges(section_loads(layout));
  std::vector<int64_t> touched;
  touched.reserve(layout.bodies.size());
  for (const Body& body : layout.bodies) {
    int64_t largest = 0;
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& piece = layout.pieces[p];
      largest = std::max(largest, ranges.largest(piece.lower, piece.upper));
    }
    touched.push_back(largest);
  }
  return touched;
}

std::vector<int64_t> neighbour_bytes(const Layout& layout) {
  const size_t sections = layout.sections;
  std::vector<int64_t> born(sections + 1, 0);  // bytes born before each section, then
  std::vector<int64_t> dead(sections + 2, 0);  // bytes whose last section lies before it
  for (const Piece& piece : layout.pieces) {
    born[piece.lower] += piece.size;
    dead[piece.upper - 1] += piece.size;
  }
  accumulate(&born);
  accumulate(&dead);
  std::vector<int64_t> bytes;
  bytes.reserve(layout.bodies.size());
  for (const Body& body : layout.bodies) {
    int64_t sum = 0;
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& piece = layout.pieces[p];
      sum += born[piece.upper] - dead[piece.lower];
    }
    bytes.push_back(sum);
  }
  return bytes;
}

int64_t count_pairs(const Layout& layout) {
  std::vector<int64_t> change(layout.sections + 1, 0);
  std::vector<int64_t> births(layout.sections, 0);
  for (const Piece& piece : layout.pieces) {
    ++births[piece.lower];
    --change[piece.upper];
  }
  int64_t alive = 0;
  int64_t pairs = 0;
  for (size_t s = 0; s < births.size(); ++s) {
    alive += change[s];
    pairs += alive * births[s] + births[s] * (births[s] - 1) / 2;
    alive += births[s];
  }
  return pairs;
}

}  // namespace berth::packing
