// Products with weights of 8 and 4 bits, against the portable kernel, on memory with guarded ends. The fears: the last
// columns, rows or block of a panel, a row of the weight in another's place, a packed weight that is not the dense one.
// BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long.
#include "kernels/cpu/narrow_linear.h"

#include <gtest/gtest.h>

#include <map>

#include "base/half.h"
#include "base/seeds_testing.h"
#include "format/activation_names.h"
#include "kernels/cpu/guarded_testing.h"
#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/narrow_linear_bytes.h"
#include "kernels/cpu/narrow_linear_digits.h"
#include "kernels/cpu/packing.h"
#include "kernels/cpu/packing_narrow.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

constexpr char kNarrowLinear[] = "berth::narrow_linear.out";

class NarrowProducts {
 public:
  explicit NarrowProducts(unsigned seed) : random_(seed), memory_(random_) {}

  /// `digits`: how many of the input are allowed to stay (packing_narrow.h), 3 or 1.
  void any(int64_t digits) {
    digits_ = digits;
    const int64_t kRows[] = {1, 1, 2, 3, 4, 5, whole(5, 60), whole(60, 140)};
    rows_ = kRows[whole(0, 7)];
    depth_ = whole(0, 4) == 0 ? whole(500, 1300) : whole(1, 200);
    columns_ = whole(0, 2) == 0 ? 64 * whole(1, 5) : whole(1, 330);
    if (whole(0, 15) == 0) {
      // More than any kernel takes at a time.
      rows_ = whole(513, 530);
      depth_ = whole(1, 40);
      columns_ = whole(1, 70);
    }
    bits_ = whole(0, 1) == 0 ? 4 : 8;
    const int64_t kBlocks[] = {depth_, 8, 16, 32, 64, 128, 256, 24, whole(1, 50)};
    block_ = kBlocks[whole(0, 8)];
    const int64_t blocks = (depth_ + block_ - 1) / block_;
    const bool odd = whole(0, 7) == 0;
    input_ = memory_(random_array(random_, {size(rows_), size(depth_)}, {}, odd));
    weight_ = memory_(bytes(bits_ == 8 ? DType::kI8 : DType::kU8, bits_ == 8 ? depth_ : (depth_ + 1) / 2, columns_, 8));
    scales_ =
        memory_(random_array(random_, {size(one_of(1, blocks)), size(one_of(1, columns_))}, {}, whole(0, 9) == 0));
    if (whole(0, 1) == 0) round_to_halves(scales_);
    zero_kind_ = whole(0, 2);
    const int64_t zero_rows = one_of(1, blocks), zero_columns = one_of(1, columns_);
    if (zero_kind_ == 1) zeros_ = memory_(bytes(DType::kI8, zero_rows, zero_columns, bits_));
    if (zero_kind_ == 2) zeros_ = memory_(random_array(random_, {size(zero_rows), size(zero_columns)}));
    bias_ = memory_(random_array(random_, {size(columns_)}));
    before_ = random_array(random_, {size(rows_), size(columns_)});
    has_bias_ = whole(0, 1) == 0;
    has_residual_ = whole(0, 1) == 0;
    activation_ = kActivationNames[whole(0, 11)];
    SCOPED_TRACE(std::to_string(rows_) + " x " + std::to_string(depth_) + " x " + std::to_string(columns_) + ", " +
                 std::to_string(bits_) + " bits, blocks of " + std::to_string(block_) + ", zeros " +
                 std::to_string(zero_kind_) + ", " + activation_ + (odd ? ", odd input" : ""));
    check();
  }

 private:
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  int64_t one_of(int64_t a, int64_t b) { return whole(0, 1) == 0 ? a : b; }
  static int32_t size(int64_t n) { return static_cast<int32_t>(n); }
  static void round_to_halves(const Array& array) {
    float* const x = array.tensor().data<float>();
    for (int64_t i = 0; i < array.tensor().numel(); ++i) x[i] = Half(x[i]);
  }
  Array bytes(DType dtype, int64_t rows, int64_t columns, int64_t bits) {
    const Array array(dtype, {size(rows), size(columns)});
    for (int64_t i = 0; i < rows * columns; ++i) {
      array.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(bits == 8 ? whole(0, 255) : whole(-8, 7));
    }
    return array;
  }
  Array flat(DType dtype, const std::vector<uint8_t>& from) {
    const Array array(dtype, {size(static_cast<int64_t>(from.size() / element_size(dtype)))});
    if (!from.empty()) std::memcpy(array.tensor().raw(), from.data(), from.size());
    return memory_(array);
  }

