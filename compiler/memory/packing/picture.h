// A plan as a picture in text: time to the right, bytes upward, one letter a buffer.
//
//     12 |..bb..
//      8 |..bb..
//      4 |aa.ccc
//      0 |aa.ccc
//         0    6
#pragma once

#include <string>

#include "compiler/memory/packing/plan.h"

namespace berth::packing {

struct PictureSize {
  int columns = 72;  // at most; fewer when there are fewer steps
  int rows = 24;     // at most
};

/// Draws the space `space`. Each cell stands for a range of steps and of bytes and shows the buffer that holds its
/// middle, '.' for none; letters come in turn, so that neighbours mostly differ. Buffers thinner than a cell may not be
/// seen. REQUIRES: validate(problem, plan) is ok and the space exists.
std::string picture(const Problem& problem, const Plan& plan, size_t space, PictureSize size = {});

}  // namespace berth::packing
