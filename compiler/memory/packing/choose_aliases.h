// Which candidates to take.
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// How one space with its candidates is placed.
struct Choice {
  std::vector<int64_t> offsets;  // one a buffer
  std::vector<bool> taken;       // one a candidate
  int64_t height = 0;
  int64_t bound = 0;  // over all choices
};

/// Takes candidates group by group in four orders (as given; most bytes saved first; fullest step first; longest lives
/// first), each group that can join those taken before it; keeps the order that comes out lowest, then leaves out or
/// brings in single groups around the peak as long as that lowers it. At equal height more candidates win. At last the
/// space is placed without any candidate as well, unless the result meets the bound of that already: a choice is never
/// higher than none. The bound of a choice is the load of all choices (bound.h), or, when there is no candidate, what
/// `improver` proves. REQUIRES: check() and check_fixed() of the problem are ok; it has one space.
Choice choose_and_place(const Problem& problem, Improver improver, Effort* effort);

}  // namespace berth::packing