  // Each chunk of the input in steps of a 127th of its largest, as narrow_linear_bytes.h says.
  Array rounded_input() const {
    const Array rounded = array_like(input_);
    for (int64_t i = 0; i < rows_; ++i) {
      const float* x = input_.tensor().data<float>() + i * depth_;
      float* y = rounded.tensor().data<float>() + i * depth_;
      for (int64_t begin = 0, end = 0; begin < depth_; begin = end) {
        end = std::min({depth_, (begin / block_ + 1) * block_, begin + 32});
        float largest = 0;
        for (int64_t k = begin; k < end; ++k) {
          largest = std::isfinite(x[k]) && !std::isnan(largest) ? std::max(largest, std::fabs(x[k])) : NAN;
        }
        const float steps = largest < 0x1p-116F ? 0 : 127 / largest;
        for (int64_t k = begin; k < end; ++k) {
          y[k] = std::isnan(largest) ? NAN : std::nearbyint(x[k] * steps) * (largest / 127);
        }
      }
    }
    return rounded;
  }

  std::vector<Arg> args(const Array& input, const Array& weight, const Array& scales, const Array& zeros,
                        const std::string& text, const Array& residual, const Array& out,
                        const char* activation) const {
    return {input,
            weight,
            scales,
            zero_kind_ == 0 ? Arg(nullptr) : Arg(zeros),
            has_bias_ ? Arg(bias_) : Arg(nullptr),
            has_residual_ ? Arg(residual) : Arg(nullptr),
            bits_,
            block_,
            activation,
            -0.5,
            0.75,
            text.c_str(),
            out};
  }

  bool pack(PackedNarrow* packed) const {
    NarrowToPack linear;
    linear.depth = depth_;
    linear.columns = columns_;
    linear.bits = bits_;
    linear.block = block_;
    linear.digits = digits_;
    linear.weight = weight_.tensor().data<uint8_t>();
    linear.scales = scales_.tensor().data<float>();
    linear.scale_rows = scales_.sizes()[0];
    linear.scale_columns = scales_.sizes()[1];
    if (zero_kind_ != 0) {
      linear.zero_rows = zeros_.sizes()[0];
      linear.zero_columns = zeros_.sizes()[1];
    }
    if (zero_kind_ == 1) linear.zeros = zeros_.tensor().data<int8_t>();
    if (zero_kind_ == 2) linear.real_zeros = zeros_.tensor().data<float>();
    return pack_narrow(linear, packed);
  }

  void check() {
    const Array exact = array_like(before_), rounded = array_like(before_), sums = array_like(before_);
    const auto refer = [&](const Array& input, const Array& to, const char* activation) {
      const auto reference = args(input, weight_, scales_, zeros_, "", before_, to, activation);
      ASSERT_EQ(testing::run_with(portable::fused_narrow_linear_out, reference, 1).error, Error::kOk);
    };
    refer(input_, sums, "none");
    refer(input_, exact, activation_);
    refer(rounded_input(), rounded, activation_);
    PackedNarrow packed;
    const bool is_packed = pack(&packed);
    const Array weight = is_packed ? flat(weight_.tensor().dtype(), packed.weight) : weight_;
    const Array scales = is_packed ? flat(packed.scale_type, packed.scales) : scales_;
    const Array zeros = is_packed && zero_kind_ != 0 ? flat(zeros_.tensor().dtype(), packed.zeros) : zeros_;
    std::map<std::string, std::vector<uint8_t>> alone;
    for (const int threads : {1, 2, 3, 4}) {
      for_each_simd_target([&](const char* target) {
        SCOPED_TRACE(std::string(target) + ", " + std::to_string(threads) + " threads" + (is_packed ? ", packed" : ""));
        const bool in_place = threads % 2 == 0;
        const Array residual = memory_(copy_of(before_));
        const Array out = in_place ? residual : memory_(array_like(before_));
        const auto outcome =
            call_guarded(kNarrowLinear, args(input_, weight, scales, zeros, packed.text, residual, out, activation_),
                         {1, 2, 3, 4}, threads, memory_);
        ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
        const NarrowLayout layout = {depth_, columns_, block_, 1, bits_, digits_};
        expect_near(is_packed && has_narrow_bytes(layout) ? rounded : exact, out, largest_of(sums));
        const auto* bytes = static_cast<const uint8_t*>(out.tensor().raw());
        const std::vector<uint8_t> bits(bytes, bytes + out.tensor().nbytes());
        const auto first = alone.emplace(target, bits).first;
        EXPECT_TRUE(first->second == bits) << "threads change the result";
      });
      if (::testing::Test::HasFailure()) return;
    }
  }

