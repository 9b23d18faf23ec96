// Rows out of packed weights, against the rows of what was packed, on memory with guarded ends. The fears: the last
// panel, which is narrower, the last word of a row, a number of the wrong sign, a row of another column, an index that
// is none, a text that is not the weight's. BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long.
#include "kernels/cpu/weight_rows.h"

#include <gtest/gtest.h>

#include "base/half.h"
#include "base/seeds_testing.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/packed_table.h"
#include "kernels/cpu/packing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

constexpr char kWeightRows[] = "berth::weight_rows.out";

int32_t size(int64_t n) { return static_cast<int32_t>(n); }

class WeightRowsCalls {
 public:
  explicit WeightRowsCalls(unsigned seed) : random_(seed), memory_(random_) {}

  void any() {
    depth_ = whole(0, 3) == 0 ? whole(200, 1300) : whole(1, 200);
    rows_ = whole(0, 2) == 0 ? 64 * whole(1, 5) : whole(1, 330);
    SCOPED_TRACE(std::to_string(rows_) + " rows of " + std::to_string(depth_));
    for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) elements(type);
    for (const int64_t bits : {8, 4}) numbers(bits);
  }

  int packed_elements() const { return packed_elements_; }

 private:
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  std::vector<uint8_t> bytes(int64_t count) {
    std::vector<uint8_t> made(count);
    for (uint8_t& byte : made) byte = static_cast<uint8_t>(random_());
    return made;
  }

  Array flat(DType dtype, Span<const uint8_t> from) {
    const Array array(dtype, {size(static_cast<int64_t>(from.size() / element_size(dtype)))});
    std::memcpy(array.tensor().raw(), from.data(), from.size());
    return memory_(array);
  }

  // `table` has rows_ rows of `width` elements of `dtype`, one after the other.
  void check(const Array& weight, int64_t bits, const char* form, const std::string& text, DType dtype, int64_t width,
             const std::vector<uint8_t>& table) {
    SCOPED_TRACE(text + ", " + std::to_string(bits) + " bits, " + form);
    const bool from_end = whole(0, 1) == 0, narrow = whole(0, 1) == 0;
    std::vector<double> indices;
    for (int64_t i = whole(0, 20); i >= 0; --i)
      indices.push_back(static_cast<double>(whole(from_end ? -rows_ : 0, rows_ - 1)));
    if (whole(0, 1) == 0) indices.push_back(static_cast<double>(rows_ - 1));
    const auto count = size(static_cast<int64_t>(indices.size()));
    const Array at = memory_(Array(narrow ? DType::kI32 : DType::kI64, {1, count}, indices));
    const Array out = memory_(Array(dtype, {1, count, size(width)}));
    const auto outcome = call_guarded(kWeightRows, {weight, at, from_end, bits, form, text.c_str(), out}, {0},
                                      static_cast<int>(whole(1, 3)), memory_);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    const int64_t row_bytes = width * static_cast<int64_t>(element_size(dtype));
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<int64_t>(indices[i]);
      const uint8_t* const want = &table[(row < 0 ? row + rows_ : row) * row_bytes];
      ASSERT_EQ(std::memcmp(out.tensor().data<uint8_t>() + i * row_bytes, want, row_bytes), 0) << "row " << row;
    }
    for (const int64_t wrong : {rows_, from_end ? -rows_ - 1 : int64_t{-1}}) {
      const Array one = memory_(Array(DType::kI64, {1}, {static_cast<double>(wrong)}));
      const Array nothing = memory_(Array(dtype, {1, size(width)}));
      EXPECT_EQ(
          call_guarded(kWeightRows, {weight, one, from_end, bits, form, text.c_str(), nothing}, {0}, 1, memory_).error,
          Error::kInvalidArgument);
    }
  }

  void elements(DType type) {
    const auto each = static_cast<int64_t>(element_size(type));
    const std::vector<uint8_t> dense = bytes(depth_ * rows_ * each);
    LinearToPack linear;
    linear.rows = whole(0, 1) == 0 ? 1 : 64;
    linear.depth = depth_;
    linear.columns = rows_;
    linear.weight_type = type;
    PackedWeight packed;
    if (!pack_linear(linear, dense.data(), "native", &packed)) return;
    ++packed_elements_;
    std::vector<uint8_t> table(dense.size());
    for (int64_t k = 0; k < depth_; ++k) {
      for (int64_t j = 0; j < rows_; ++j) {
        std::memcpy(&table[(j * depth_ + k) * each], &dense[(k * rows_ + j) * each], each);
      }
    }
    check(flat(type, {packed.bytes.data(), packed.bytes.size()}), 0, "", packed.text, type, depth_, table);
  }

  void numbers(int64_t bits) {
    const int64_t block = 32, blocks = (depth_ - 1) / block + 1;
    std::vector<uint8_t> dense = bytes((bits == 8 ? depth_ : (depth_ + 1) / 2) * rows_);
    const Array scales = random_array(random_, {size(blocks), size(rows_)});
    const bool half = whole(0, 1) == 0;
    float* const x = scales.tensor().data<float>();
    for (int64_t i = 0; half && i < blocks * rows_; ++i) x[i] = Half(x[i]);
    const std::vector<uint8_t> zeros = bytes(blocks * rows_);
    NarrowToPack linear;
    linear.depth = depth_;
    linear.columns = rows_;
    linear.bits = bits;
    linear.block = block;
    linear.weight = dense.data();
    linear.scales = scales.tensor().data<float>();
    linear.scale_rows = linear.zero_rows = blocks;
    linear.scale_columns = linear.zero_columns = rows_;
    linear.zeros = reinterpret_cast<const int8_t*>(zeros.data());
    PackedNarrow packed;
    if (!pack_narrow(linear, &packed)) return;
    const auto number = [&](int64_t j, int64_t k) {
      if (bits == 8) return int{static_cast<int8_t>(dense[k * rows_ + j])};
      return (dense[k / 2 * rows_ + j] >> k % 2 * 4 & 15) - 8;
    };
    const int low = bits == 8 ? 128 : 8;
    std::vector<uint8_t> i8, u8, pairs, own_scales, own_halves, own_zeros;
    for (int64_t j = 0; j < rows_; ++j) {
      for (int64_t k = 0; k < depth_; ++k) {
        i8.push_back(static_cast<uint8_t>(number(j, k)));
        u8.push_back(static_cast<uint8_t>(number(j, k) + low));
        if (k % 2 == 1) pairs.push_back(static_cast<uint8_t>((number(j, k - 1) + low) | (number(j, k) + low) << 4));
      }
      for (int64_t b = 0; b < blocks; ++b) {
        const auto* const scale = scales.tensor().data<uint8_t>() + (b * rows_ + j) * sizeof(float);
        own_scales.insert(own_scales.end(), scale, scale + sizeof(float));
        const uint16_t bits_of_half = Half(x[b * rows_ + j]).bits;
        own_halves.insert(own_halves.end(),
                          {static_cast<uint8_t>(bits_of_half & 255), static_cast<uint8_t>(bits_of_half >> 8)});
        own_zeros.push_back(zeros[b * rows_ + j]);
      }
    }
    const Array weight = flat(bits == 8 ? DType::kI8 : DType::kU8, {packed.weight.data(), packed.weight.size()});
    check(weight, bits, "i8", packed.text, DType::kI8, depth_, i8);
    check(weight, bits, "u8", packed.text, DType::kU8, depth_, u8);
    if (bits == 4 && depth_ % 2 == 0) check(weight, 4, "pairs", packed.text, DType::kU8, depth_ / 2, pairs);
    NarrowLayout sizes;
    sizes.depth = blocks;
    sizes.columns = rows_;
    ASSERT_EQ(packed.scale_type, half ? DType::kF16 : DType::kF32);
    const Array packed_scales = flat(packed.scale_type, {packed.scales.data(), packed.scales.size()});
    check(packed_scales, half ? 16 : 0, half ? "f32" : "", sizes.text(), DType::kF32, blocks, own_scales);
    if (half) check(packed_scales, 0, "", sizes.text(), DType::kF16, blocks, own_halves);
    check(flat(DType::kI8, {packed.zeros.data(), packed.zeros.size()}), 0, "", sizes.text(), DType::kI8, blocks,
          own_zeros);
  }

  std::mt19937 random_;
  GuardedMemory memory_;
  int64_t depth_ = 1, rows_ = 1;
  int packed_elements_ = 0;
};

