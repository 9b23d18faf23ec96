// The exact search: do these bodies fit below a capacity, and where?
//
// A depth-first search that builds every layout from the floor upward, after MiniMalloc (Moffitt, "MiniMalloc: A
// Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023), with rules of our own. Of all
// layouts that fit, it suffices to look at those whose offsets have the smallest sum: there no body can be moved down,
// so each lies on the floor or on another. Built in the order of (offset, rank), such a layout puts each body at `low`,
// the lowest place above the bodies that were placed before and are alive with it. A node of the tree places one body.
//
//     canonical    keys (offset, rank) never decrease. A body whose key has been passed is not at `low` in any layout
//                  of this subtree.
//     support      such a body lies on one that is still to be placed and alive with it; so it lies no lower than the
//                  lowest of their ends, and a subtree in which there is none fails.
//     sections     in a section, the bodies that lie no lower than h need h and the sum of their sizes; for each h.
//     dominance    when a body is placed at or above the end that another could have at its `low`, that other could
//                  be moved down there: no layout of the smallest sum.
//     twins        of bodies alike in everything the first is placed first.
//     parts        where no body that is still to be placed crosses a boundary of sections, both sides are solved by
//                  themselves, the one with less room first.
//
// Each rule keeps every layout of the smallest sum, so a tree that is searched to its end is a proof.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/search_options.h"
#include "compiler/memory/packing/search_problem.h"

namespace berth::packing {

enum class Verdict : uint8_t {
  kFound,
  kImpossible,  // proven: no layout fits
  kUnknown,     // the limit was met, or the deadline passed
};

struct SearchResult {
  Verdict verdict = Verdict::kUnknown;
  std::vector<int64_t> offsets;  // units, one a body; when found
  int64_t nodes = 0;             // placed
};

/// REQUIRES: capacity is below 2^60, and there are fewer than 2^15 sections.
SearchResult search(const SearchProblem& problem, int64_t capacity, const SearchOptions& options);

}  // namespace berth::packing
