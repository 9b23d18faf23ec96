// A plan as a picture in text: time to the right, bytes upward, one letter a storage.
//
//     12 |..bb..
//      8 |..bb..
//      4 |aa.ccc
//      0 |aa.ccc
//         0    6
#pragma once

#include <string>

#include "compiler/plan/plan.h"

namespace berth::plan {

struct PictureSize {
  int columns = 72;  // at most; fewer when there are fewer steps
  int rows = 24;     // at most
};

/// Draws the space `space`. Each cell stands for a run of steps and of bytes and shows the storage that holds its
/// middle,
/// '.' for none; letters come in turn, so that neighbours mostly differ. Storages thinner than a cell may not be seen.
/// REQUIRES: validate(problem, plan) is well and the space exists.
std::string picture(const Problem& problem, const Plan& plan, size_t space, PictureSize size = {});

}  // namespace berth::plan
