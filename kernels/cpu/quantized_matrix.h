// Quantised products where the processor multiplies matrices (AMX): 16 rows times 16 columns of 64 numbers of the depth
// in one instruction. Panels are the same as those of tiles (quantized_tile.h); signed inputs are multiplied as they
// are.
#pragma once

#include <cstdint>

namespace berth::cpu {

constexpr int64_t kMatrixRows = 16;   // of a tile, at most
constexpr int64_t kMatrixQuads = 16;  // of the depth that one instruction sees, at most
constexpr int64_t kMatrixTiles = 4;   // of sums: so many rows' times so many panels
constexpr int64_t kMatrixPanels = 2;  // at most

/// Up to four tiles of sums: as many of rows, of the same height, which may overlap, times one panel, or two times two.
struct QuantizedBlock {
  int64_t tiles = 1, panels = 1;  // tiles: of rows
  // The depth is some runs of `quads` times four bytes, of each row of the input; rows are a_step bytes apart.
  const uint8_t* const* a = nullptr;  // [tile][run]: of its first row
  int64_t runs = 1;
  int64_t quads = 0;
  int64_t a_step = 0;
  bool signed_input = false;
  const int8_t* b = nullptr;  // the first panel; the next is panel_step bytes on
  int64_t panel_step = 0;
  int32_t* sums[kMatrixTiles] = {};  // of each tile, [row][column of all panels]
  int64_t sums_row = 0;
};

struct QuantizedMatrix {
  /// Sets this thread's registers up for tiles of so many rows, and for runs of so many quads.
  void (*configure)(int64_t height, int64_t quads) = nullptr;
  /// REQUIRES: configure() for this height and these quads, on this thread.
  void (*multiply)(const QuantizedBlock& block) = nullptr;
  /// Gives the registers back.
  void (*release)() = nullptr;
};

#if defined(__x86_64__)
extern const QuantizedMatrix kMatrixAmx;  // where has_byte_matrices() says so (matrix_products.h)
#endif

/// This thread's registers: set up when they are first needed, given back at the end.
class MatrixRegisters {
 public:
  explicit MatrixRegisters(const QuantizedMatrix* matrix) : matrix_(matrix) {}
  ~MatrixRegisters() {
    if (height_ != 0) matrix_->release();
  }
  MatrixRegisters(const MatrixRegisters&) = delete;
  MatrixRegisters& operator=(const MatrixRegisters&) = delete;

  /// REQUIRES: there is a matrix.
  void set_up(int64_t height, int64_t quads) {
    if (height == height_ && quads == quads_) return;
    matrix_->configure(height, quads);
    height_ = height;
    quads_ = quads;
  }

 private:
  const QuantizedMatrix* matrix_;
  int64_t height_ = 0, quads_ = 0;
};

}  // namespace berth::cpu
