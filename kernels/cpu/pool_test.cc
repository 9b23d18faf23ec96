// Poolings of planes, and poolings and means with the channels innermost, against the portable kernels. The fears:
// windows that begin or end outside, channels that do not fill a register, NaN that is lost, a batch whose images are
// mixed up.

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
  // Rows of up to `longest`.
  Array planes(bool special, int32_t longest) {
    return random_array(engine_, {from_to(1, 2), from_to(1, 3), from_to(1, 12), from_to(1, longest)}, {}, special);
  }
  Axes axes() {
    Axes a = {pair(1, 4), pair(1, 3), {}, pair(1, 2), from_to(0, 1) == 1};
    for (const int64_t k : a.kernel) a.padding.push_back(from_to(0, static_cast<int32_t>(k / 2)));
    return a;
  }

 private:
  std::mt19937 engine_;
};

/// Calls f(random, turn) so often.
template <typename F>
void in_turns(int count, F&& f) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  RandomPool random(seed.value);
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) f(random, i);
}

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

// Windows over `image`, whose maxima are the portable kernel's.
void expect_maxima(const Axes& a, const Array& image, double tolerance = 1e-5) {
  const std::vector<int32_t> sizes = pooled_sizes(a, image, true);
  if (!is_possible(sizes)) return;
  const std::vector<uint8_t> order = image.tensor().is_contiguous() ? std::vector<uint8_t>() : kLast;
  const Array indices(DType::kI64, sizes, {}, order);
  indices.tensor().set_data(nullptr);
  expect_same_as_portable("aten::max_pool2d_with_indices.out",
                          {image, a.kernel, a.stride, a.padding, a.dilation, a.ceil},
                          {Array(image.tensor().dtype(), sizes, {}, order), indices}, tolerance);
}
void expect_maxima(RandomPool& random, const Array& image, double tolerance = 1e-5) {
  expect_maxima(random.axes(), image, tolerance);
}

// Averages of the numbers that are there and of those that are counted, and quotients by `divisor`.
void expect_averages(const Axes& a, const Array& image, int64_t divisor) {
  const std::vector<int32_t> sizes = pooled_sizes(a, image, false);
  if (!is_possible(sizes)) return;
  const std::vector<uint8_t> order = image.tensor().is_contiguous() ? std::vector<uint8_t>() : kLast;
  for (const bool with_padding : {false, true}) {
    for (const Arg& by : {Arg(nullptr), Arg(divisor)}) {
      expect_same_as_portable("aten::avg_pool2d.out", {image, a.kernel, a.stride, a.padding, a.ceil, with_padding, by},
                              {Array(DType::kF32, sizes, {}, order)});
    }
  }
}

TEST(PoolLast, RandomMaximaKeepNaN) {
  in_turns(60, [](RandomPool& random, int i) {
    const Array image = random.image(i % 2 == 1);
    expect_maxima(random, image);
  });
}

TEST(PoolLast, RandomMaximaOfBytes) {
  in_turns(60, [](RandomPool& random, int i) {
    const DType type = i % 2 == 0 ? DType::kU8 : DType::kI8;
    const Array image(type, random.image(false).sizes(), {}, kLast);
    for (int64_t k = 0; k < image.tensor().numel(); ++k) {
      image.tensor().data<uint8_t>()[k] = static_cast<uint8_t>(random.from_to(0, 255));
    }
    expect_maxima(random, image, 0);
  });
}

// Infinities of both signs, zeros, NaNs; the sign of a NaN is the processor's.
TEST(PoolLast, RandomMaximaOfBf16) {
  in_turns(60, [](RandomPool& random, int i) {
    const Array image = as_type(random.image(i % 2 == 1), DType::kBF16);
    for (int64_t k = 0; k < image.tensor().numel(); ++k) {
      uint16_t& x = image.tensor().data<uint16_t>()[k];
      if ((x & 0x7fff) > 0x7f80 && random.from_to(0, 1) == 1) x = static_cast<uint16_t>(x ^ 0x8000);
    }
    expect_maxima(random, image, 0);
  });
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
  in_turns(30, [](RandomPool& random, int i) {
    const Array image = random.image(i % 4 == 1);
    expect_averages(random.axes(), image, random.from_to(1, 5));
  });
}

