// PlacesOf: where the elements of several tensors lie that a kernel walks over together. Private to
// backends/vulkan/kernels/.
#pragma once

#include "backends/vulkan/kernels/launch.h"

namespace berth::vulkan {

/// The stride along dimension `dim` of `rank` ones that `tensor` stretches to.
inline int64_t stretched_stride(const Tensor& tensor, int rank, int dim) {
  const int own = dim - (rank - tensor.rank());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

/// A walk over more tensors than portable::Walk has. Strides are those of the result, then of each input.
template <size_t kTensors>
struct PlacesOf {
  int rank = 0;
  int64_t sizes[kMaxRank];
  int64_t strides[kTensors][kMaxRank];

  /// All of `out`, in the order of its memory, and what the inputs stretch to; null ones stay where they are.
  static PlacesOf of(const Tensor& out, Span<const Tensor* const> inputs) {
    PlacesOf places;
    for (const uint8_t d : out.dim_order()) {
      int64_t steps[kTensors] = {out.stride(d)};
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] != nullptr) steps[k + 1] = stretched_stride(*inputs[k], out.rank(), d);
      }
      places.add(out.size(d), inputs.size() + 1, steps);
    }
    return places;
  }

  /// Puts a dimension inside those there are, merged with the one before where that is possible.
  void add(int64_t size, size_t tensors, const int64_t* of) {
    if (size == 1) return;
    bool merges = rank > 0;
    for (size_t k = 0; merges && k < tensors; ++k) merges = strides[k][rank - 1] == of[k] * size;
    if (!merges) sizes[rank++] = 1;
    sizes[rank - 1] *= size;
    for (size_t k = 0; k < tensors; ++k) strides[k][rank - 1] = of[k];
  }

  /// Whether element i of each tensor is the i-th of the walk.
  bool is_flat(size_t tensors) const {
    if (rank == 0) return true;
    for (size_t k = 0; k < tensors; ++k) {
      if (rank != 1 || strides[k][0] != 1) return false;
    }
    return true;
  }

  /// Gives the kernel its last numbers, none where all is flat, and asks for it.
  Error run(Launch& launch, size_t tensors, int64_t count) const {
    const int walked = is_flat(tensors) ? 0 : rank;
    for (int d = 0; d < walked; ++d) launch.number(sizes[d]);
    for (size_t k = 0; k < tensors; ++k) {
      for (int d = 0; d < walked; ++d) launch.number(strides[k][d]);
    }
    return launch.run(count);
  }
};

}  // namespace berth::vulkan