  static Array copy_of(const Array& array) {
    const Array copy = array_like(array);
    std::memcpy(copy.tensor().raw(), array.tensor().raw(), array.tensor().nbytes());
    return copy;
  }

  std::mt19937 random_;
  GuardedMemory memory_;
  int64_t rows_ = 1, depth_ = 1, columns_ = 1, bits_ = 8, block_ = 1, zero_kind_ = 0, digits_ = 3;
  Array input_ = testing::f32({1}), weight_ = input_, scales_ = input_, zeros_ = input_, bias_ = input_,
        before_ = input_;
  bool has_bias_ = false, has_residual_ = false;
  const char* activation_ = "none";
};

TEST(NarrowLinearKernel, GivesWhatThePortableOneGivesWithinItsMemory) {
  testing::for_each_seed(60, [](unsigned seed) { NarrowProducts(seed).any(3); });
}

// Where there are instructions for it: elsewhere nothing is rounded. A chunk that is too long, one that goes on behind
// a block, a step that is another row's.
TEST(NarrowLinearKernel, OneDigitGivesWhatThePortableOneGivesOfTheRoundedInput) {
  testing::for_each_seed(60, [](unsigned seed) { NarrowProducts(seed).any(1); });
}

// What a file or a model may say: scales of 0, below it, denormal, huge, infinite, NaN; zero points far away; blocks
// that do not divide the depth; rows that are nothing, tiny, huge, or not numbers. Where sums of finite numbers
// overflow, their order decides.
TEST(NarrowLinearKernel, HostileScalesAndRowsHaveThePortableKernelsAnswer) {
  constexpr int32_t kColumns = 70, kRows = 6;
  const float kScales[] = {0, -0.0F, -3, 1e-42F, 1e25F, 1, 0.01F};
  const float kZeros[] = {0, -0.5F, 7, 1e6F, 100};
  const float kSizes[] = {1, 0, 1e-38F, 1e3F, 1, 1e-20F};
  for (const int bits : {4, 8}) {
    for (const auto& [depth, block] : {std::pair{100, 32}, std::pair{37, 8}, std::pair{600, 256}, std::pair{41, 6}}) {
      for (const float odd : {1.0F, INFINITY, NAN}) {
        std::mt19937 random(bits + depth);
        GuardedMemory memory(random);
        const int32_t blocks = (depth + block - 1) / block;
        const Array input = memory(random_array(random, {kRows, depth}));
        for (int32_t i = 0; i < kRows * depth; ++i) input.tensor().data<float>()[i] *= kSizes[i / depth];
        if (depth == 37) input.tensor().data<float>()[2 * depth + 5] = odd;
        const Array weight =
            memory(Array(bits == 8 ? DType::kI8 : DType::kU8, {bits == 8 ? depth : (depth + 1) / 2, kColumns}));
        for (size_t i = 0; i < weight.tensor().nbytes(); ++i)
          weight.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random());
        const Array scales = memory(Array(DType::kF32, {blocks, kColumns}));
        const Array zeros = memory(Array(DType::kF32, {blocks, kColumns}));
        for (int32_t i = 0; i < blocks * kColumns; ++i) {
          scales.tensor().data<float>()[i] = kScales[i % kColumns % 7];
          zeros.tensor().data<float>()[i] = kZeros[i % kColumns % 5];
        }
        if (depth == 100) scales.tensor().data<float>()[kColumns + 5] = odd;
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(depth) + " in blocks of " +
                     std::to_string(block) + ", " + std::to_string(odd));
        const auto args = [&](const Array& out) {
          return std::vector<Arg>{input, weight, scales, zeros, nullptr, nullptr, bits,
                                  block, "none", 0.0,    0.0,   "",      out};
        };
        const Array expected(DType::kF32, {kRows, kColumns});
        ASSERT_EQ(testing::run_with(portable::fused_narrow_linear_out, args(expected), 1).error, Error::kOk);
        for_each_simd_target([&](const char* target) {
          SCOPED_TRACE(target);
          const Array out = memory(array_like(expected));
          const auto outcome = call_guarded(kNarrowLinear, args(out), {1, 2, 3}, 2, memory);
          ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
          const std::vector<double> a = expected.values(), b = out.values();
          for (size_t i = 0; i < a.size(); ++i) {
            // What may be lost of as many terms, each as large as can be.
            const size_t j = i % kColumns;
            const double terms = 10.0 * depth * kSizes[i / kColumns] * ((1 << bits) + std::fabs(kZeros[j % 5]));
            const double lost = 1e-6 * terms * std::fabs(kScales[j % 7]) + 1e-44;
            const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= lost;
            ASSERT_TRUE(same) << "element " << i << ": expected " << a[i] << ", found " << b[i] << " +- " << lost;
          }
        });
      }
    }
  }
}

