// Sizes as `berth inspect` shows them: those of tensors, and those of inputs that are open, with what holds between
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "format/schema.h"

namespace berth::tool {

/// "[1x3x224x224]"; null is "[]".
std::string shape_text(const flatbuffers::Vector<int32_t>* sizes);
/// The same as a list.
std::vector<int32_t> list_of(const flatbuffers::Vector<int32_t>* sizes);

/// Adds a size to the "sizes" of a method's JSON: from `min` to `max` in steps of `step`.
void add_size(const std::string& name, int64_t min, int64_t max, int64_t step, Json& method);
/// Adds to its "relations": "H <= W".
void add_relation(const std::string& text, Json& method);

/// Appends both, if the method has any, a line each.
void print_sizes(const Json& method, std::string& text);

}  // namespace berth::tool
