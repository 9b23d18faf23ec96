// Tiles (tiles.h) whose weights have 16 bits.
//
// bf16: weights and activations are bf16, their products and sums f32. Two elements of the depth lie side by side, as
// the instruction that multiplies pairs wants them (vdpbf16ps); an odd depth is filled up with zeros. What the weight
// is multiplied with is rounded to bf16 first, to the nearest and ties to even, in temporary memory: the pixels that a
// thread takes at a time where each is seen once, else the whole input. Without that instruction both are widened in
// registers, and the results differ in the order of summation alone; with it, denormal numbers count as zeros. Where
// the processor multiplies matrices, tiles of a few pixels and more are made of such products: panels have 32 columns
// then, of which the other functions take the calls of fewer pixels, and the padding of a window is part of the rounded
// input.
//
// An input of bf16 is what would have been rounded, and is read in place where pixels lie as they are multiplied. A
// result of bf16 is rounded tile by tile where matrices are multiplied, else a few strips at a time, out of memory on
// the stack: the bits are those that a reader of f32 would make.
//
// f16: weights are widened in registers, activations and products are f32. Matrix products alone; the weight of a
// convolution is widened when it is loaded (conv_choice.cc).
#pragma once

#include <memory>

#include "kernels/cpu/tiles.h"

namespace berth::cpu {

/// The functions of one instruction set.
struct PairFunctions {
  TileFunctions tiles;
  /// As tiles.run, with a result of bf16 in place of the job's; out_data is the residual, if there is one. Null where
  /// results are to be rounded with round_rows.
  void (*run_rounded)(const TileJob& job, uint16_t* out, int64_t panel, int64_t begin, int64_t end);
  /// Rounds rows of `columns` floats and stores as many numbers of bf16, and nothing behind them. Rows are `from_step`
  /// and `to_step` elements apart.
  void (*round_rows)(const float* from, int64_t from_step, int64_t rows, int64_t columns, uint16_t* to,
                     int64_t to_step);
  /// Rounds `count` floats and stores them as pairs in ceil(count / 2) floats, the last filled up with zero.
  void (*narrow)(const float* from, int64_t count, float* pairs);
  /// The same for each of `pixels` pixels of `depth` floats. REQUIRES: depth is odd.
  void (*narrow_pixels)(const float* from, int64_t pixels, int64_t depth, float* pairs);
};

/// The best functions for this processor that multiply registers; of no lanes below AVX2.
PairFunctions pair_functions();
/// Those that multiply matrices (tiles_matrix-inl.h, which says what they ask of a job); of no lanes where the
/// processor does not.
PairFunctions matrix_functions();
/// Those with weights of f16, for TileShape::kPlain alone; of no lanes below AVX2.
TileFunctions half_functions();

/// Whether this processor multiplies pairs of bf16.
bool has_bf16_products();
/// For tests: as if it did not. Must not be called while another thread loads a method.
void forbid_bf16_products(bool forbidden);

/// Null for what these tiles do not do: transposed convolutions, those of single channels, other layouts than
/// channels-last, and below AVX2. REQUIRES: spec.weight is bf16.
std::unique_ptr<EngineKind> bf16_tile_kind(const ConvSpec& spec, int threads);
std::unique_ptr<EngineKind> bf16_tile_kind(const LinearSpec& spec, int threads);

/// The same for f16; null too for a convolution that is not a matrix product, and on processors that do not widen f16.
std::unique_ptr<EngineKind> f16_tile_kind(const ConvSpec& spec);
std::unique_ptr<EngineKind> f16_tile_kind(const LinearSpec& spec);

}  // namespace berth::cpu
