// Peaks: the runs of sections in which most bytes are live.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// A run of sections [lower, upper), and the bodies that are live there.
struct Peak {
  int32_t lower = 0;
  int32_t upper = 0;
  int32_t first = 0;  // the first section of a body of the core
  int32_t reach = 0;  // where the last of them dies
  std::vector<int32_t> core;
};

/// The peaks of the sections that are `full`, in order of time: full sections that one body touches, or whose cores
/// meet, are one. `by_birth`: all bodies by their first section. REQUIRES: layout.rectangular().
std::vector<Peak> find_peaks(const Layout& layout, const std::vector<int32_t>& by_birth,
                             const std::vector<uint8_t>& full);

/// The bodies of the core alone, within the peak: what lies outside of it keeps no bodies apart.
Layout core_layout(const Layout& layout, const Peak& peak);

}  // namespace berth::packing
