#include "compiler/memory/packing/body_constraints.h"

#include <algorithm>

namespace berth::packing {

BodyConstraints BodyConstraints::of_buffer(int64_t alignment, int64_t shift, int64_t fixed) {
  BodyConstraints out;
  out.alignment = alignment;
  out.shift = shift;
  out.least_shift = std::min<int64_t>(0, shift);
  out.any_fixed = fixed != kAnywhere;
  out.fixed = out.any_fixed ? fixed - shift : 0;
  return out;
}

BodyConstraints BodyConstraints::joined(const BodyConstraints& other, int64_t moved_by) const {
  BodyConstraints out = *this;
  const int64_t other_shift = other.shift + moved_by;
  const int64_t other_fixed = other.fixed - moved_by;
  // Alignments are powers of two: buffers of a body agree when those with the largest one do.
  out.possible = possible && other.possible && (other_shift - shift) % std::min(alignment, other.alignment) == 0 &&
                 (!any_fixed || !other.any_fixed || fixed == other_fixed);
  out.least_shift = std::min(least_shift, other.least_shift + moved_by);
  if (other.alignment > alignment) {
    out.alignment = other.alignment;
    out.shift = other_shift;
  }
  if (other.any_fixed && !any_fixed) {
    out.any_fixed = true;
    out.fixed = other_fixed;
  }
  return out;
}

std::optional<AllowedOffsets> BodyConstraints::offsets() const {
  if (!possible) return std::nullopt;
  AllowedOffsets out;
  out.alignment = alignment;
  out.shift = shift;
  out.lowest = shift - least_shift;
  out.fixed = any_fixed ? fixed + shift : kAnywhere;
  if (any_fixed && (out.fixed < out.lowest || out.fixed % out.alignment != 0)) return std::nullopt;
  return out;
}

}  // namespace berth::packing
