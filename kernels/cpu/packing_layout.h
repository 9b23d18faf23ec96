// WeightLayout: in which order a packed weight lies in memory. It says enough to undo the packing on any machine.
//
// A packed weight has dimensions of its own: those of the dense one, perhaps split (a grouped convolution's output
// channels are groups and channels of a group) or in another order (a product's weight turned). Each has the stride
// with which it runs through the dense weight, and the stride with which it runs through the packed one. Some are cut
// into blocks that lie innermost: with blocks [16, 4] of dimensions [0, 1], sixteen positions of dimension 0 hold four
// of dimension 1 each; the stride of a dimension is then that from one block to the next, and its last block is filled
// up with zeros. These are the blocked formats of oneDNN ("Understanding Memory Formats" in its guide).
//
// As text, in the argument `packing` of berth::conv and berth::linear:
//
//     onednn 3.2.0 avx512_core [64,3,7,7] dims [64,3,7,7] from [147,49,7,1] strides [2352,49,7,1] blocks [16] of [0]
//
// who asked for it, its version and instruction set (for people and logs: what counts is what follows), the dense
// weight's sizes, the packed dimensions' sizes, dense strides and packed strides, the blocks and whose they are.
//
// Behind the packed weight there may be what an engine computes from it, ` then winograd4 [147456]`: so many floats,
// from a multiple of 16 on. In the file they are shared by all processes that map it; computed at load each has its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/arguments.h"
#include "runtime/value.h"

namespace berth::cpu {

/// What an engine computes from a packed weight. A name stands for the numbers to the last bit: code that computes
/// others gives them another name.
enum class Derived : uint8_t { kNothing, kWinograd2, kWinograd4 };

struct WeightLayout {
  static constexpr int kMaxDims = 6;
  static constexpr int kMaxBlocks = 6;

  int dims = 0;
  int64_t size[kMaxDims] = {};
  int64_t from[kMaxDims] = {};    // stride in the dense weight
  int64_t stride[kMaxDims] = {};  // in the packed one, from block to block
  int blocks = 0;
  int64_t block[kMaxBlocks] = {};
  int block_dim[kMaxBlocks] = {};
  Derived derived = Derived::kNothing;
  int64_t derived_numel = 0;

  /// Positions of dimension `d` that lie in one block.
  int64_t block_of(int d) const;
  /// Elements of the dense weight.
  int64_t numel() const;
  /// Elements of the packed memory, what fills up blocks included.
  int64_t packed_numel() const;
  /// Elements before those that are derived, and with them.
  int64_t derived_offset() const;
  int64_t all_numel() const { return derived_numel == 0 ? packed_numel() : derived_offset() + derived_numel; }
};

/// Whether they have the elements in the same places; dimensions of one position do not count, nor does what is
/// derived.
bool same_layout(const WeightLayout& a, const WeightLayout& b);
/// Whether they have the same behind them, and anything.
bool same_derived(const WeightLayout& a, const WeightLayout& b);

/// packed[…] = dense[…] and zeros around it; dense[…] = packed[…]. `packed` has packed_numel() elements, `dense`
/// numel().
void pack(const WeightLayout& layout, const float* dense, float* packed);
void unpack(const WeightLayout& layout, const float* packed, float* dense);
/// The same for elements of `size` bytes, 4 or 2; `dense` may be at any address where it is packed.
void pack(const WeightLayout& layout, const void* dense, void* packed, size_t size);
void unpack(const WeightLayout& layout, const void* packed, void* dense, size_t size);

/// The sizes of a dense weight.
struct DenseSizes {
  static constexpr int kMaxRank = 5;
  int rank = 0;
  int32_t size[kMaxRank] = {};

  int64_t numel() const;
};

/// `source` is everything before the sizes: "onednn 3.2.0 avx512_core".
std::string packing_text(const std::string& source, const DenseSizes& dense, const WeightLayout& layout);

/// Reads such a text. False unless every element of a dense weight of these sizes has one position in the packed one,
/// that one has at most 2^40 elements, and so has what is derived.
bool read_packing(StringRef text, DenseSizes* dense, WeightLayout* layout);

}  // namespace berth::cpu
