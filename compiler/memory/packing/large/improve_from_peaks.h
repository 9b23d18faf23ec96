// Packs the sections of peak memory with all planners first, then sweeps outward from them.
//
// This folder serves problems of more than kManyBodies bodies alone, which no model of the suite has (the largest, an
// LSTM as ExecuTorch exports it, has 1937 buffers); nothing outside of it but portfolio.cc knows of it. What it buys,
// by `long_problem()` (bench/README.md): per cent over the lower bound, the worst of the same seeds,
//
//     buffers      without     with
//        5000         0.87     0.00
//       10000         0.88     0.08
//      100000         4.70     0.00
//     1000000         1.35     0.00     in half the time
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// More bodies are worth it.
inline constexpr size_t kManyBodies = 4000;

/// An Improver, but for its own argument, for huge problems of which few steps are nearly full.
///
/// A peak is a run of sections around such whose load is at least a share of the bound; its core is what is alive in
/// it. Between two peaks lies a valley. Cores are placed by themselves, equal ones once; then the valleys between them
/// (valleys.h).
///
///     load  |      #                 #
///           |     ###       #       ###
///           |  ## ### #  # ### #    ####
///           +----|core|---------|--|core|----> time
///            <----     ----->    <--     -->
///
/// Shares are tried from high to low, until the bound is nearly met; then sections in which something lies too high
/// count as full ones too, again and again as long as that helps. Cores of many bodies are placed in the same way.
/// `improver` places the cores, within `effort`, whose `local_search` is halved after each core that does not stay
/// below the bound. REQUIRES: layout.rectangular(), no body is fixed, each may lie at 0.
BoundedPlacement improve_from_peaks(const Layout& layout, Improver improver, BoundedPlacement best, Effort* effort);

/// Whether the layout is large enough for it, and allowed.
bool has_peaks(const Layout& layout);

}  // namespace berth::packing
