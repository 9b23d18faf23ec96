// Layer norm, RMS norm, group norm and softmax against the portable kernels. The fears: ends of rows, a mean far from
// 0, weights that are not there, numbers beyond the exponential's range, an output that is the input; in f16 and bf16 a
// result that is rounded twice, or off by the numbers of another row, temporary memory that is too small for smaller
// rows.

#include <gtest/gtest.h>

#include <array>

#include "base/seeds_testing.h"
#include "kernels/cpu/narrow_testing.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;

// Of arrays of f32 that hold numbers of `type`: those of the kernel of f32, rounded.
void expect_rounded(const std::string& name, DType type, const std::vector<Arg>& wide, const std::vector<Arg>& narrow,
                    const std::vector<Array>& outs) {
  for (const int threads : {1, 3}) {
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(name + " on " + std::to_string(threads) + " threads, " + target);
      std::vector<Array> found;
      for (const Array& out : outs) found.push_back(as_type(out, type));
      ASSERT_EQ(call(kernel_of(kernels(), name), wide, outs, threads).error, Error::kOk);
      ASSERT_EQ(call(kernel_of(kernels(), name), narrow, found, threads).error, Error::kOk);
      for (size_t i = 0; i < outs.size(); ++i) expect_close(as_type(outs[i], type), found[i], 0);
    });
  }
}

struct Pair {
  Array wide, narrow;
};

Pair random_pair(std::mt19937& random, DType type, std::vector<int32_t> sizes, bool special = false,
                 std::vector<uint8_t> order = {}) {
  const Array narrow = as_type(random_array(random, std::move(sizes), std::move(order), special), type);
  return {as_type(narrow, DType::kF32), narrow};
}

constexpr DType kNarrowTypes[] = {DType::kF16, DType::kBF16};

TEST(LayerNorm, NarrowRowsGiveTheBitsOfRoundedOnes) {
  std::mt19937 random(8);
  for (const DType type : kNarrowTypes) {
    for (const int32_t n : {1, 7, 16, 65, 384, 5000}) {
      for (const int32_t rows : {1, 9}) {
        const Pair x = random_pair(random, type, {rows, n});
        const Pair w = random_pair(random, type, {n}), b = random_pair(random, type, {n});
        const std::vector<Array> outs = {f32({rows, n}), f32({rows, 1}), f32({rows, 1})};
        const std::vector<int64_t> shape = {n};
        constexpr char kName[] = "aten::native_layer_norm.out";
        expect_rounded(kName, type, {x.wide, shape, w.wide, b.wide, 1e-5}, {x.narrow, shape, w.narrow, b.narrow, 1e-5},
                       outs);
        expect_rounded(kName, type, {x.wide, shape, w.wide, nullptr, 1e-5}, {x.narrow, shape, w.wide, nullptr, 1e-5},
                       outs);
        expect_rounded(kName, type, {x.wide, shape, nullptr, b.wide, 1e-5}, {x.narrow, shape, nullptr, b.narrow, 1e-5},
                       outs);
        expect_rounded(kName, type, {x.wide, shape, nullptr, nullptr, 1e-5}, {x.narrow, shape, nullptr, nullptr, 1e-5},
                       outs);
      }
    }
  }
}

TEST(LayerNorm, MomentsOfNarrowRowsMayBeF32) {
  std::mt19937 random(9);
  const Pair x = random_pair(random, DType::kBF16, {6, 33});
  const std::vector<int64_t> shape = {33};
  const std::vector<Array> outs = {f32({6, 33}), f32({6, 1}), f32({6, 1})};
  const std::vector<Array> found = {as_type(outs[0], DType::kBF16), f32({6, 1}), f32({6, 1})};
  const KernelEntry& kernel = kernel_of(kernels(), "aten::native_layer_norm.out");
  ASSERT_EQ(call(kernel, {x.wide, shape, nullptr, nullptr, 1e-5}, outs, 1).error, Error::kOk);
  ASSERT_EQ(call(kernel, {x.narrow, shape, nullptr, nullptr, 1e-5}, found, 1).error, Error::kOk);
  expect_close(outs[1], found[1], 0);
  expect_close(outs[2], found[2], 0);
}

