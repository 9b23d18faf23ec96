// What move_permutes moves operators before: permutations and views of what convolutions give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

using DimOrder = std::vector<int64_t>;

/// What moves `base` and changes no element: a permutation, or a view, which has no order.
struct Moved {
  ir::ValueId base;
  DimOrder order;
  bool valid() const { return base.valid(); }
  bool is_view() const { return order.empty(); }
};

/// What `node`, a permutation or a view of known sizes, moves; not valid for other nodes, null among them.
Moved moved(const Context& context, const ir::Node* node);

/// How many dimensions of one element a view has before those of `base`; -1 for other views.
int64_t leading_ones(const Context& context, const Moved& view, ir::ValueId result);

/// Whether `value` came out of a convolution: as it is, changed element by element, padded, cut, viewed, or normed over
/// groups of channels, with its channels in another place perhaps.
bool is_convolved(const Context& context, ir::ValueId value);

/// `value` with its dimensions in this order.
Expected<ir::ValueId> permuted_by(ir::Builder& build, ir::ValueId value, const DimOrder& order,
                                  const std::string& source);

}  // namespace berth::fuse