TEST(PoolPlanes, RandomMaximaKeepNaN) {
  in_turns(120, [](RandomPool& random, int i) {
    const Array image = random.planes(i % 2 == 1, i % 3 == 0 ? 12 : 70);
    expect_maxima(random, image, 0);
  });
}

TEST(PoolPlanes, RandomAverages) {
  in_turns(60, [](RandomPool& random, int i) {
    const Array image = random.planes(i % 4 == 1, i % 3 == 0 ? 12 : 70);
    expect_averages(random.axes(), image, random.from_to(1, 5));
  });
}

// Longer than what is kept of a row at a time, with windows and steps that leave out most of it, and too long for it.
TEST(PoolPlanes, RowsLongerThanALine) {
  RandomPool random(11);
  std::mt19937 engine(11);
  for (const int32_t length : {2048, 2049, 4100}) {
    const Array row = random_array(engine, {1, 2, 3, length}, {}, length == 2049);
    for (const Axes& a : std::vector<Axes>{{{2, 3}, {1, 1}, {1, 1}, {1, 1}, false},
                                           {{3, 2}, {2, 2}, {0, 1}, {1, 1}, true},
                                           {{1, 7}, {1, 5}, {0, 3}, {1, 2}, false},
                                           {{3, 700}, {1, 600}, {1, 350}, {1, 1}, true},
                                           {{1, 1100}, {1, 3}, {0, 0}, {1, 1}, false},
                                           {{1, 4}, {1, 3}, {0, 2}, {1, 500}, false}}) {
      expect_maxima(a, row, 0);
      if (a.dilation[1] == 1) expect_averages(a, row, 3);
    }
  }
}

TEST(PoolPlanes, WindowsThatLieAroundThePlane) {
  std::mt19937 engine(6);
  for (const std::vector<int32_t>& sizes :
       std::vector<std::vector<int32_t>>{{1, 2, 1, 1}, {1, 2, 1, 9}, {1, 2, 9, 1}}) {
    expect_maxima({{2, 2}, {1, 1}, {1, 1}, {2, 2}, false}, random_array(engine, sizes), 0);
  }
}

// Of three dimensions there is no batch.
TEST(PoolPlanes, OfOneImageWithoutABatch) {
  std::mt19937 engine(5);
  const Array image = random_array(engine, {3, 9, 21});
  const std::vector<int64_t> window = {3, 3}, step = {2, 2}, pad = {1, 1}, one = {1, 1};
  const Array out(DType::kF32, {3, 5, 11});
  const Array indices(DType::kI64, {3, 5, 11});
  indices.tensor().set_data(nullptr);
  expect_same_as_portable("aten::max_pool2d_with_indices.out", {image, window, step, pad, one, false}, {out, indices},
                          0);
  expect_same_as_portable("aten::avg_pool2d.out", {image, window, step, pad, false, false, nullptr}, {out});
}

TEST(PoolLast, RandomAdaptiveAverages) {
  in_turns(40, [](RandomPool& random, int) {
    const Array image = random.image(false);
    const std::vector<int64_t> size = random.pair(1, 14);
    const std::vector<int32_t> sizes = {image.sizes()[0], image.sizes()[1], static_cast<int32_t>(size[0]),
                                        static_cast<int32_t>(size[1])};
    expect_same_as_portable("aten::_adaptive_avg_pool2d.out", {image, size}, {Array(DType::kF32, sizes, {}, kLast)});
  });
}

TEST(MeanLast, OverPixelsRowsAndOtherDimensions) {
  in_turns(60, [](RandomPool& random, int i) {
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
  });
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