TEST(Softmax, NarrowRowsGiveTheBitsOfRoundedOnes) {
  std::mt19937 random(10);
  for (const DType type : kNarrowTypes) {
    for (const int32_t n : {1, 3, 8, 9, 33, 197, 5000}) {
      for (const int32_t rows : {1, 7, 37}) {
        const Pair x = random_pair(random, type, {rows, n}, rows == 7);
        for (const char* name : {"aten::_softmax.out", "aten::_log_softmax.out"}) {
          expect_rounded(name, type, {x.wide, -1, false}, {x.narrow, 1, false}, {f32({rows, n})});
        }
      }
    }
    const Pair image = random_pair(random, type, {2, 21, 4, 5}, false, {0, 2, 3, 1});
    expect_rounded("aten::_softmax.out", type, {image.wide, 1, false}, {image.narrow, 1, false},
                   {array_like(image.wide)});
  }
}

TEST(Softmax, NarrowRowsInPlaceAndAlongAnotherDimension) {
  std::mt19937 random(11);
  const Pair x = random_pair(random, DType::kF16, {33, 500});
  const Array y = array_like(x.narrow);
  const KernelEntry& kernel = kernel_of(kernels(), "aten::_softmax.out");
  ASSERT_EQ(call(kernel, {x.narrow, 1, false}, {y}, 3).error, Error::kOk);
  expect_same_as_portable("aten::_softmax.out", {x.narrow, 0, false}, {y}, 2e-3);
  const Array z = array_like(x.narrow);
  ASSERT_EQ(call(kernel, {x.narrow, 1, false}, {z}, 3).error, Error::kOk);
  ASSERT_EQ(call(kernel, {x.narrow, 1, false}, {x.narrow}, 3).error, Error::kOk);
  expect_close(z, x.narrow, 0);
}

TEST(LayerNorm, RowsOfEveryLength) {
  std::mt19937 random(1);
  for (const int32_t n : {1, 2, 15, 16, 17, 64, 65, 100, 384, 1000}) {
    const Array x = random_array(random, {2, 3, n});
    const Array weight = random_array(random, {n});
    const Array bias = random_array(random, {n});
    for (int given = 0; given < 4; ++given) {
      const Arg w = (given & 1) != 0 ? Arg(weight) : Arg(nullptr);
      const Arg b = (given & 2) != 0 ? Arg(bias) : Arg(nullptr);
      expect_same_as_portable("aten::native_layer_norm.out", {x, std::vector<int64_t>{n}, w, b, 1e-5},
                              {f32({2, 3, n}), f32({2, 3, 1}), f32({2, 3, 1})});
    }
  }
}

TEST(LayerNorm, SeveralDimensionsAndAMeanFarFromZero) {
  std::mt19937 random(2);
  const Array x = random_array(random, {4, 6, 10});
  for (int64_t i = 0; i < x.tensor().numel(); ++i) x.tensor().data<float>()[i] += 1000;
  expect_same_as_portable("aten::native_layer_norm.out",
                          {x, std::vector<int64_t>{6, 10}, random_array(random, {6, 10}), nullptr, 1e-5},
                          {f32({4, 6, 10}), f32({4, 1, 1}), f32({4, 1, 1})}, 1e-3);
}

TEST(RmsNorm, RowsOfEveryLengthWithAndWithoutWeight) {
  std::mt19937 random(11);
  for (const int32_t n : {1, 3, 15, 16, 17, 64, 65, 384, 5000}) {
    for (const int32_t rows : {1, 9}) {
      const Array x = random_array(random, {rows, n});
      expect_same_as_portable("berth::rms_norm.out", {x, random_array(random, {n}), 1e-5}, {f32({rows, n})});
      expect_same_as_portable("berth::rms_norm.out", {x, nullptr, 1e-5}, {f32({rows, n})});
    }
  }
}

TEST(GroupNorm, ImagesOfEverySize) {
  std::mt19937 random(5);
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (const auto& [batch, channels, height, width] : {std::array<int32_t, 4>{1, 6, 1, 1},
                                                       {2, 12, 1, 7},
                                                       {1, 48, 5, 9},
                                                       {2, 100, 16, 3},
                                                       {1, 24, 1, 3000},
                                                       {2, 96, 40, 33}}) {
    const Array x = random_array(random, {batch, channels, height, width}, last);
    const Array weight = random_array(random, {channels});
    const Array bias = random_array(random, {channels});
    for (const int32_t groups : {1, 3, channels}) {
      for (int given = 0; given < 4; ++given) {
        const Arg w = (given & 1) != 0 ? Arg(weight) : Arg(nullptr);
        const Arg b = (given & 2) != 0 ? Arg(bias) : Arg(nullptr);
        expect_same_as_portable("aten::native_group_norm.out", {x, w, b, batch, channels, height * width, groups, 1e-5},
                                {array_like(x), f32({batch, groups}), f32({batch, groups})});
      }
    }
  }
}

