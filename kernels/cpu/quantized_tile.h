// The innermost part of quantised products: tiles of 32-bit sums of products of bytes, and what happens to the sums.
//
// A tile is some rows of the input times one, two or four panels of the weight. A panel is 16 columns:
// [quad][column][4] bytes, four numbers of the depth after each other. The input's bytes are unsigned, the weight's
// signed: signed inputs are moved by 128 on their way (`flip`), and the columns' sums make up for it. Sums wrap around,
// and are exact otherwise, on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantized_matrix.h"
#include "kernels/cpu/quantized_quotient.h"
#include "kernels/cpu/quantized_words.h"
#include "kernels/portable/fused_quantized.h"
#include "kernels/portable/instruction_sets.h"

namespace berth::cpu {

constexpr int64_t kPanelColumns = 16;
constexpr int64_t kQuad = 4;
constexpr int64_t kQuadBytes = kPanelColumns * kQuad;  // of a panel
constexpr int kMaxTileHeight = 14;
constexpr int kMaxTilePanels = 4;

struct QuantizedTile {
  // The depth is some runs of `quads` times four bytes, of each row of the input; rows are a_step bytes apart.
  const uint8_t* const* a = nullptr;  // of the first row: where each run begins
  int64_t runs = 1;
  int64_t quads = 0;
  int64_t a_step = 0;
  uint32_t flip = 0;          // 0x80808080 for signed inputs
  const int8_t* b = nullptr;  // the first panel; the next is panel_step bytes on
  int64_t panel_step = 0;
  int64_t ahead = 0;        // bytes to the weights that are read after these, and are to be fetched; 0: they are near
  int32_t* sums = nullptr;  // [row][column of all panels]
};

/// What becomes of sums; all arrays have a number for each column of a panel, those that fill it up too.
struct QuantizedFinish {
  const portable::QuantizedProduct* product = nullptr;
  const int32_t* start = nullptr;   // added to the sums: the bias, and what one zero point takes
  const float* scale = nullptr;     // with the input's, if there is one for all rows
  const float* bias = nullptr;      // may be null
  const int32_t* zeros = nullptr;   // the weight's zero points; null: all are 0
  const int32_t* totals = nullptr;  // sums of the weight's columns; null: `start` has what they take
  // Of a depthwise convolution: the same as those without `turned`, in the order of its weights.
  const int32_t* turned_start = nullptr;
  const float* turned_scale = nullptr;
  const float* turned_bias = nullptr;
  int32_t input_shift = 0;          // what tiles add to inputs
  QuantizedQuotients quotients;     // exact only where nothing that is divided is infinite or NaN
  bool row_scales = false;          // the input has a scale a row, which `scale` lacks
  bool in_registers = true;         // the activation is none, or keeps numbers within two bounds
  portable::Activation activation;  // the product's where it is done in registers
};

/// Whether the same happens to all rows.
inline bool is_uniform(const QuantizedFinish& f) {
  return f.in_registers && f.totals == nullptr && f.zeros == nullptr && !f.row_scales;
}
/// The same, and makes bytes of them.
inline bool is_usual(const QuantizedFinish& f) { return is_uniform(f) && f.product->out->dtype() != DType::kF32; }

/// Part of some rows of the result. Pointers are to their first element; steps from column to column are in elements,
/// those from row to row in bytes, but for the sums.
struct QuantizedRows {
  const int32_t* sums = nullptr;
  int64_t sums_row = 0;
  int64_t rows = 1;                 // at most kMaxTileHeight, but where it is_usual()
  int64_t column = 0, count = 0;    // column: in the arrays of QuantizedFinish. At most kMaxTilePanels panels
  int64_t row = 0;                  // of the input's scales and zero points
  const int32_t* totals = nullptr;  // sum of (x - input_zero) over each row; of use with the weight's zeros
  uint8_t* out = nullptr;
  int64_t out_step = 1, out_row = 0;
  const uint8_t* residual = nullptr;
  int64_t residual_step = 1, residual_row = 0;
};

/// Channels of a block of a depthwise weight.
constexpr int64_t kDepthwiseChannels = 64;
constexpr int64_t kMaxDepthwiseTaps = 128;

/// What a pixel of a depthwise convolution sees of at most a block of channels.
struct QuantizedWindow {
  const uint8_t* const* taps = nullptr;  // four for each quad; those behind the last have weights of 0
  int64_t offset = 0;                    // from each of them to the first channel
  int64_t channels = 0;
  const int8_t* weight = nullptr;  // of the block
  int64_t quads = 0;
  uint32_t flip = 0;
};

/// The same of some pixels side by side, whose results' rows follow each other.
struct QuantizedWindows {
  const uint8_t* const* taps = nullptr;  // of the first pixel
  int64_t taps_step = 0;                 // pointers, to those of the next
  int64_t pixels = 0;
  int64_t offset = 0;  // of the first channel, in inputs and in the arrays of QuantizedFinish
  int64_t channels = 0;
  const int8_t* weight = nullptr;
  int64_t quads = 0;
  uint32_t flip = 0;
  uint8_t* out = nullptr;  // at the first channel; channels side by side
  int64_t out_row = 0;     // bytes
};

/// A line of the result of a depthwise convolution whose windows are of three taps, at most three of them below each
/// other.
struct QuantizedLine {
  // What each row of taps sees: column 0, at the first channel, and the bytes to the next column, 0 in padding. Where
  // the window has fewer rows, the others are any that can be read.
  const uint8_t* row[3] = {};
  int64_t step[3] = {};
  uint8_t* out = nullptr;  // at the first channel
};

/// Some of them, of at most a block of channels.
struct QuantizedLines {
  const QuantizedLine* lines = nullptr;
  int64_t count = 0;
  int64_t in = 0, out = 0;          // columns
  int64_t stride = 1, padding = 0;  // of columns; stride: 1 or 2
  int64_t out_step = 0;             // bytes to the next column
  const uint8_t* zeros = nullptr;   // what a column of padding holds
  int64_t offset = 0;               // of the first channel in the arrays of QuantizedFinish
  int64_t channels = 0;
  const int8_t* weight = nullptr;  // of the block: a quad has a row of taps
  int64_t quads = 0;
  uint32_t flip = 0;
};

/// Rows of the input times a few columns, whose weights lie side by side for each: [column][run][run_bytes()], the end
/// of each run filled up with zeros.
struct QuantizedFew {
  const uint8_t* const* a = nullptr;  // of the first row: where each run begins
  int64_t runs = 1;
  int64_t quads = 0;
  int64_t a_step = 0, rows = 0;
  uint32_t flip = 0;
  const uint8_t* weight = nullptr;
  int64_t columns = 0;
  int32_t* sums = nullptr;  // [row][column of a panel]; those behind `columns` stay

