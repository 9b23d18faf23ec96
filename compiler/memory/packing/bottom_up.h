// Bottom up: always the lowest place that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/placement.h"
#include "compiler/memory/packing/search_options.h"

namespace berth::packing {

/// Puts a body where it can lie lowest of all bodies that are left, above what is placed and alive with it; among equal
/// places the first in `order` goes. What the exact search does, without ever looking ahead or back.
/// Needs about 64 comparisons for each block of 64 bodies that a body meets. Nothing as soon as the height reaches
/// `below` or the deadline, if there is one, has passed. REQUIRES: layout.rectangular(), and no body is fixed.
std::optional<Placement> place_bottom_up(const Layout& layout, const std::vector<int32_t>& order, int64_t below,
                                         Deadline* deadline);

/// The bodies by a ranking of search_options.h.
std::vector<int32_t> order_by_ranking(const Layout& layout, const SearchOptions& ranking);

}  // namespace berth::packing
