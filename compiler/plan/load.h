// The load: how many bytes are alive in a step.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/problem.h"

namespace berth::plan {

/// For each storage the largest load of its space in a step of its life. Loads are sums of true sizes. O(n log n).
std::vector<int64_t> load_touched(const Problem& problem);

/// For each storage the bytes of all storages, of any space, that are alive with it at some time, its own included.
/// O(n log n).
std::vector<int64_t> neighbour_bytes(const Problem& problem);

}  // namespace berth::plan