  int64_t run_bytes() const { return (quads * kQuad + 63) / 64 * 64; }
};

struct QuantizedFunctions {
  using Tile = void (*)(const QuantizedTile& tile);

  const char* name = nullptr;
  int max_rows[kMaxTilePanels + 1] = {};  // of a tile of so many panels; 0: there are none
  Tile tile[kMaxTilePanels + 1][kMaxTileHeight + 1] = {};
  void (*finish)(const QuantizedFinish& finish, const QuantizedRows& rows) = nullptr;
  /// Writes a sum for each of kDepthwiseChannels; those behind the last are of no use.
  void (*depthwise)(const QuantizedWindow& window, int32_t* sums) = nullptr;
  /// From bytes to results at once. REQUIRES: is_uniform(finish), and there is no residual. May be null, both.
  void (*depthwise_pixels)(const QuantizedFinish& finish, const QuantizedWindows& windows) = nullptr;
  void (*depthwise_lines)(const QuantizedFinish& finish, const QuantizedLines& lines) = nullptr;
  /// Sum of `count` bytes, each xor the lowest byte of `flip`.
  int32_t (*total)(const uint8_t* bytes, int64_t count, uint32_t flip) = nullptr;
  /// May be null.
  void (*few_columns)(const QuantizedFew& few) = nullptr;
  /// In place of tiles, and of moving signed inputs. May be null.
  const QuantizedMatrix* matrix = nullptr;
  /// In place of tiles where there are many rows. May be null.
  const QuantizedWords* words = nullptr;
  /// In place of windows of 3x3. May be null.
  const QuantizedWinogradFunctions* winograd = nullptr;
};

extern const QuantizedFunctions kQuantizedPlain;
#if defined(__x86_64__)
#define BERTH_QUANTIZED_AVX2 BERTH_WITH_AVX2
#define BERTH_QUANTIZED_AVX512 BERTH_WITH_AVX512
// Behind a list of AVX-512's parts: GCC uses half a register unless it is told otherwise; clang does not know the word.
#ifdef __clang__
#define BERTH_WHOLE_REGISTERS ""
#else
#define BERTH_WHOLE_REGISTERS ",prefer-vector-width=512"
#endif
extern const QuantizedFunctions kQuantizedAvx2;
extern const QuantizedFunctions kQuantizedAvxVnni;
extern const QuantizedFunctions kQuantizedAvx512;
extern const QuantizedFunctions kQuantizedVnni;
extern const QuantizedFunctions kQuantizedAmx;
#endif

/// The best for this processor, and no more than limit_simd() (simd_limit.h) allows. Not for every call.
const QuantizedFunctions& quantized_functions();

/// For tests: all that this processor has. Returns how many.
constexpr int kMostQuantizedFunctions = 6;
int all_quantized_functions(const QuantizedFunctions* (&functions)[kMostQuantizedFunctions]);
/// For tests: from now on, in this process; null: the best.
void set_quantized_functions(const QuantizedFunctions* functions);

}  // namespace berth::cpu
