// Sizes that a program's inputs may have together.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/method_meta.h"

namespace berth::tool {

/// Large sizes of all inputs that fulfil the relations of the file (fb::SizeRelation): the largest ones where these say
/// nothing else. Where no such sizes are found, the largest, which the method refuses with the relation. Inputs that are
/// not tensors have none.
std::vector<std::vector<int32_t>> largest_sizes(const MethodMeta& meta);

}  // namespace berth::tool
