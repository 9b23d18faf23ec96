// Numbers that broadcast, such as the scales and zero points beside the integers of a weight. What is done to them
// writes out no more elements than the result needs: one number for a whole weight stays one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::fuse {

/// Numbers in row-major order that broadcast to the integers beside them.
struct Broadcast {
  std::vector<int64_t> sizes;
  std::vector<float> values;
};

/// Whether a tensor of sizes `part` broadcasts to one of sizes `whole`.
bool fits_broadcast(const std::vector<int64_t>& part, const std::vector<int64_t>& whole);

/// `given` with an element for each of `sizes`. REQUIRES: it broadcasts to `sizes`.
Broadcast expanded(const Broadcast& given, const std::vector<int64_t>& sizes);

/// Both with the smallest sizes that they share, of as many dimensions as `sizes`. REQUIRES: both broadcast to `sizes`.
std::pair<Broadcast, Broadcast> expanded_alike(const Broadcast& a, const Broadcast& b,
                                               const std::vector<int64_t>& sizes);

/// f(x, y) of each pair of elements: numbers that broadcast to `sizes`, of no more elements than they need. REQUIRES:
/// `a` and `b` broadcast to `sizes`.
template <typename F>
Broadcast combined(const Broadcast& a, const Broadcast& b, const std::vector<int64_t>& sizes, F&& f) {
  auto [result, other] = expanded_alike(a, b, sizes);
  for (size_t i = 0; i < result.values.size(); ++i) result.values[i] = f(result.values[i], other.values[i]);
  return result;
}

}  // namespace berth::fuse
