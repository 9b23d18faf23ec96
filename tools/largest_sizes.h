// Sizes that a program's inputs may have together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/method_meta.h"

namespace berth::tool {

/// Large sizes of all inputs that fulfil the relations of the file (fb::SizeRelation): the largest ones where these say
/// nothing else. Where no such sizes are found, the largest, which the method refuses with the relation. Inputs that
/// are not tensors have none.
std::vector<std::vector<int32_t>> largest_sizes(const MethodMeta& meta);

/// The same with each open size at `place(its name, smallest, largest)`, rounded down to its steps. They may break
/// relations, which the method says.
std::vector<std::vector<int32_t>> sizes_at(const MethodMeta& meta,
                                           const std::function<int64_t(const char*, int64_t, int64_t)>& place);

}  // namespace berth::tool
