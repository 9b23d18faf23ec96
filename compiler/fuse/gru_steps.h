// One step of a GRU as models write it out, for the passes that make one operator of it: fuse_gru.h shows it.
#pragma once

#include <map>

#include "compiler/fuse/gates.h"

namespace berth::fuse {

struct GruStep {
  ir::ValueId input;   // the input's part of the gates: z, r, n, each `size` columns, or r, z, n
  ir::ValueId hidden;  // before
  ir::ValueId bias;    // a constant [3 * size]; may be invalid
  // Constants: [size, 3 * size]; or [size, 2 * size] and [size, size], that of n, where the reset gate comes before the
  // product.
  ir::ValueId weight, candidate_weight;
  bool reset_first = false;
  bool linear_before_reset = false;
  ir::ValueId new_hidden;

  int64_t size(const Context& context) const { return context.type(new_hidden).shape.back().value; }
  /// Whether the two compute the same of other states.
  bool same_layer(const GruStep& other) const;
};

/// `node` as what gives the hidden state of a step. Its sizes are known.
std::optional<GruStep> match_gru_step(const Context& context, const ir::Node& node);

/// `node` as a step whose hidden state before is a constant, so that the state's part was computed by the compiler: of
/// the layer of `next`, the step behind it.
std::optional<GruStep> match_first_gru_step(const Context& context, const ir::Node& node, const GruStep& next);

/// Whether the target has a kernel of berth::gru: those of cpu and sim, so far.
inline bool has_gru(const targets::Target& target) { return takes_bytes(target); }

/// Makes layers, whose weights are written in blocks once each.
class GruWeights {
 public:
  explicit GruWeights(const Context& context) : context_(context) {}

  /// berth::gru, in the layer of `step`, on all rows of `gates`.
  Expected<ir::ValueId> layer(ir::Builder& build, const GruStep& step, ir::ValueId gates, ir::ValueId hidden,
                              bool reverse, const std::string& source);

 private:
  ir::ValueId in_blocks(ir::Builder& build, const GruStep& step);

  const Context& context_;
  std::map<std::pair<ir::ValueId, ir::ValueId>, ir::ValueId> made_;
};

/// [size, 3 * size], the columns of n last.
std::vector<float> dense_gru_weight(const Context& context, const GruStep& step);

}  // namespace berth::fuse
