// Arguments that have one number for each spatial dimension: strides, paddings, kernel sizes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

/// The largest such number.
constexpr int64_t kMaxSpatial = int64_t{1} << 20;

/// The numbers of argument `name`, or `fallback` without one, for `count` dimensions; a single number stands for all.
/// Fails when there are not as many, or one is below `low` or over kMaxSpatial. Gives `count` numbers even then.
inline std::vector<int64_t> spatial(NodeContext& n, std::string_view name, size_t count,
                                    const std::vector<int64_t>& fallback, int64_t low) {
  std::vector<int64_t> numbers = n.integers(name);
  if (numbers.empty()) numbers = fallback;
  if (numbers.size() == 1) numbers.assign(count, numbers[0]);
  if (numbers.size() != count)
    n.invalid("argument '" + std::string(name) + "' does not have one number for each dimension");
  for (int64_t number : numbers) {
    if (number < low || number > kMaxSpatial) n.invalid("argument '" + std::string(name) + "' is out of range");
  }
  numbers.resize(count, 1);
  return numbers;
}

}  // namespace berth::pt2
