// Operators on bool, whole and quantised numbers, and on floats where these come into it, beside the portable kernels:
// to the bit.

#include "backends/vulkan/device_test/typed_testing.h"
#include "format/elementwise_code.h"
#include "runtime/device_explanation.h"

namespace berth::vulkan {
namespace {

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr uint32_t kCases = 2;
std::vector<int32_t> stretched(Dice& dice, std::vector<int32_t> sizes) {
  for (int32_t& size : sizes) size = dice.number(0, 2) == 0 ? 1 : size;
  return sizes;
}

TEST_F(VulkanTyped, ArithmeticOfWholeNumbersWraps) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> sizes = dice.sizes(static_cast<int>(dice.number(1, 4)), 9);
    for (const DType dtype : kWhole) {
      SCOPED_TRACE(to_string(dtype));
      const Array a = numbers(dice, dtype, sizes), b = numbers(dice, dtype, stretched(dice, sizes));
      const Array y(dtype, sizes, {}, dice.order(sizes.size()));
      EXPECT_SAME(add_out, {a, b, 1, y}, {a, b}, {y});
      EXPECT_SAME(add_out, {a, b, -3, y}, {a, b}, {y});
      EXPECT_SAME(sub_out, {a, b, 2, y}, {a, b}, {y});
      EXPECT_SAME(mul_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(maximum_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(minimum_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(add_Scalar_out, {a, 5, 2, y}, {a}, {y});
      EXPECT_SAME(sub_Scalar_out, {a, 5, 2, y}, {a}, {y});
      EXPECT_SAME(rsub_Scalar_out, {a, 5, 2, y}, {a}, {y});
      EXPECT_SAME(mul_Scalar_out, {a, -7, y}, {a}, {y});
      EXPECT_SAME(abs_out, {a, y}, {a}, {y});
      EXPECT_SAME(neg_out, {a, y}, {a}, {y});
      EXPECT_SAME(clamp_out, {a, 1, nullptr, y}, {a}, {y});
      EXPECT_SAME(clamp_out, {a, 0, 100, y}, {a}, {y});
      EXPECT_SAME(hardtanh_out, {a, 0, 2, y}, {a}, {y});
      EXPECT_SAME(bitwise_and_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(bitwise_or_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(bitwise_xor_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(bitwise_not_out, {a, y}, {a}, {y});
    }
    if (HasFailure()) return;
  }
}

// Each edge with each.
TEST_F(VulkanTyped, WholeNumbersOfTwoWordsWhereOneOfThemDecides) {
  const auto count = static_cast<int32_t>(kEdges.size());
  for (const DType dtype : {DType::kI64, DType::kI32}) {
    SCOPED_TRACE(to_string(dtype));
    const Array a = integers(dtype, {count, 1}, kEdges), b = integers(dtype, {1, count}, kEdges);
    const Array y(dtype, {count, count}), is(DType::kBool, {count, count}), one(dtype, {count, 1});
    EXPECT_SAME(lt_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(le_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(gt_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(ge_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(eq_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(ne_Tensor_out, {a, b, is}, {a, b}, {is});
    EXPECT_SAME(minimum_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(maximum_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(mul_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(neg_out, {a, one}, {a}, {one});
    EXPECT_SAME(abs_out, {a, one}, {a}, {one});
    for (const int64_t number : {int64_t{-3}, k32 + 1, (1 << 21) * k32 + 1, int64_t{INT64_MIN}}) {
      SCOPED_TRACE(number);
      EXPECT_SAME(add_out, {a, b, number, y}, {a, b}, {y});
      EXPECT_SAME(sub_out, {a, b, number, y}, {a, b}, {y});
      EXPECT_SAME(add_Scalar_out, {a, number, number, one}, {a}, {one});
      EXPECT_SAME(sub_Scalar_out, {a, 5, number, one}, {a}, {one});
      EXPECT_SAME(rsub_Scalar_out, {a, 5, number, one}, {a}, {one});
      EXPECT_SAME(clamp_out, {a, number, nullptr, one}, {a}, {one});
    }
  }
}

TEST_F(VulkanTyped, ComparisonsAndLogicOfEveryType) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> sizes = dice.sizes(static_cast<int>(dice.number(1, 4)), 9);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const Array a = numbers(dice, dtype, sizes), b = numbers(dice, dtype, stretched(dice, sizes));
      const Array y(DType::kBool, sizes, {}, dice.order(sizes.size()));
      EXPECT_SAME(eq_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(ne_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(lt_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(le_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(gt_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(ge_Tensor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(logical_and_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(logical_or_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(logical_xor_out, {a, b, y}, {a, b}, {y});
      EXPECT_SAME(logical_not_out, {a, y}, {a}, {y});
      EXPECT_SAME(eq_Scalar_out, {a, 2, y}, {a}, {y});
      EXPECT_SAME(ne_Scalar_out, {a, 2, y}, {a}, {y});
      EXPECT_SAME(lt_Scalar_out, {a, 0.5, y}, {a}, {y});
      EXPECT_SAME(le_Scalar_out, {a, -1, y}, {a}, {y});
      EXPECT_SAME(gt_Scalar_out, {a, 0, y}, {a}, {y});
      EXPECT_SAME(ge_Scalar_out, {a, 1, y}, {a}, {y});
    }
    const Array p = numbers(dice, DType::kBool, sizes), q = numbers(dice, DType::kBool, sizes);
    const Array r(DType::kBool, sizes);
    EXPECT_SAME(bitwise_and_Tensor_out, {p, q, r}, {p, q}, {r});
    EXPECT_SAME(bitwise_xor_Tensor_out, {p, q, r}, {p, q}, {r});
    EXPECT_SAME(bitwise_not_out, {p, r}, {p}, {r});
    if (HasFailure()) return;
  }
  // NaN is not equal to itself, and true.
  const Array x(DType::kF32, {4}, {NAN, 1, -0.0, INFINITY}), z(DType::kF32, {4}, {NAN, NAN, 0, INFINITY});
  const Array y(DType::kBool, {4});
  EXPECT_SAME(eq_Tensor_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(ne_Tensor_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(le_Tensor_out, {x, z, y}, {x, z}, {y});
  EXPECT_SAME(logical_not_out, {x, y}, {x}, {y});
  EXPECT_SAME(logical_and_out, {x, z, y}, {x, z}, {y});
}

TEST_F(VulkanTyped, ChoicesAndCopiesOfEveryType) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> s = dice.sizes(3, 9);
    const Array condition = numbers(dice, DType::kBool, stretched(dice, s));
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const Array a = numbers(dice, dtype, s), b = numbers(dice, dtype, stretched(dice, s));
      const auto to = [&](const std::vector<int32_t>& sizes) {
        return Array(dtype, sizes, {}, dice.order(sizes.size()));
      };
      const Array y = to(s), turned = to({s[2], s[0], s[1]}), flat = to({s[0] * s[1], s[2]});
      EXPECT_SAME(where_self_out, {condition, a, b, y}, {condition, a, b}, {y});
      EXPECT_SAME(masked_fill_Scalar_out, {a, condition, 1, y}, {a, condition}, {y});
      EXPECT_SAME(clone_out, {a, nullptr, y}, {a}, {y});
      EXPECT_SAME(permute_copy_out, {a, std::vector<int64_t>{2, 0, 1}, turned}, {a}, {turned});
      EXPECT_SAME(view_copy_out, {a, std::vector<int64_t>{s[0] * s[1], s[2]}, flat}, {a}, {flat});
      EXPECT_SAME(flip_out, {a, std::vector<int64_t>{0, 2}, y}, {a}, {y});
      const Array part = to({s[0], (s[1] + 1) / 2, s[2]}), joined = to({s[0], 2 * s[1], s[2]});
      EXPECT_SAME(slice_copy_Tensor_out, {a, 1, 0, int64_t{INT64_MAX}, 2, part}, {a}, {part});
      EXPECT_SAME(cat_out, {Arg::list({a, a}), 1, joined}, {a}, {joined});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, ShiftsOfWholeNumbers) {
  for (const DType dtype : kWhole) {
    SCOPED_TRACE(to_string(dtype));
    Dice dice(2);
    const Array x = numbers(dice, dtype, {9, 9}, false), y(dtype, {9, 9});
    const Array by = integers(dtype, {9}, {0, 1, 3, 7, 8, 31, 32, 63, 70});
    EXPECT_SAME(bitwise_left_shift_Tensor_out, {x, by, y}, {x, by}, {y});
    EXPECT_SAME(bitwise_right_shift_Tensor_out, {x, by, y}, {x, by}, {y});
    EXPECT_SAME(bitwise_left_shift_Tensor_Scalar_out, {x, 2, y}, {x}, {y});
    EXPECT_SAME(bitwise_right_shift_Tensor_Scalar_out, {x, 2, y}, {x}, {y});
  }
}

// Some places are named twice.
TEST_F(VulkanTyped, ScattersOfEveryType) {
  for (uint32_t seed = 0; seed < 2 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const Array self = numbers(dice, dtype, {3, 6, 4}), y(dtype, {3, 6, 4}, {}, dice.order(3));
      const DType of_index = seed % 2 == 0 ? DType::kI64 : DType::kI32;
      std::vector<int64_t> places(2 * 8 * 3);
      for (int64_t& place : places) place = dice.number(0, 5);
      const Array index = integers(of_index, {2, 8, 3}, places), src = numbers(dice, dtype, {2, 8, 4});
      EXPECT_SAME(scatter_src_out, {self, 1, index, src, y}, {self, index, src}, {y});
      EXPECT_SAME(scatter_value_out, {self, 1, index, 1, y}, {self, index}, {y});
      if (dtype == DType::kBool) continue;
      exact = is_integer(dtype);
      EXPECT_SAME(scatter_add_out, {self, -2, index, src, y}, {self, index, src}, {y});
      exact = true;
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, WhatIsNotANumberAndBitsOfOne) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(to_string(dtype));
    const bool real = !is_integer(dtype) && dtype != DType::kBool;
    const Array x(
        dtype, {6},
        real ? std::vector<double>{0, 1, NAN, INFINITY, -INFINITY, 3} : std::vector<double>{0, 1, 1, 0, 1, 1});
    const Array y(DType::kBool, {6}), z(dtype, {6});
    EXPECT_SAME(isnan_out, {x, y}, {x}, {y});
    EXPECT_SAME(isinf_out, {x, y}, {x}, {y});
    if (real) continue;
    const Arg other = dtype == DType::kBool ? Arg(true) : Arg(5);
    EXPECT_SAME(bitwise_and_Scalar_out, {x, other, z}, {x}, {z});
    EXPECT_SAME(bitwise_or_Scalar_out, {x, other, z}, {x}, {z});
    EXPECT_SAME(bitwise_xor_Scalar_out, {x, other, z}, {x}, {z});
  }
}

TEST_F(VulkanTyped, CastsAreTheHosts) {
  Dice dice(1);
  std::vector<double> values = {
      0,   -0.0, 0.5, -0.5,     1.5,       -1.5,       127.9,        128,           -129,         255.5,  256,
      300, -300, NAN, INFINITY, -INFINITY, 2147483520, 2147483648.0, -2147483648.0, 4294967296.0, 9.2e18, -9.3e18};
  for (int i = 0; i < 2000; ++i) {
    values.push_back(std::trunc(std::ldexp(static_cast<double>(dice.real()), static_cast<int>(dice.number(0, 62)))));
    // A half between two f32, and beside it.
    values.push_back(16777217.0 + 2 * i);
    values.push_back(-std::ldexp(16777217.0 + 2 * i, 30) - (i % 3 - 1) * 64);
  }
  const int32_t count = static_cast<int32_t>(values.size());
  std::vector<int64_t> wholes;
  for (const double value : values) {
    const bool fits = value > -9.2e18 && value < 9.2e18;
    // The low bits that a double does not have.
    wholes.push_back((fits ? static_cast<int64_t>(value) : 0) + dice.number(-1, 1));
  }
  for (const DType from : kAll) {
    const Array x = is_floating(from) ? Array(from, {count}, values) : integers(from, {count}, wholes);
    for (const DType to : kAll) {
      // Each meets those in the middle.
      if (from != DType::kF32 && from != DType::kI64 && to != DType::kF32 && to != DType::kI64) continue;
      SCOPED_TRACE(std::string(to_string(from)) + " to " + to_string(to));
      const Array y(to, {count});
      EXPECT_SAME(to_dim_order_copy_out, {x, false, nullptr, y}, {x}, {y});
    }
  }
}

TEST_F(VulkanTyped, RowsAndElementsByIndices) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kU8}) {
      SCOPED_TRACE(to_string(dtype));
      const std::vector<int32_t> s = dice.sizes(3, 7);
      const Array self = numbers(dice, dtype, s), table = numbers(dice, dtype, {s[0], s[1]});
      const DType index_type = dice.coin() ? DType::kI64 : DType::kI32;
      const auto indices = [&](const std::vector<int32_t>& sizes, int64_t below) {
        Array made = numbers(dice, index_type, sizes);
        std::vector<double> at = made.values();
        for (double& one : at) one = static_cast<double>(dice.number(0, below - 1));
        made.set(at);
        return made;
      };
      const int32_t rows = dice.size(5), lines = dice.size(4);
      const Array ids = indices({rows, lines}, s[0]);
      const Array picked(dtype, {rows, lines, s[1]}, {}, dice.order(3));
      EXPECT_SAME(embedding_out, {table, ids, -1, false, false, picked}, {table, ids}, {picked});
      std::vector<double> from_end = ids.values();
      for (double& one : from_end) one = static_cast<double>(dice.number(-s[1], s[1] - 1));
      const Array any(index_type, {rows, lines}, from_end), chosen(dtype, {s[0], rows, lines, s[2]}, {}, dice.order(4));
      EXPECT_SAME(index_Tensor_out, {self, Arg::list({nullptr, any}), chosen}, {self, any}, {chosen});
      const int dim = static_cast<int>(dice.number(0, 2));
      std::vector<int32_t> sizes = s;
      sizes[dim] = rows;
      const Array list = indices({rows}, s[dim]);
      const Array slabs(dtype, sizes, {}, dice.order(3));
      EXPECT_SAME(index_select_out, {self, dim, list, slabs}, {self, list}, {slabs});
      const Array places = indices(sizes, s[dim]);
      EXPECT_SAME(gather_out, {self, dim, places, false, slabs}, {self, places}, {slabs});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, QuantisedAndBack) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> s = dice.sizes(3, 9);
    Array x = dice.array(s, true);
    std::vector<double> values = x.values();
    values[0] = seed == 0 ? NAN : seed == 1 ? INFINITY : 1e30;
    x.set(values);
    std::vector<double> steps(s[1]), zeros(s[1]);
    for (int32_t c = 0; c < s[1]; ++c) {
      steps[c] = 0.01 * (1 + c);
      zeros[c] = static_cast<double>(dice.number(-5, 5));
    }
    const Array scales(DType::kF32, {s[1]}, steps), points(DType::kI64, {s[1]}, zeros);
    for (const DType dtype : {DType::kU8, DType::kI8, DType::kI32}) {
      SCOPED_TRACE(to_string(dtype));
      const int64_t named = static_cast<int64_t>(dtype);
      const int64_t low = dtype == DType::kU8 ? 0 : dtype == DType::kI8 ? -127 : -100000, high = low + 250;
      const Array q(dtype, s, {}, dice.order(3)), y(DType::kF32, s, {}, dice.order(3));
      EXPECT_SAME(quantize_per_tensor_out, {x, 0.0137, 3, low, high, named, q}, {x}, {q});
      EXPECT_SAME(quantize_per_channel_out, {x, scales, points, 1, low, high, named, q}, {x, scales, points}, {q});
      const Array whole = numbers(dice, dtype, s);
      EXPECT_SAME(dequantize_per_tensor_out, {whole, 0.0137, 3, low, high, named, nullptr, y}, {whole}, {y});
      EXPECT_SAME(dequantize_per_channel_out, {whole, scales, points, 1, low, high, named, nullptr, y},
                  {whole, scales, points}, {y});
      EXPECT_SAME(dequantize_per_channel_out, {whole, scales, nullptr, 1, low, high, named, nullptr, y},
                  {whole, scales}, {y});
    }
    if (HasFailure()) return;
  }
}

// Chains read bytes and whole numbers of 32 bits as f32, and their last step may make bytes, also of what is none.
TEST_F(VulkanTyped, ChainsBetweenBytes) {
  using elementwise::Op;
  const auto code = [](std::initializer_list<int64_t> numbers) { return std::vector<int64_t>(numbers); };
  const auto of = [](Op op) { return static_cast<int64_t>(op); };
  const std::vector<double> constants = {3, 0.25};
  const Array gains[] = {Array(DType::kF32, {7}, {0.5, 1, -2, 3.25, 0, 8, -0.75}),
                         Array(DType::kF32, {7}, {NAN, INFINITY, -INFINITY, 1e10, -1e10, 2147483648.0, -0.0})};
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kI32}) {
    SCOPED_TRACE(to_string(dtype));
    Dice dice(1);
    const Array x = numbers(dice, dtype, {3, 5, 7}, false), z(DType::kF32, {3, 5, 7}), bytes(DType::kI8, {3, 5, 7});
    const Array whole(DType::kU8, {3, 5, 7});
    for (const Array& gain : gains) {
      EXPECT_SAME(fused_elementwise_out,
                  {Arg::list({x, gain}), code({of(Op::kSub), 0, 2, 0, of(Op::kMul), 4, 1, 0}), constants, z}, {x, gain},
                  {z});
      EXPECT_SAME(
          fused_elementwise_out,
          {Arg::list({x, gain}),
           code({of(Op::kMul), 0, 1, 0, of(Op::kDiv), 4, 3, 0, of(Op::kRound), 5, 0, 0, of(Op::kToI8), 6, 0, 0}),
           constants, bytes},
          {x, gain}, {bytes});
      EXPECT_SAME(fused_elementwise_out,
                  {Arg::list({x, gain}), code({of(Op::kMul), 0, 1, 0, of(Op::kAdd), 4, 2, 0, of(Op::kMul),  5, 5, 0,
                                               of(Op::kMul), 6, 3, 0, of(Op::kAdd), 7, 2, 0, of(Op::kToU8), 8, 0, 0}),
                   constants, whole},
                  {x, gain}, {whole});
      // Bytes that are computed with again.
      EXPECT_SAME(fused_elementwise_out,
                  {Arg::list({x, gain}),
                   code({of(Op::kMul), 0, 1, 0, of(Op::kToU8), 4, 0, 0, of(Op::kToI8), 4, 0, 0, of(Op::kSub), 5, 6, 0}),
                   constants, z},
                  {x, gain}, {z});
    }
  }
}

struct BadIndex {
  int64_t index;
  const char* sentence;
};
const BadIndex kBadIndices[] = {
    {3, "aten::embedding: index 3 is outside the dimension of 3 that it selects from"},
    {-1, "aten::embedding: index -1 is outside the dimension of 3 that it selects from"},
    {5 * k32 + 1, "aten::embedding: index 21474836481 is outside the dimension of 3 that it selects from"},
};

// Only the device sees an index: the next call that waits for it fails, once, and says which index; element 0 is taken
// for it, and nothing outside of the tensor is read.
TEST_F(VulkanTyped, AnIndexOutOfRangeIsAnErrorOfTheRun) {
  for (const BadIndex& bad : kBadIndices) {
    const Array table(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), y(DType::kF32, {2, 2});
    const Array ids = integers(DType::kI64, {2}, {1, bad.index});
    OnDevice on(device(), {table, ids, y});
    EXPECT_EQ(on.ask(vulkan::embedding_out, {table, ids, -1, false, false, y}), Error::kOk) << on.message;
    EXPECT_EQ(on.session.run_steps(), Error::kInvalidArgument);
    EXPECT_STREQ(take_explanation(), bad.sentence);
    EXPECT_EQ(on.session.run_steps(), Error::kOk);
    EXPECT_EQ(on.floats(y), (std::vector<float>{3, 4, 1, 2}));
  }
}

TEST_F(VulkanTyped, AnIndexOutOfRangeIsAnErrorOfEachRecordedRun) {
  for (const BadIndex& bad : kBadIndices) {
    const Array table(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), y(DType::kF32, {2, 2});
    const Array ids = integers(DType::kI64, {2}, {1, bad.index});
    OnDevice on(device(), {table, ids, y});
    EXPECT_EQ(on.ask(vulkan::embedding_out, {table, ids, -1, false, false, y}), Error::kOk) << on.message;
    Result<std::unique_ptr<Recording>> recording = on.session.record_steps();
    ASSERT_TRUE(recording.ok());
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ((*recording)->submit(on.session.stream), Error::kOk);
      float host[4] = {};
      EXPECT_EQ(device().copy_device_to_host(host, y.tensor().raw(), sizeof host, 0, on.stream),
                Error::kInvalidArgument);
      EXPECT_STREQ(take_explanation(), bad.sentence);
      EXPECT_EQ(on.floats(y), (std::vector<float>{3, 4, 1, 2}));
    }
  }
}

// Where a card has a memory of its own, copies to the host are begun, and the next one that is waited for says it.
TEST_F(VulkanTyped, AnIndexOutOfRangeIsSaidByACopyThatWasBegun) {
  VulkanOptions options;
  options.validation = true;
  options.staged = true;
  VulkanAllocator staged(options);
  const Array table(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), y(DType::kF32, {2, 2});
  const Array ids = integers(DType::kI64, {2}, {1, 3});
  OnDevice on(staged, {table, ids, y});
  EXPECT_EQ(on.ask(vulkan::embedding_out, {table, ids, -1, false, false, y}), Error::kOk) << on.message;
  Result<std::unique_ptr<Recording>> recording = on.session.record_steps();
  ASSERT_TRUE(recording.ok());
  ASSERT_EQ((*recording)->submit(on.session.stream), Error::kOk);
  float host[4] = {};
  const auto begun = staged.begin_copy_to_host(host, y.tensor().raw(), sizeof host, 0, on.stream);
  ASSERT_TRUE(begun.ok());
  ASSERT_NE(*begun, 0u);
  EXPECT_EQ(staged.finish_copy_to_host(*begun, 0, on.stream), Error::kInvalidArgument);
  EXPECT_STREQ(take_explanation(), "aten::embedding: index 3 is outside the dimension of 3 that it selects from");
  EXPECT_EQ((std::vector<float>{host, host + 4}), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(staged.finish_copy_to_host(*begun, 0, on.stream), Error::kOk) << "it is said once";
  ASSERT_EQ(staged.synchronize(on.stream, 0), Error::kOk);
}

// Each of the four says its name, and an index from the end as it was given.
TEST_F(VulkanTyped, AnIndexOutOfRangeIsOfAnOperator) {
  const Array table(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), y(DType::kF32, {2, 2}), out(DType::kF32, {3, 2});
  const Array ids = integers(DType::kI64, {2}, {1, -4}), places = integers(DType::kI64, {2, 2}, {0, 0, -4, 0});
  OnDevice on(device(), {table, ids, places, y, out});
  const auto said = [&] {
    EXPECT_EQ(on.session.run_steps(), Error::kInvalidArgument);
    const char* const why = take_explanation();
    return std::string(why == nullptr ? "" : why);
  };
  const std::string rest = ": index -4 is outside the dimension of 3 that it selects from";
  EXPECT_EQ(on.ask(vulkan::embedding_out, {table, ids, -1, false, false, y}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::embedding" + rest);
  EXPECT_EQ(on.ask(vulkan::index_Tensor_out, {table, Arg::list({ids}), y}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::index" + rest);
  EXPECT_EQ(on.ask(vulkan::index_select_out, {table, 0, ids, y}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::index_select" + rest);
  EXPECT_EQ(on.ask(vulkan::gather_out, {table, 0, places, false, y}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::gather" + rest);
  EXPECT_EQ(on.ask(vulkan::scatter_src_out, {table, 0, places, y, out}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::scatter" + rest);
  EXPECT_EQ(on.ask(vulkan::scatter_add_out, {table, 0, places, y, out}), Error::kOk) << on.message;
  EXPECT_EQ(said(), "aten::scatter_add" + rest);
}

// What they find is written by atomic operations, so that none of them waits for another.
TEST_F(VulkanTyped, PickingRowsTwiceNeedsNoBarrierBetween) {
  const Array table(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}), y(DType::kF32, {2, 2}), z(DType::kF32, {2, 2});
  const Array ids = integers(DType::kI64, {2}, {1, 2}), bad = integers(DType::kI64, {2}, {9, 0});
  OnDevice on(device(), {table, ids, bad, y, z});
  EXPECT_EQ(on.ask(vulkan::embedding_out, {table, ids, -1, false, false, y}), Error::kOk) << on.message;
  EXPECT_EQ(on.ask(vulkan::embedding_out, {table, bad, -1, false, false, z}), Error::kOk) << on.message;
  Result<std::unique_ptr<Recording>> recording = on.session.record_steps();
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ((*recording)->dispatches(), 2u);
  EXPECT_EQ((*recording)->barriers(), 1u) << "one before the host reads";
  ASSERT_EQ((*recording)->submit(on.session.stream), Error::kOk);
  EXPECT_EQ(device().synchronize(on.stream, 0), Error::kInvalidArgument);
  EXPECT_EQ(on.floats(y), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(on.floats(z), (std::vector<float>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace berth::vulkan