TEST(GroupNorm, AMeanFarFromZeroInAnotherOrderAndInPlace) {
  std::mt19937 random(6);
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array x = random_array(random, {1, 32, 30, 40}, last);
  for (int64_t i = 0; i < x.tensor().numel(); ++i) x.tensor().data<float>()[i] += 1000;
  const std::vector<Array> moments = {f32({1, 4}), f32({1, 4})};
  expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5},
                          {array_like(x), moments[0], moments[1]}, 1e-3);
  expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5},
                          {f32({1, 32, 30, 40}), moments[0], moments[1]}, 1e-3);
  const std::vector<Arg> args = {x, nullptr, nullptr, 1, 32, 1200, 4, 1e-5};
  const Array y = array_like(x);
  ASSERT_EQ(call(kernel_of(kernels(), "aten::native_group_norm.out"), args, {y, moments[0], moments[1]}, 3).error,
            Error::kOk);
  ASSERT_EQ(call(kernel_of(kernels(), "aten::native_group_norm.out"), args, {x, moments[0], moments[1]}, 3).error,
            Error::kOk);
  EXPECT_EQ(x.values(), y.values());
}

// How far a result of 16 bits may lie from one that was computed in double and rounded.
double narrow_tolerance(DType type) { return type == DType::kF16 ? 0x1p-10 : 0x1p-7; }

TEST(GroupNorm, NarrowImagesOfEverySizeAndOrder) {
  std::mt19937 random(12);
  for (const DType type : kNarrowTypes) {
    for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 2, 3, 1}, std::vector<uint8_t>{0, 1, 2, 3}}) {
      for (const auto& [batch, channels, height, width] :
           {std::array<int32_t, 4>{1, 6, 1, 1}, {2, 12, 1, 7}, {2, 48, 5, 9}, {1, 24, 1, 3000}, {1, 96, 20, 33}}) {
        const Array x = random_pair(random, type, {batch, channels, height, width}, false, order).narrow;
        const Array narrow = random_pair(random, type, {channels}).narrow;
        const Array wide = random_array(random, {channels});
        for (const int32_t groups : {1, channels / 3}) {
          for (const bool given : {false, true}) {
            const Arg w = given ? Arg(narrow) : Arg(nullptr);
            const Arg b = given ? Arg(wide) : Arg(nullptr);
            expect_same_as_portable(
                "aten::native_group_norm.out", {x, w, b, batch, channels, height * width, groups, 1e-5},
                {array_like(x), Array(type, {batch, groups}), Array(type, {batch, groups})}, narrow_tolerance(type));
          }
        }
      }
    }
  }
}

TEST(GroupNorm, NarrowRowsWithAMeanFarFromZeroInPlace) {
  std::mt19937 random(13);
  const Array wide = random_array(random, {2, 4, 9000});
  for (int64_t i = 0; i < wide.tensor().numel(); ++i) wide.tensor().data<float>()[i] += 100;
  const Array x = as_type(wide, DType::kF16);
  const Array mean(DType::kF16, {2, 2}), rstd(DType::kF16, {2, 2});
  const std::vector<Arg> args = {x, nullptr, nullptr, 2, 4, 9000, 2, 1e-5};
  expect_same_as_portable("aten::native_group_norm.out", args, {array_like(x), mean, rstd},
                          narrow_tolerance(DType::kF16));
  const Array y = array_like(x);
  const KernelEntry& kernel = kernel_of(kernels(), "aten::native_group_norm.out");
  ASSERT_EQ(call(kernel, args, {y, mean, rstd}, 3).error, Error::kOk);
  ASSERT_EQ(call(kernel, args, {x, mean, rstd}, 3).error, Error::kOk);
  EXPECT_EQ(x.values(), y.values());
}

TEST(GroupNorm, WrongSizesAreRefusedAsByThePortableKernel) {
  std::mt19937 random(7);
  const Array x = random_array(random, {1, 6, 4, 5}, {0, 2, 3, 1});
  for (const int32_t groups : {0, -2, 4}) {
    expect_same_as_portable("aten::native_group_norm.out", {x, nullptr, nullptr, 1, 6, 20, groups, 1e-5},
                            {array_like(x), f32({1, 2}), f32({1, 2})});
  }
  expect_same_as_portable("aten::native_group_norm.out", {x, random_array(random, {5}), nullptr, 1, 6, 20, 2, 1e-5},
                          {array_like(x), f32({1, 2}), f32({1, 2})});
}