// Whole numbers of 7 bits keep all of them in two digits, and in one where each chunk has 127, so that nothing may
// change, in any place of any tile.
TEST(NarrowLinearKernel, FewerDigitsGiveTheSameBitsWhereNothingIsLost) {
  std::mt19937 random(5);
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 24; ++round) {
    GuardedMemory memory(random);
    const int32_t rows = round % 12 + (round < 12 ? 1 : 20), depth = whole(1, 90) * 8, columns = whole(1, 150);
    const int32_t bits = round % 2 == 0 ? 8 : 4;
    // One digit of longer blocks has sums of 32 elements, which are added in another order.
    const bool is_long = round % 3 == 0;
    const int32_t block = is_long ? depth : std::min(depth, round % 3 == 1 ? 16 : 32);
    const int32_t blocks = (depth + block - 1) / block;
    const Array input = memory(Array(DType::kF32, {rows, depth}));
    for (int32_t i = 0; i < rows * depth; ++i) {
      const int number = i % depth % block % 32 == 0 ? -127 : whole(-127, 127);
      input.tensor().data<float>()[i] = 0.125F * static_cast<float>(number);
    }
    NarrowLayout layout = {depth, columns, block, blocks, bits};
    const Array weight =
        memory(Array(bits == 8 ? DType::kI8 : DType::kU8, {static_cast<int32_t>(layout.weight_bytes())}));
    for (size_t i = 0; i < weight.tensor().nbytes(); ++i)
      weight.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random());
    const Array scales = memory(random_array(random, {static_cast<int32_t>(layout.numbers())}));
    const Array zeros = memory(random_array(random, scales.sizes()));
    const auto run = [&](const std::string& text) {
      const Array out = memory(Array(DType::kF32, {rows, columns}));
      const Arg points = round % 4 == 1 ? Arg(zeros) : Arg(nullptr);
      const auto outcome = call_guarded(
          kNarrowLinear,
          {input, weight, scales, points, nullptr, nullptr, bits, block, "none", 0.0, 0.0, text.c_str(), out},
          {1, 2, 3}, 2, memory);
      EXPECT_EQ(outcome.error, Error::kOk) << outcome.message;
      return out.values();
    };
    for_each_simd_target([&](const char* target) {
      const std::vector<double> three = run(layout.text());
      for (const int64_t digits : {1, 2}) {
        if (digits == 1 && is_long) continue;
        layout.digits = digits;
        EXPECT_TRUE(run(layout.text()) == three) << target << ": " << rows << " x " << depth << " x " << columns << ", "
                                                 << bits << " bits, blocks of " << block << ", digits " << digits;
      }
      layout.digits = 3;
    });
  }
}

