// What each task of a stretch needs while it runs, whatever the order.
#pragma once

#include <cstdint>

#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {

/// No order of the stretch has a lower peak than this: the largest of what is alive at both ends, and, for each task,
/// of what it reads and makes, less the most that it may save in place, with each buffer that one of its forerunners
/// makes, or none, and one of its followers reads. O(tasks * buffers / 64), and two sets of tasks for each task.
int64_t needed_by_any_order(const Stretch& stretch);

}  // namespace berth::scheduling
