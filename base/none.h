// None: the alternative of a variant that is nothing.
#pragma once

namespace berth {

/// Copied by a constructor of its own, so that a variant that has it knows when it holds none of its alternatives: in
/// libstdc++ (seen in 12) one of texts, lists and trivial types alone believes that it always holds one, and destroys
/// what was never made when a copy fails to allocate.
struct None {
  None() = default;
  None(const None&) noexcept {}
  None& operator=(const None&) = default;

  friend bool operator==(const None&, const None&) { return true; }
  friend bool operator!=(const None&, const None&) { return false; }
};

}  // namespace berth
