// Greedy planners: take the bodies by a key, the largest first, and put each where it fits among those placed.
//
// The method is that of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), with the
// keys and the rules for gaps that others found to win on some problems: no single pair wins on all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/order_by.h"
#include "compiler/memory/packing/placement.h"
#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// Into which hole among the placed bodies that are alive with it a body goes.
enum class Fit : uint8_t {
  kFirst,  // the lowest that is large enough
  kBest,   // the one that leaves the fewest bytes over; the lowest of those
};

/// Places the bodies one after the other. A body goes above all others only when no hole holds it. Nothing as soon as
/// the height reaches `below` or the deadline, if there is one, has passed. Takes O(p log p) for p pairs of pieces that
/// are live at once (count_pairs), or O(n^2) for n pieces where that is less. REQUIRES: `order` names each body once,
/// the fixed ones first, and these do not collide (check_fixed).
std::optional<Placement> place_in_order(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                        Deadline* deadline);

/// A whole plan, each space by itself, no candidate taken.
/// InvalidArgument for a malformed problem, and for two fixed buffers that collide. Capacities are not looked at.
Expected<Plan> plan_greedy(const Problem& problem, Key key, Fit fit);

}  // namespace berth::packing
