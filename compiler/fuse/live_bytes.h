// LiveBytes: about how much memory a region takes at each of its nodes, in the order in which they stand: for passes
// that run before memory is planned, and ask where a plan's peak will be.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// Counted are tensors that the region reads, makes and gives, at their bounds: not constants, not twice what is seen
/// with other sizes or computed in the place of what it reads. Concatenations and slices count as copies.
class LiveBytes {
 public:
  LiveBytes(const Context& context, const ir::Graph& region);

  /// At the node `position` of the region; but for the tensors `without`.
  int64_t at(size_t position, const IdVector<ir::ValueId, bool>& without) const;
  /// Of all that are there at some of the nodes from `first` to `last`; but for these.
  int64_t within(size_t first, size_t last, const IdVector<ir::ValueId, bool>& without) const;

 private:
  struct Life {
    ir::ValueId value;
    int64_t bytes = 0;
    size_t first = 0, last = 0;
  };

  std::vector<Life> lives_;
};

}  // namespace berth::fuse
