#include "compiler/memory/packing/large/peaks.h"

#include <algorithm>

namespace berth::packing {

std::vector<Peak> find_peaks(const Layout& layout, const std::vector<int32_t>& by_birth,
                             const std::vector<uint8_t>& full) {
  const auto piece_at = [&](size_t k) -> const Piece& { return layout.pieces[by_birth[k]]; };
  std::vector<Peak> peaks;
  size_t next = 0;    // of by_birth: the first that is born later
  size_t oldest = 0;  // the first that is not dead
  int32_t reach = 0;  // the last death of those that are born
  for (int32_t s = 0; s < layout.sections; ++s) {
    if (full[s] == 0) continue;
    for (; next < by_birth.size() && piece_at(next).lower <= s; ++next) reach = std::max(reach, piece_at(next).upper);
    while (piece_at(oldest).upper <= s) ++oldest;  // a section is never empty
    const int32_t first = piece_at(oldest).lower;
    if (peaks.empty() || first >= peaks.back().reach) peaks.push_back({s, s + 1, first, reach, {}});
    peaks.back().upper = s + 1;
    peaks.back().reach = std::max(peaks.back().reach, reach);
  }
  size_t at = 0;
  for (const int32_t b : by_birth) {
    const Piece& piece = layout.pieces[b];
    while (at < peaks.size() && peaks[at].upper <= piece.lower) ++at;
    if (at < peaks.size() && piece.upper > peaks[at].lower) peaks[at].core.push_back(b);
  }
  return peaks;
}

Layout core_layout(const Layout& layout, const Peak& peak) {
  Layout core;
  for (const int32_t b : peak.core) {
    Body body = layout.bodies[b];
    body.begin = static_cast<int32_t>(core.pieces.size());
    body.end = body.begin + 1;
    Piece piece = layout.pieces[b];
    piece.lower = std::max(piece.lower, peak.lower) - peak.lower;
    piece.upper = std::min(piece.upper, peak.upper) - peak.lower;
    core.bodies.push_back(body);
    core.pieces.push_back(piece);
  }
  core.sections = peak.upper - peak.lower;
  return core;
}

}  // namespace berth::packing
