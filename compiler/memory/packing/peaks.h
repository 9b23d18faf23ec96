// Packs the sections of peak memory with all planners first, then sweeps outward from them.
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// Lowers `best`, for huge problems of which few steps are nearly full.
///
/// A peak is a run of sections around such whose load is at least a share of the bound; its core is what is alive in
/// it. Between two peaks lies a valley. Cores are placed by themselves, equal ones once. Then two sweeps go through
/// each valley, one forward from the core on its left, one backward from the core on its right, and end in its emptiest
/// section; what lives across that comes last, into the tightest hole that is free all its life.
///
///     load  |      #                 #
///           |     ###       #       ###
///           |  ## ### #  # ### #    ####
///           +----|core|---------|--|core|----> time
///            <----     ----->    <--     -->
///
/// Shares are tried from high to low, until the bound is nearly met; then sections in which something lies too high
/// count as full ones too, again and again as long as that helps. Cores of many bodies are placed in the same way.
/// `improver` places the cores, within `effort`, whose `local_search` is halved after each core that does not stay below the
/// bound. REQUIRES: layout.rectangular(), no body is fixed, each may lie at 0.
BoundedPlacement improve_from_peaks(const Layout& layout, Improver improver, BoundedPlacement best, Effort* effort);

/// Whether it is worth while, and allowed.
bool has_peaks(const Layout& layout);

/// More bodies are worth it.
inline constexpr size_t kManyBodies = 4000;

}  // namespace berth::packing
