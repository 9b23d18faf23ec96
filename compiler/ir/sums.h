// Arithmetic that the normal forms of sizes share (dim.cc, sums.cc).
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/dim.h"

namespace berth::ir {

/// Ranges saturate at ± this.
constexpr int64_t kLargestSize = int64_t{1} << 62;
/// What an expression may mention that is written in another form: longer ones stay as they are.
constexpr int kMostMentioned = 64;
/// Divisors that are joined stay below it, and so do their product and what is added.
constexpr int64_t kLargestJoined = int64_t{1} << 30;

int64_t saturate(__int128 x);
/// Rounds towards minus infinity.
int64_t floor_div(int64_t a, int64_t b);

/// a + b * times; nothing where there is no a or b, or where it has too many terms or too large numbers.
std::optional<Linear> sum_of_both(std::optional<Linear> a, const std::optional<Linear>& b, int64_t times);

}  // namespace berth::ir