TEST(Softmax, RowsOfEveryLengthAndEveryNumber) {
  std::mt19937 random(3);
  for (const int32_t n : {1, 2, 3, 5, 8, 9, 12, 16, 17, 33, 197, 1000}) {
    for (const int32_t rows : {1, 7, 16, 37}) {
      for (const bool special : {false, true}) {
        const Array x = random_array(random, {rows, n}, {}, special);
        x.tensor().data<float>()[0] = 300;
        expect_same_as_portable("aten::_softmax.out", {x, -1, false}, {f32({rows, n})}, 2e-6);
        expect_same_as_portable("aten::_log_softmax.out", {x, 1, false}, {f32({rows, n})}, 2e-6);
      }
    }
  }
  expect_same_as_portable("aten::_softmax.out", {random_array(random, {4, 5}), 0, false}, {f32({4, 5})});
  const std::vector<uint8_t> order = {0, 2, 3, 1};
  const Array image = random_array(random, {2, 21, 4, 5}, order);
  for (const int dim : {1, 2, -3, 5}) {
    expect_same_as_portable("aten::_softmax.out", {image, dim, false}, {array_like(image)});
    expect_same_as_portable("aten::_softmax.out", {image, dim, false}, {f32({2, 21, 4, 5})});
  }
}

TEST(NarrowNorms, TheTemporaryMemoryOfOpenSizesIsEnoughForEachSmallerOne) {
  testing::for_each_seed(60, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto whole = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const int threads = whole(1, 4);
    const int32_t channels = 3 * whole(1, 20);
    const int32_t most[] = {whole(1, 3), whole(1, 90), whole(1, 90)};
    const bool last = whole(0, 1) == 0;
    size_t softmax = 0, layer = 0, group = 0;
    for (int i = 0; i < 8; ++i) {
      int32_t n[3];
      for (int d = 0; d < 3; ++d) n[d] = i == 0 || whole(0, 2) == 0 ? most[d] : whole(1, most[d]);
      const auto open = [&](std::vector<int32_t> sizes) {
        const std::vector<uint8_t> order =
            sizes.size() == 4 && last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
        return Array(DType::kF16, std::move(sizes), {}, order, ShapeDynamism::kBounded);
      };
      const auto run = [&](const char* name, std::vector<Arg> args, size_t* bytes) {
        std::vector<EValue*> values;
        for (Arg& arg : args) values.push_back(arg.value());
        const KernelEntry& entry = kernel_of(kernels(), name);
        if (i == 0) *bytes = entry.temp_bytes({values.data(), values.size()}, threads);
        const testing::Outcome outcome = testing::run_with(entry.call, args, threads, *bytes);
        ASSERT_EQ(outcome.error, Error::kOk)
            << name << ": " << outcome.message << " with " << n[0] << " x " << n[1] << " x " << n[2];
      };
      const std::vector<int32_t> rows = {n[0], n[1], 40 * n[2]}, image = {n[0], channels, n[1], n[2]};
      run("aten::_softmax.out", {open(rows), 2, false, open(rows)}, &softmax);
      run("aten::native_layer_norm.out",
          {open(rows), std::vector<int64_t>{rows[2]}, nullptr, nullptr, 1e-5, open(rows), open({n[0], n[1], 1}),
           open({n[0], n[1], 1})},
          &layer);
      run("aten::native_group_norm.out",
          {open(image), nullptr, nullptr, n[0], channels, n[1] * n[2], 3, 1e-5, open(image), open({n[0], 3}),
           open({n[0], 3})},
          &group);
    }
  });
}

TEST(Softmax, TheOutputMayBeTheInput) {
  std::mt19937 random(4);
  for (const int32_t n : {3, 50}) {
    const Array x = random_array(random, {33, n});
    const Array y = f32({33, n});
    ASSERT_EQ(call(kernel_of(portable::kernels(), "aten::_softmax.out"), {x, 1, false}, {y}, 1).error, Error::kOk);
    ASSERT_EQ(call(kernel_of(kernels(), "aten::_softmax.out"), {x, 1, false}, {x}, 1).error, Error::kOk);
    expect_close(y, x, 1e-6);
  }
}

}  // namespace
}  // namespace berth::cpu
