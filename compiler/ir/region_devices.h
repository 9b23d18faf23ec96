// Where values cross the borders of branches and loops. What a branch gives, and what a loop carries, lives where the
// node's result lives: on the host, or on a device where all that makes and reads it in the regions is given it.
//
//     if       the condition is read on the host; a branch gives its output k where result k lives
//     while    value k is carried, and its next one given, where result k lives; the condition is given on the host
//     scan     the same; what is scanned is read where its slices live, and a slice given where the whole of it lives
//
// Delegates are not meant: all that is theirs lives on their device.
#pragma once

#include "compiler/ir/module.h"

namespace berth::ir {

/// How many of the node's results it carries; 0 for `if`.
size_t carried_count(const Node& node);

/// Where value `i` of argument `a` is read. All of these REQUIRE: `node` is an if, while or scan.
Device argument_device(const Method& method, const Node& node, size_t a, size_t i);
/// Where input `i` of each region lives.
Device region_input_device(const Method& method, const Node& node, size_t i);
/// Where output `k` of region `r` is given.
Device region_output_device(const Method& method, const Node& node, size_t r, size_t k);

}  // namespace berth::ir
