// Poolings and means with the channels innermost, against the portable kernels. The fears: windows that begin or end
// outside, channels that do not fill a register, NaN that is lost, a batch whose images are mixed up.

#include <gtest/gtest.h>

#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::i64;

struct Axes {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil;
};

class RandomPool {
 public:
  explicit RandomPool(unsigned seed) : engine_(seed) {}
  int32_t from_to(int32_t first, int32_t last) {
    return first + static_cast<int32_t>(engine_() % static_cast<unsigned>(last - first + 1));
  }
  std::vector<int64_t> pair(int32_t first, int32_t last) { return {from_to(first, last), from_to(first, last)}; }
  Array image(bool special) {
    const int32_t channels[] = {1, 3, 8, 16, 17, 24, 58, 64, 100};
    return random_array(engine_, {from_to(1, 3), channels[from_to(0, 8)], from_to(1, 12), from_to(1, 12)}, kLast,
                        special);
  }
  Axes axes() {
    Axes a = {pair(1, 4), pair(1, 3), {}, pair(1, 2), from_to(0, 1) == 1};
    for (const int64_t k : a.kernel) a.padding.push_back(from_to(0, static_cast<int32_t>(k / 2)));
    return a;
  }

 private:
  std::mt19937 engine_;
};

// The size of the result; below 1 when there is none.
int32_t pooled(const Axes& a, size_t axis, int64_t in, bool dilated) {
  const int64_t reach = (dilated ? a.dilation[axis] : 1) * (a.kernel[axis] - 1) + 1;
  const int64_t room = in + 2 * a.padding[axis] - reach;
  if (room < 0) return 0;
  int64_t out = (room + (a.ceil ? a.stride[axis] - 1 : 0)) / a.stride[axis] + 1;
  if (a.ceil && (out - 1) * a.stride[axis] >= in + a.padding[axis]) --out;
  return static_cast<int32_t>(out);
}

std::vector<int32_t> pooled_sizes(const Axes& a, const Array& image, bool dilated) {
  const std::vector<int32_t> in = image.sizes();
  return {in[0], in[1], pooled(a, 0, in[2], dilated), pooled(a, 1, in[3], dilated)};
}

bool is_possible(const std::vector<int32_t>& sizes) { return sizes[2] > 0 && sizes[3] > 0; }

// Windows at random over `image`, whose maxima are the portable kernel's.
void expect_maxima(RandomPool& random, const Array& image, double tolerance = 1e-5) {
  const Axes a = random.axes();
  const std::vector<int32_t> sizes = pooled_sizes(a, image, true);
  if (!is_possible(sizes)) return;
  const Array indices(DType::kI64, sizes, {}, kLast);
  indices.tensor().set_data(nullptr);
  expect_same_as_portable("aten::max_pool2d_with_indices.out",
                          {image, a.kernel, a.stride, a.padding, a.dilation, a.ceil},
                          {Array(image.tensor().dtype(), sizes, {}, kLast), indices}, tolerance);
}

TEST(PoolLast, RandomMaximaKeepNaN) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 60; ++i) {
    const Array image = random.image(i % 2 == 1);
    expect_maxima(random, image);
  }
}

TEST(PoolLast, RandomMaximaOfBytes) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 60; ++i) {
    const DType type = i % 2 == 0 ? DType::kU8 : DType::kI8;
    const Array image(type, random.image(false).sizes(), {}, kLast);
    for (int64_t k = 0; k < image.tensor().numel(); ++k) {
      image.tensor().data<uint8_t>()[k] = static_cast<uint8_t>(random.from_to(0, 255));
    }
    expect_maxima(random, image, 0);
  }
}

// Infinities of both signs, zeros, NaNs; the sign of a NaN is the processor's.
TEST(PoolLast, RandomMaximaOfBf16) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 60; ++i) {
    const Array image = as_type(random.image(i % 2 == 1), DType::kBF16);
    for (int64_t k = 0; k < image.tensor().numel(); ++k) {
      uint16_t& x = image.tensor().data<uint16_t>()[k];
      if ((x & 0x7fff) > 0x7f80 && random.from_to(0, 1) == 1) x = static_cast<uint16_t>(x ^ 0x8000);
    }
    expect_maxima(random, image, 0);
  }
}

TEST(PoolLast, IndicesThatAreRead) {
  RandomPool random(7);
  const Array image = random.image(false);
  const Axes a = {{1, 1}, {1, 1}, {0, 0}, {1, 1}, false};
  expect_same_as_portable("aten::max_pool2d_with_indices.out",
                          {image, a.kernel, a.stride, a.padding, a.dilation, a.ceil},
                          {array_like(image), Array(DType::kI64, image.sizes(), {}, kLast)});
}

TEST(PoolLast, RandomAverages) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 60; ++i) {
    const Array image = random.image(i % 4 == 1);
    const Axes a = random.axes();
    const std::vector<int32_t> sizes = pooled_sizes(a, image, false);
    if (!is_possible(sizes)) continue;
    const Arg divisor = i % 3 == 0 ? Arg(int64_t{random.from_to(1, 5)}) : Arg(nullptr);
    expect_same_as_portable("aten::avg_pool2d.out",
                            {image, a.kernel, a.stride, a.padding, a.ceil, random.from_to(0, 1) == 1, divisor},
                            {Array(DType::kF32, sizes, {}, kLast)});
  }
}

TEST(PoolLast, RandomAdaptiveAverages) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 40; ++i) {
    const Array image = random.image(false);
    const std::vector<int64_t> size = random.pair(1, 14);
    const std::vector<int32_t> sizes = {image.sizes()[0], image.sizes()[1], static_cast<int32_t>(size[0]),
                                        static_cast<int32_t>(size[1])};
    expect_same_as_portable("aten::_adaptive_avg_pool2d.out", {image, size}, {Array(DType::kF32, sizes, {}, kLast)});
  }
}

TEST(MeanLast, OverPixelsRowsAndOtherDimensions) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < 60; ++i) {
    const Array image = random.image(i % 4 == 1);
    const std::vector<int32_t> s = image.sizes();
    const bool keep = i % 2 == 0;
    const std::vector<uint8_t> order = keep && i % 3 == 0 ? std::vector<uint8_t>{0, 1, 2, 3} : kLast;
    expect_same_as_portable(
        "aten::mean.out", {image, std::vector<int64_t>{2, 3}, keep, nullptr},
        {Array(DType::kF32, keep ? std::vector<int32_t>{s[0], s[1], 1, 1} : std::vector<int32_t>{s[0], s[1]}, {},
               keep ? order : std::vector<uint8_t>{})});
    expect_same_as_portable(
        "aten::mean.out", {image, std::vector<int64_t>{0, 2}, false, nullptr},
        {Array(DType::kF32, {s[1], s[3]}, {}, i % 2 == 0 ? std::vector<uint8_t>{0, 1} : std::vector<uint8_t>{1, 0})});
  }
}

TEST(MeanLast, ManyPixelsOfFewChannelsAndFewOfMany) {
  std::mt19937 random(3);
  for (const std::vector<int32_t>& s :
       std::vector<std::vector<int32_t>>{{1, 16, 56, 56}, {2, 2048, 7, 7}, {2, 700, 30, 30}, {1, 8, 1, 1}}) {
    expect_same_as_portable("aten::mean.out",
                            {random_array(random, s, kLast), std::vector<int64_t>{-1, -2}, true, nullptr},
                            {Array(DType::kF32, {s[0], s[1], 1, 1}, {}, kLast)});
  }
}

}  // namespace
}  // namespace berth::cpu