// Kernels widen scales of f16: what comes out has the bits that the same scales of f32 give. Any number of f16 is a
// scale, denormal ones and both zeros too; rows of the input for each kernel, some of which cannot be made of digits.
TEST(NarrowLinearKernel, ScalesOfF16GiveTheBitsOfTheSameInF32) {
  testing::for_each_seed(40, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    GuardedMemory memory(random);
    const int32_t bits = seed % 2 == 0 ? 8 : 4, columns = whole(1, 150), depth = 8 * whole(1, 90) - whole(0, 1);
    const int32_t rows = whole(0, 1) == 0 ? whole(1, 5) : whole(6, 60);
    const int32_t block = whole(0, 2) == 0 ? depth : 8 * whole(1, 40);
    const NarrowLayout layout = {depth, columns, block, (depth - 1) / block + 1, bits, whole(1, 3)};
    const Array input = memory(random_array(random, {rows, depth}, {}, whole(0, 3) == 0));
    const Array weight =
        memory(Array(bits == 8 ? DType::kI8 : DType::kU8, {static_cast<int32_t>(layout.weight_bytes())}));
    for (size_t i = 0; i < weight.tensor().nbytes(); ++i)
      weight.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random());
    const auto numbers = static_cast<int32_t>(layout.numbers());
    const Array halves = memory(Array(DType::kF16, {numbers})), wide = memory(Array(DType::kF32, {numbers}));
    for (int32_t i = 0; i < numbers; ++i) {
      Half& half = halves.tensor().data<Half>()[i];
      half.bits = static_cast<uint16_t>(random());
      if (i % 5 == 0) half.bits &= 0x83FF;                      // denormal
      if ((half.bits & 0x7C00) == 0x7C00) half.bits ^= 0x4000;  // not a finite number
      wide.tensor().data<float>()[i] = half;
    }
    const int zero_kind = whole(0, 2);
    const Array zeros = memory(zero_kind == 1 ? Array(DType::kI8, {numbers}) : random_array(random, {numbers}));
    const std::string text = layout.text();
    for_each_simd_target([&](const char* target) {
      std::vector<uint8_t> found[2];
      for (const bool half : {false, true}) {
        const Array out = memory(Array(DType::kF32, {rows, columns}));
        const std::vector<Arg> args = {input,
                                       weight,
                                       half ? halves : wide,
                                       zero_kind == 0 ? Arg(nullptr) : Arg(zeros),
                                       nullptr,
                                       nullptr,
                                       bits,
                                       block,
                                       "none",
                                       0.0,
                                       0.0,
                                       text.c_str(),
                                       out};
        const auto outcome = call_guarded(kNarrowLinear, args, {1, 2, 3}, 2, memory);
        ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
        const auto* bytes = static_cast<const uint8_t*>(out.tensor().raw());
        found[half].assign(bytes, bytes + out.tensor().nbytes());
      }
      EXPECT_TRUE(found[0] == found[1]) << target << ": " << rows << " x " << depth << " x " << columns << ", " << bits
                                        << " bits, blocks of " << block << ", zeros " << zero_kind;
    });
  });
}

// A prompt's rows are multiplied in another way than a token's: as words, by a weight that is widened first, or as
// matrices. Odd depths, blocks longer than what is widened at a time, panels of fewer columns, rows that do not fill a
// tile.
TEST(NarrowLinearKernel, ARowOfManyHasTheBitsOfTheRowAlone) {
  if (!has_narrow_digits(8, 100)) GTEST_SKIP() << "this processor has no digits for many rows";
  testing::for_each_seed(24, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    GuardedMemory memory(random);
    const int32_t bits = seed % 2 == 0 ? 8 : 4, rows = whole(12, 110), columns = whole(1, 150);
    const int32_t depth = seed % 3 == 0 ? whole(1, 3000) : whole(1, 40) * 8;
    const int32_t block = seed % 3 == 0 ? depth : whole(0, 1) == 0 ? 32 : 8 * whole(1, 40);
    const NarrowLayout layout = {depth, columns, block, (depth - 1) / block + 1, bits, 1 + seed % 5 % 3};
    const Array input = memory(random_array(random, {rows, depth}));
    // Ranges that change from chunk to chunk, and chunks of zeros.
    for (int32_t i = 0; i < rows * depth; ++i) {
      input.tensor().data<float>()[i] *= i / 40 % 7 == 0 ? 0.0F : std::ldexp(1.0F, i / 24 % 30 - 15);
    }
    const Array weight =
        memory(Array(bits == 8 ? DType::kI8 : DType::kU8, {static_cast<int32_t>(layout.weight_bytes())}));
    for (size_t i = 0; i < weight.tensor().nbytes(); ++i)
      weight.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random());
    const Array scales = memory(random_array(random, {static_cast<int32_t>(layout.numbers())}));
    const Array zeros = memory(random_array(random, scales.sizes()));
    const auto run = [&](const Array& some, int threads) {
      const Array out = memory(Array(DType::kF32, {some.sizes()[0], columns}));
      const Arg points = seed % 4 < 2 ? Arg(zeros) : Arg(nullptr);
      const std::string text = layout.text();
      const auto outcome = call_guarded(
          kNarrowLinear,
          {some, weight, scales, points, nullptr, nullptr, bits, block, "none", 0.0, 0.0, text.c_str(), out}, {1, 2, 3},
          threads, memory);
      EXPECT_EQ(outcome.error, Error::kOk) << outcome.message;
      return out.values();
    };
    const std::vector<double> all = run(input, 1);
    EXPECT_TRUE(all == run(input, 3)) << "threads change the result";
    forbid_matrices(true);
    const bool same = all == run(input, 1);
    forbid_matrices(false);
    EXPECT_TRUE(same) << "matrices change the result";
    for (int32_t i = 0; i < rows; ++i) {
      const Array one = memory(Array(DType::kF32, {1, depth}));
      std::copy_n(input.tensor().data<float>() + i * depth, depth, one.tensor().data<float>());
      const std::vector<double> alone = run(one, 1);
      const std::vector<double> of_many(all.begin() + i * columns, all.begin() + (i + 1) * columns);
      ASSERT_TRUE(alone == of_many) << "row " << i << " of " << rows << " x " << depth << " x " << columns << ", "
                                    << bits << " bits, blocks of " << block;
    }
  });
}

