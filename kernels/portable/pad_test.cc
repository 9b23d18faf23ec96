#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

enum Mode { kConstant, kReflect, kReplicate };

// Pads by the definition: pairs from the last dimension inward out.
Values padded(const Shape& shape, const Values& values, const Ints& pads, Mode mode, double value, Shape* result) {
  *result = shape;
  Ints before(shape.size());
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const size_t d = shape.size() - 1 - i;
    before[d] = pads[2 * i];
    (*result)[d] += static_cast<int32_t>(pads[2 * i] + pads[2 * i + 1]);
  }
  return filled(*result, [&](Ints at) {
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t x = at[d] - before[d];
      const int64_t last = shape[d] - 1;
      if (mode == kConstant && (x < 0 || x > last)) return value;
      if (mode == kReflect) x = x < 0 ? -x : x > last ? 2 * last - x : x;
      if (mode == kReplicate) x = std::clamp<int64_t>(x, 0, last);
      at[d] = x;
    }
    return values[flat(shape, at)];
  });
}

void check(Kernel kernel, const Shape& shape, const Ints& pads, Mode mode) {
  Shape result;
  const Values expected = padded(shape, numbered(shape), pads, mode, 9.5, &result);
  for (const Order& order : orders(shape.size())) {
    for (const Order& out_order : orders(shape.size())) {
      for (const int threads : {1, 3}) {
        const Array self(DType::kF32, shape, numbered(shape), order);
        const Array out(DType::kF32, result, {}, out_order);
        std::vector<Arg> args{self, pads};
        if (mode == kConstant) args.emplace_back(9.5);
        args.emplace_back(out);
        const Outcome outcome = run_with(kernel, args, threads);
        ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST(ConstantPad, PutsTheValueOutsideOnly) {
  const Shape shape{2, 3, 4, 5};
  for (const Ints& pads : {Ints{}, Ints{1, 2}, Ints{0, 0, 1, 1}, Ints{1, 1, 1, 1}, Ints{0, 0, 0, 0, 2, 1},
                           Ints{1, 0, 0, 2, 0, 0, 1, 1}, Ints{0, 0, 0, 0, 0, 0, 3, 0}}) {
    check(constant_pad_nd_out, shape, pads, kConstant);
  }
  check(constant_pad_nd_out, {3, 300}, {7, 9}, kConstant);
}

TEST(ConstantPad, NegativePaddingCrops) {
  for (const Ints& pads : {Ints{-1, -2}, Ints{-2, 3}, Ints{3, -4, -1, 0}, Ints{1, -2, -1, 2}, Ints{6, -8, 0, 0, -1, 5},
                           Ints{-9, 8}, Ints{8, -9}}) {
    check(constant_pad_nd_out, {2, 3, 4, 5}, pads, kConstant);
  }
  EXPECT_EQ(run(constant_pad_nd_out, {f32({5}), Ints{-5, 0}, 0, f32({0})}), Error::kOk);
}

TEST(ConstantPad, FillsAroundAnEmptyTensor) {
  const Array out = f32({2, 3});
  ASSERT_EQ(run(constant_pad_nd_out, {f32({2, 0}), Ints{1, 2}, 4, out}), Error::kOk);
  EXPECT_EQ(out.values(), Values(6, 4));
}

TEST(ConstantPad, RefusesImpossibleSizes) {
  const Array self = f32({2, 3});
  for (const Ints& pads : {Ints{1}, Ints{0, 0, 0, 0, 1, 1}, Ints{-2, -2}, Ints{INT64_MAX, 1}, Ints{INT64_MIN, 1},
                           Ints{INT32_MAX, INT32_MAX}, Ints(34, 0)}) {
    EXPECT_EQ(run(constant_pad_nd_out, {self, pads, 0, f32({2, 3})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(constant_pad_nd_out, {Array(DType::kI8, {2}), Ints{1, 1}, 300, Array(DType::kI8, {4})}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(constant_pad_nd_out, {self, Ints{1, 1}, 0, i32({2, 5})}), Error::kInvalidArgument);
}

TEST(ReflectionPad, MirrorsWithoutRepeatingTheEdge) {
  for (const Ints& pads : {Ints{0, 0}, Ints{4, 4}, Ints{1, 3}, Ints{-2, 3}, Ints{3, -4}, Ints{-1, -1}}) {
    check(reflection_pad1d_out, {2, 5}, pads, kReflect);
    check(reflection_pad1d_out, {2, 3, 5}, pads, kReflect);
  }
  for (const Ints& pads : {Ints{1, 2, 3, 0}, Ints{4, 4, 3, 3}, Ints{-1, 2, 3, -2}, Ints{0, 0, 1, 1}}) {
    check(reflection_pad2d_out, {3, 4, 5}, pads, kReflect);
    check(reflection_pad2d_out, {2, 3, 4, 5}, pads, kReflect);
  }
  check(reflection_pad3d_out, {2, 3, 4, 5}, {1, 2, 3, 0, 1, 2}, kReflect);
  check(reflection_pad3d_out, {2, 2, 3, 4, 5}, {0, 0, 1, 1, 2, 1}, kReflect);
}

TEST(ReflectionPad, RefusesMoreThanTheInput) {
  const Array self = f32({1, 5});
  for (const Ints& pads : {Ints{5, 0}, Ints{0, 5}, Ints{-9, 4}, Ints{1}, Ints{1, 1, 1, 1}, Ints{INT32_MAX, 0}}) {
    EXPECT_EQ(run(reflection_pad1d_out, {self, pads, f32({1, 10})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(reflection_pad1d_out, {f32({5}), Ints{1, 1}, f32({7})}), Error::kInvalidArgument);
  EXPECT_EQ(run(reflection_pad1d_out, {f32({1, 0}), Ints{1, 1}, f32({1, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(reflection_pad1d_out, {f32({0, 5}), Ints{1, 1}, f32({0, 7})}), Error::kOk);
}

TEST(ReplicationPad, RepeatsTheEdge) {
  for (const Ints& pads : {Ints{0, 0}, Ints{9, 4}, Ints{1, 30}, Ints{-2, 3}, Ints{3, -4}, Ints{-1, -1}}) {
    check(replication_pad1d_out, {2, 5}, pads, kReplicate);
  }
  for (const Ints& pads : {Ints{1, 2, 3, 0}, Ints{7, 7, 7, 7}, Ints{-1, 2, 3, -2}, Ints{0, 0, 5, 1}}) {
    check(replication_pad2d_out, {2, 3, 4, 5}, pads, kReplicate);
  }
  check(replication_pad3d_out, {2, 3, 4, 5}, {1, 2, 3, 0, 1, 2}, kReplicate);
  EXPECT_EQ(run(replication_pad1d_out, {f32({1, 0}), Ints{1, 1}, f32({1, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(replication_pad2d_out, {f32({1, 2}), Ints{1, 1, 1, 1}, f32({3, 4})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
