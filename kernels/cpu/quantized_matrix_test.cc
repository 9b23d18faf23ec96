// Products by matrices of the processor. The fears: rows that no tile has, or that two have finished; depths that do
// not divide into steps; registers that a thread keeps.
#include "kernels/cpu/quantized_matrix.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/matrix_testing.h"
#include "kernels/cpu/quantized_matrix_rows.h"
#include "kernels/cpu/quantized_tile.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::cpu {
namespace {

TEST(MatrixRows, EveryRowIsInATileAndNoTileIsBeyondItsLine) {
  for (int64_t lines = 1; lines <= 5; ++lines) {
    for (int64_t pixels = 1; pixels <= 200; ++pixels) {
      const MatrixRows cut(lines, pixels);
      ASSERT_LE(cut.height(), kMatrixRows);
      int64_t done = 0;
      for (int64_t tile = 0; tile < cut.count(); ++tile) {
        ASSERT_LE(cut.pixel_of(tile) + cut.height(), pixels);
        const int64_t first = cut.row_of(tile);
        ASSERT_LE(first, done) << lines << " lines of " << pixels << ", tile " << tile;
        ASSERT_GT(first + cut.height(), done);
        done = first + cut.height();
      }
      ASSERT_EQ(done, lines * pixels);
    }
  }
}

#if BERTH_QUANTIZED_AVX512

// A block of random bytes, and what its sums should be.
class Block {
 public:
  Block(std::mt19937& random, int64_t tiles, int64_t panels)
      : height_(number(random, 1, kMatrixRows)), a_step_(number(random, 0, 9)) {
    block_.tiles = tiles;
    block_.panels = panels;
    block_.runs = number(random, 1, 4);
    block_.quads = number(random, 1, 70);
    block_.signed_input = number(random, 0, 1) == 0;
    a_step_ += block_.quads * kQuad;
    block_.a_step = a_step_;
    const int64_t tile_bytes = (height_ - 1) * a_step_ + block_.quads * kQuad;
    fill(random, tiles * block_.runs * tile_bytes, &input_);
    block_.panel_step = block_.runs * block_.quads * kQuadBytes;
    fill(random, panels * block_.panel_step, &weight_);
    // The last number is the last that may be read.
    for (int64_t i = 0; i < tiles * block_.runs; ++i) runs_.push_back(input_.data() + i * tile_bytes);
    sums_.resize(tiles * height_ * columns());
    for (int64_t tile = 0; tile < tiles; ++tile) block_.sums[tile] = sums_.data() + tile * height_ * columns();
    block_.sums_row = columns();
    block_.a = runs_.data();
    block_.b = reinterpret_cast<const int8_t*>(weight_.data());
  }

  int64_t columns() const { return block_.panels * kPanelColumns; }
  void run() {
    MatrixRegisters registers(&kMatrixAmx);
    registers.set_up(height_, block_.quads);
    kMatrixAmx.multiply(block_);
  }
  void expect_exact() const {
    for (int64_t tile = 0; tile < block_.tiles; ++tile) {
      for (int64_t row = 0; row < height_; ++row) {
        for (int64_t c = 0; c < columns(); ++c) {
          ASSERT_EQ(block_.sums[tile][row * columns() + c], sum_of(tile, row, c))
              << block_.quads << " quads, " << block_.runs << " runs, tile " << tile << ", row " << row << " of "
              << height_ << ", column " << c;
        }
      }
    }
  }

 private:
  static int64_t number(std::mt19937& random, int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  static void fill(std::mt19937& random, int64_t bytes, std::vector<uint8_t>* to) {
    to->resize(bytes);
    for (uint8_t& byte : *to) byte = static_cast<uint8_t>(random());
  }
  int32_t sum_of(int64_t tile, int64_t row, int64_t column) const {
    int32_t sum = 0;
    const int64_t depth = block_.quads * kQuad;
    for (int64_t run = 0; run < block_.runs; ++run) {
      for (int64_t k = 0; k < depth; ++k) {
        const uint8_t byte = runs_[tile * block_.runs + run][row * a_step_ + k];
        const int64_t quad = run * block_.quads + k / kQuad;
        const int64_t at =
            column / kPanelColumns * block_.panel_step + quad * kQuadBytes + column % kPanelColumns * kQuad + k % kQuad;
        sum += int32_t{block_.b[at]} * (block_.signed_input ? static_cast<int8_t>(byte) : byte);
      }
    }
    return sum;
  }

  QuantizedBlock block_;
  int64_t height_, a_step_;
  std::vector<uint8_t> input_, weight_;
  std::vector<const uint8_t*> runs_;
  std::vector<int32_t> sums_;
};

TEST(QuantizedMatrix, SumsAreExactForEveryShapeOfBlock) {
  if (!has_byte_matrices()) GTEST_SKIP() << "the processor has no such registers";
  testing::for_each_seed(20, [](unsigned seed) {
    std::mt19937 random(seed);
    for (int64_t panels = 1; panels <= kMatrixPanels; ++panels) {
      for (int64_t tiles = 1; tiles <= kMatrixTiles / panels; ++tiles) {
        Block block(random, tiles, panels);
        block.run();
        block.expect_exact();
      }
    }
  });
}

TEST(QuantizedMatrix, AThreadKeepsNoRegisters) {
  if (!has_byte_matrices()) GTEST_SKIP() << "the processor has no such registers";
  std::mt19937 random(1);
  kMatrixAmx.configure(1, 1);
  Block block(random, 2, 2);
  block.run();
  EXPECT_FALSE(matrices_are_in_use());
}

#endif

// Of 50 rows two are in two tiles.
TEST(QuantizedMatrix, AResidualMayLieWhereTheResultGoes) {
  constexpr char kName[] = "berth::quantized_linear.out";
  constexpr size_t kWeightArgument = 3;
  std::mt19937 random(3);
  for (const int32_t rows : {17, 33, 50, 200}) {
    testing::QuantizedCase c;
    c.input = testing::Array(DType::kI8, {rows, 64});
    c.weight = testing::Array(DType::kI8, {64, 40});
    c.scale = testing::f32({1}, {1.0 / 4096});
    c.residual = testing::Array(DType::kI8, {rows, 40});
    c.out = testing::Array(DType::kI8, {rows, 40});
    c.out_scale = 1.7;
    c.out_min = -128;
    c.out_max = 127;
    for (const testing::Array* array : {&c.input, &c.weight, &*c.residual}) {
      uint8_t* const data = array->tensor().data<uint8_t>();
      for (int64_t i = 0; i < array->tensor().numel(); ++i) data[i] = static_cast<uint8_t>(random());
    }
    ASSERT_EQ(call(kernel_of(portable::kernels(), kName), c.args(), {}, 1).message, "");
    GuardedMemory memory(random);
    const auto outcome = call_guarded(kName, c.args(*c.residual, c.weight, ""), {kWeightArgument}, 1, memory);
    ASSERT_EQ(outcome.message, "");
    ASSERT_EQ(testing::first_difference(c.out, *c.residual), "") << rows << " rows";
  }
}

}  // namespace
}  // namespace berth::cpu
