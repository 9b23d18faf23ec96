// Tensors that the compiler knows: constants, and what it can compute from constants alone. They are computed aside, so
// that looking at one leaves nothing in the module.
#pragma once

#include <optional>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// A tensor of fixed sizes in row-major order with its elements. It need not be one of the module's constants.
struct KnownTensor {
  ir::TensorType type;
  ir::Blob blob;

  std::vector<int64_t> sizes() const;
  /// Its elements as numbers of f32.
  std::vector<float> floats() const;
};

/// One of f32. REQUIRES: `values` has as many elements as `sizes` say.
KnownTensor known_floats(const std::vector<int64_t>& sizes, const std::vector<float>& values);

/// Computes what depends on constants alone. A reader visits few values, which it counts down: use one for all that
/// belongs together, such as a weight with its scales, so that a graph with many paths to the same value takes no
/// longer.
class KnownReader {
 public:
  explicit KnownReader(Context& context) : context_(context) {}

  /// Counts a visit. False when there were too many.
  bool visit() { return --left_ >= 0; }

  /// What `value` is; nothing where it depends on an input, on chance or on a region, or after too many visits.
  std::optional<KnownTensor> known(ir::ValueId value);

  /// The result of `node` on other tensors, one for each value among its arguments; nothing where it has none of fixed
  /// sizes, or the evaluation fails.
  std::optional<KnownTensor> run(const ir::Node& node, const std::vector<KnownTensor>& inputs) const;

 private:
  // Of more, those that several paths lead to would be visited again and again.
  static constexpr int kMostVisits = 64;

  Context& context_;
  int left_ = kMostVisits;
};

}  // namespace berth::fuse