// What is below 2^-16 of the largest element goes, where the input is made of digits at all, and goes from what zero
// points are multiplied with too.
TEST(NarrowLinearKernel, TwoDigitsAreNotThree) {
  std::mt19937 random(6);
  GuardedMemory memory(random);
  const Array weight(DType::kI8, {128}), scales(DType::kF32, {16}), input(DType::kF32, {1, 8});
  std::fill_n(weight.tensor().data<uint8_t>(), 128, 129);  // 1
  std::fill_n(scales.tensor().data<float>(), 16, 1.0F);
  std::fill_n(input.tensor().data<float>(), 8, 0.0F);
  input.tensor().data<float>()[0] = 1;
  input.tensor().data<float>()[3] = 0x1p-18F;
  const auto run = [&](const char* text, const Arg& zeros) {
    const Array out(DType::kF32, {1, 16});
    const std::vector<Arg> args = {input, weight, scales, zeros, nullptr, nullptr, 8, 8, "none", 0.0, 0.0, text, out};
    EXPECT_EQ(call_guarded(kNarrowLinear, args, {1, 2, 3}, 1, memory).error, Error::kOk);
    return out.values()[7];
  };
  for_each_simd_target([&](const char* target) {
    EXPECT_EQ(run("panels 64 [8,16]", nullptr), 1 + 0x1p-18) << target;
    EXPECT_EQ(run("panels 64 [8,16] digits 2", nullptr), has_narrow_digits(8, 1) ? 1 : 1 + 0x1p-18) << target;
    EXPECT_EQ(run("panels 64 [8,16] digits 2", scales), 0) << target;
    EXPECT_EQ(run("panels 64 [8,16] digits 1", nullptr), has_narrow_digits(8, 1) ? 1 : 1 + 0x1p-18) << target;
  });
}

TEST(NarrowLinearKernel, PackingsOfHostileFilesAreErrors) {
  std::mt19937 random(1);
  GuardedMemory memory(random);
  const Array input = random_array(random, {1, 8}), out(DType::kF32, {1, 16});
  const Array weight(DType::kI8, {128}), scales(DType::kF32, {16}), few(DType::kF32, {15});
  const auto call = [&](const Array& w, const Array& s, const char* text, std::vector<size_t> constants = {1, 2}) {
    return call_guarded(kNarrowLinear, {input, w, s, nullptr, nullptr, nullptr, 8, 8, "none", 0.0, 0.0, text, out},
                        constants, 1, memory)
        .error;
  };
  EXPECT_EQ(call(weight, scales, "panels 64 [8,16]"), Error::kOk);
  EXPECT_EQ(call(weight, scales, "panels 64 [8,16] digits 2"), Error::kOk);
  EXPECT_EQ(call(weight, scales, "panels 64 [8,16] digits 1"), Error::kOk);
  EXPECT_EQ(call(weight, few, "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(call(scales, scales, "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(call(weight, Array(DType::kF16, {16}), "panels 64 [8,16]"), Error::kOk);
  EXPECT_EQ(call(weight, Array(DType::kF16, {32}), "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(call(weight, Array(DType::kBF16, {16}), "panels 64 [8,16]"), Error::kInvalidProgram);
  EXPECT_EQ(call(weight, scales, "panels 64 [8,16]", {1}), Error::kInvalidProgram);
  for (const char* text : {"panels 64 [8,17]", "panels 64 [16,8]", "panels 32 [8,16]", "panels 64 [8,16",
                           "panels 64 [8]", "panels 64 [8,16] digits 0", "panels 64 [8,16] digits 4",
                           "panels 64 [8,16] digits", "panels 64 [8,16] digits 22", "panels 64 [-8,16]",
                           "panels 64 [8,99999999999999999999]", "panels 64 [0,16]", "?"}) {
    EXPECT_EQ(call(weight, scales, text), Error::kInvalidProgram) << text;
  }
}

}  // namespace
}  // namespace berth::cpu
