// Resizing with the channels innermost, against the portable kernels. The fears: edges, factors that do not divide,
// channels past the last whole register, an image of the batch taken for another.

#include "kernels/cpu/resize.h"

#include <gtest/gtest.h>

#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;

TEST(ResizeLast, RandomSizesAndFactors) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  std::mt19937 random(seed.value);
  const auto one_of = [&](int32_t n) { return 1 + static_cast<int32_t>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 80; ++i) {
    const int32_t channels[] = {1, 3, 16, 21, 64, 70};
    const std::vector<int32_t> in = {one_of(2), channels[random() % 6], one_of(9), one_of(9)};
    std::vector<int32_t> out = {in[0], in[1], one_of(20), one_of(20)};
    Arg size(std::vector<int64_t>{out[2], out[3]});
    Arg factors(nullptr);
    if (i % 3 == 0) {
      const double factor[] = {0.5 + static_cast<double>(random() % 8) / 4, 2.0};
      for (size_t d = 0; d < 2; ++d) out[2 + d] = static_cast<int32_t>(in[2 + d] * factor[d]);
      if (out[2] == 0) continue;
      size = Arg(nullptr);
      factors = Arg(std::vector<double>{factor[0], factor[1]});
    }
    const Array x = random_array(random, in, kLast);
    expect_same_as_portable("aten::upsample_nearest2d.vec_out", {x, size, factors},
                            {Array(DType::kF32, out, {}, kLast)}, 0);
    const Array bytes(DType::kI8, in, {}, kLast);
    for (int64_t k = 0; k < x.tensor().numel(); ++k) bytes.tensor().data<uint8_t>()[k] = static_cast<uint8_t>(random());
    expect_same_as_portable("aten::upsample_nearest2d.vec_out", {bytes, size, factors},
                            {Array(DType::kI8, out, {}, kLast)}, 0);
    expect_same_as_portable("aten::upsample_nearest2d.vec_out", {as_type(x, DType::kBF16), size, factors},
                            {Array(DType::kBF16, out, {}, kLast)}, 0);
    expect_same_as_portable("aten::upsample_bilinear2d.vec_out", {x, size, i % 2 == 0, factors},
                            {Array(DType::kF32, out, {}, kLast)}, 1e-5);
  }
}

// Rows that are wider than the kernels' tables.
TEST(ResizeLast, VeryWideRowsToo) {
  std::mt19937 random(5);
  for (const int32_t width : {4096, 4097, 9001}) {
    for (const auto& order : {kLast, std::vector<uint8_t>{}}) {
      const std::vector<int32_t> in = {1, 2, 2, 3000}, out = {1, 2, 3, width};
      const Array x = random_array(random, in, order);
      const Arg size(std::vector<int64_t>{out[2], out[3]});
      const Array nearest(DType::kF32, out, {}, order), blended(DType::kF32, out, {}, order);
      const auto run = [&](auto kernel, auto temp_bytes, const std::vector<Arg>& given) {
        std::vector<Arg> args = given;
        std::vector<EValue*> values;
        for (Arg& arg : args) values.push_back(arg.value());
        const size_t temp = temp_bytes(Span<EValue* const>(values.data(), values.size()), 2);
        EXPECT_LE(temp, size_t{128} << 10);
        ASSERT_EQ(testing::run_with(kernel, args, 2, temp).error, Error::kOk);
      };
      run(untyped<upsample_nearest2d_out>, untyped<upsample_nearest2d_temp_bytes>, {x, size, nullptr, nearest});
      run(untyped<upsample_bilinear2d_out>, untyped<upsample_bilinear2d_temp_bytes>, {x, size, true, nullptr, blended});
      const std::vector<double> from = x.values(), moved = nearest.values(), mixed = blended.values();
      const auto at = [&](int c, int y, int w) { return (c * 2 + y) * 3000 + w; };
      for (int c = 0; c < 2; ++c) {
        for (int i = 0; i < width; ++i) {
          const int column =
              std::min(2999, static_cast<int>(static_cast<float>(i) * (3000.0f / static_cast<float>(width))));
          ASSERT_EQ(moved[c * 3 * width + i], from[at(c, 0, column)]) << width << ", column " << i;
          const double place = i * 2999.0 / (width - 1);
          const int left = std::min(2998, static_cast<int>(place));
          const double want = from[at(c, 0, left)] + (place - left) * (from[at(c, 0, left + 1)] - from[at(c, 0, left)]);
          ASSERT_NEAR(mixed[c * 3 * width + i], want, 5e-3) << width << ", column " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth::cpu