TEST(WeightRows, AreTheRowsThatWerePacked) {
  int packed = 0;
  testing::for_each_seed(40, [&](unsigned seed) {
    WeightRowsCalls cases(seed);
    cases.any();
    packed += cases.packed_elements();
  });
  EXPECT_GT(packed, 0) << "nothing was packed for products of floats";
}

TEST(WeightRows, DenseOnesAreThePortableKernels) {
  const Array weight(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array at = testing::i64({2}, {2, 0});
  const Array out = testing::f32({2, 2});
  ASSERT_EQ(testing::run(weight_rows_out, {weight, at, false, 0, "", "", out}), Error::kOk);
  EXPECT_EQ(out.values(), (std::vector<double>{3, 6, 1, 4}));
}

// What a file may say.
TEST(WeightRows, ATextThatIsNotTheWeightsIsRefused) {
  std::mt19937 random(3);
  GuardedMemory memory(random);
  const auto loads = [&](DType type, int elements, int bits, const char* form, const char* text,
                         DType out = DType::kF32, int width = 8) {
    const Array weight = memory(Array(type, {elements}));
    const Array at = testing::i64({1}, {0});
    const Array result(out, {1, width});
    return call_guarded(kWeightRows, {weight, at, false, bits, form, text, result}, {0}, 1, memory).error;
  };
  EXPECT_EQ(loads(DType::kI8, 128, 8, "i8", "panels 64 [8,16]", DType::kI8), Error::kOk);
  EXPECT_EQ(loads(DType::kI8, 64, 8, "i8", "panels 64 [8,16]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kU8, 128, 8, "i8", "panels 64 [8,16]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 8, "pairs", "panels 64 [8,16]", DType::kU8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 8, "", "panels 64 [8,16]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 7, "i8", "panels 64 [8,16]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 8, "i8", "panels 64 [8,17]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 8, "i8", "panels 64 [2147483647,2147483647]", DType::kI8), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kI8, 128, 8, "u8", "panels 64 [8,16]", DType::kI8), Error::kInvalidArgument);
  EXPECT_EQ(loads(DType::kF16, 128, 16, "f32", "panels 64 [8,16]"), Error::kOk);
  EXPECT_EQ(loads(DType::kF16, 127, 16, "f32", "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF32, 128, 16, "f32", "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kBF16, 128, 16, "f32", "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF16, 128, 16, "", "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF16, 128, 0, "f32", "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF16, 128, 16, "f32", "panels 64 [8,16]", DType::kF16), Error::kInvalidArgument);
  const char* const plain = "a [8,16] dims [8,16] from [16,1] strides [16,1] blocks [] of []";
  EXPECT_EQ(loads(DType::kF32, 128, 0, "", plain), Error::kOk);
  EXPECT_EQ(loads(DType::kF32, 127, 0, "", plain), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF16, 128, 16, "f32", plain), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF32, 128, 0, "i8", plain), Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF32, 128, 0, "", "a [128] dims [128] from [1] strides [1] blocks [] of []"),
            Error::kInvalidProgram);
  // A dimension that runs along rows and columns at once.
  EXPECT_EQ(loads(DType::kF32, 128, 0, "", "a [8,16] dims [4,32] from [32,1] strides [32,1] blocks [] of []"),
            Error::kInvalidProgram);
  EXPECT_EQ(loads(DType::kF32, 128, 0, "", "panels"), Error::kInvalidProgram);
}

}  // namespace
}  // namespace berth::cpu
