// The driver of element-wise kernels: any sizes, any dimension orders, any dtypes, in place and on threads.
#include "kernels/portable/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// The place in a tensor of `sizes` of what is at row-major position `index` of a result of sizes `result`.
size_t broadcast_place(const Shape& sizes, const Shape& result, size_t index) {
  size_t place = 0;
  size_t stride = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t result_size = result[result.size() - 1 - i];
    const size_t at = index % result_size;
    index /= result_size;
    if (i >= sizes.size()) continue;
    const size_t size = sizes[sizes.size() - 1 - i];
    if (size != 1) place += at * stride;
    stride *= size;
  }
  return place;
}

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }

  Shape shape() {
    Shape sizes(below(5));
    for (int32_t& size : sizes) size = static_cast<int32_t>(below(8) == 0 ? 40 : 1 + below(5));
    if (!sizes.empty() && below(20) == 0) sizes[0] = 0;
    return sizes;
  }
  // Something that broadcasts to `sizes`.
  Shape part(const Shape& sizes) {
    Shape part(sizes.begin() + static_cast<std::ptrdiff_t>(below(static_cast<int64_t>(sizes.size()) + 1)), sizes.end());
    for (int32_t& size : part) {
      if (below(3) == 0) size = 1;
    }
    return part;
  }
  Array tensor(DType dtype, const Shape& sizes) {
    std::vector<uint8_t> order(sizes.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
    if (below(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    Values values(count_of(sizes));
    for (double& value : values) value = static_cast<double>(below(100)) - (dtype == DType::kU8 ? 0 : 50);
    return Array(dtype, sizes, values, order);
  }

 private:
  std::mt19937 random_;
};

TEST(Elementwise, SumsInAnyLayoutAndBroadcastEqualAPlainLoop) {
  const uint32_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF64,
                          DType::kI64, DType::kI16, DType::kF16, DType::kU8};
  for (int round = 0; round < 600; ++round) {
    const Shape sizes = generator.shape();
    Shape a_sizes = generator.part(sizes);
    const Shape b_sizes = generator.part(sizes);
    // Together they must make up all of the result's sizes.
    if (a_sizes.size() < sizes.size() || round % 2 == 0) a_sizes = sizes;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t from_end = sizes.size() - i;
      const bool in_b = from_end <= b_sizes.size() && b_sizes[b_sizes.size() - from_end] == sizes[i];
      if (!in_b) a_sizes[i] = sizes[i];
    }
    const Array a = generator.tensor(dtypes[generator.below(8)], a_sizes);
    const Array b = generator.tensor(dtypes[generator.below(8)], b_sizes);
    const DType common = promote_types(a.tensor().dtype(), b.tensor().dtype());
    const Array out = generator.tensor(common, sizes);
    ASSERT_EQ(run_with(add_out, {a, b, 1, out}, 1 + round % 3).error, Error::kOk);
    const Values a_values = a.values();
    const Values b_values = b.values();
    const Values actual = out.values();
    ASSERT_TRUE(out.intact());
    for (size_t i = 0; i < actual.size(); ++i) {
      double expected = a_values[broadcast_place(a_sizes, sizes, i)] + b_values[broadcast_place(b_sizes, sizes, i)];
      if (common == DType::kU8) expected = static_cast<double>(static_cast<int>(expected) & 255);
      ASSERT_EQ(actual[i], expected) << "round " << round << ", element " << i;
    }
  }
}

TEST(Elementwise, ChannelsOfAnImage) {
  const Array image(DType::kF32, {2, 3, 8, 8}, Values(384, 1), {});
  const Array bias = f32({3, 1, 1}, {10, 20, 30});
  const Array out = f32({2, 3, 8, 8});
  ASSERT_EQ(run(add_out, {image, bias, 1, out}), Error::kOk);
  const Values values = out.values();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 1 + 10 * static_cast<double>(1 + i / 64 % 3));
}

TEST(Elementwise, InPlaceOnEitherArgumentWithThreads) {
  const Shape sizes = {7, 300, 50};
  Values a_values(105000);
  Values b_values(105000);
  for (size_t i = 0; i < a_values.size(); ++i) {
    a_values[i] = static_cast<double>(i % 97);
    b_values[i] = static_cast<double>(i % 89);
  }
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32}) {
    for (const bool second : {false, true}) {
      const Array a(dtype, sizes, a_values);
      const Array b(dtype, sizes, b_values);
      ASSERT_EQ(run_with(sub_out, {a, b, 1, second ? b : a}, 4).error, Error::kOk);
      const Values actual = second ? b.values() : a.values();
      for (size_t i = 0; i < actual.size(); ++i) ASSERT_EQ(actual[i], a_values[i] - b_values[i]) << i;
    }
  }
}

TEST(Elementwise, InPlaceWithABroadcastOther) {
  const Shape sizes = {100, 5, 3};
  Values values(1500);
  std::iota(values.begin(), values.end(), 0);
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kF16}) {
    const Array a(dtype, sizes, values);
    const Array b(dtype, {5, 1}, {1, 2, 3, 4, 5});
    const Values before = a.values();
    ASSERT_EQ(run_with(mul_out, {a, b, a}, 3).error, Error::kOk);
    const Values after = a.values();
    // Products of up to 7500 are rounded in f16.
    for (size_t i = 0; i < after.size(); ++i) {
      const double exact = before[i] * static_cast<double>(1 + i / 3 % 5);
      ASSERT_NEAR(after[i], exact, dtype == DType::kF16 ? exact * 0.0005 : 0) << i;
    }
  }
}

TEST(Elementwise, BoundedOutputsTakeTheBroadcastSizes) {
  const Array out(DType::kF32, {4, 4}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(add_out, {f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30}), 1, out}), Error::kOk);
  EXPECT_EQ(out.sizes(), (Shape{2, 3}));
  EXPECT_EQ(out.values(), (Values{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(run(add_out, {f32({5, 1}), f32({5}), 1, out}), Error::kInvalidArgument);
}

// Numbers above 2^63, which are negative in i64, beside small ones; half of the pairs have one number for all.
TEST(Elementwise, U64IsComputedWithAllItsBits) {
  const uint64_t numbers[] = {0, 1, 3, 7, 64, uint64_t{1} << 63, (uint64_t{1} << 63) + 5, UINT64_MAX - 1, UINT64_MAX};
  constexpr int32_t kCount = 9;
  const Array a(DType::kU64, {kCount});
  const Array out(DType::kU64, {kCount});
  const Array truth = testing::boolean({kCount});
  a.set_integers(std::vector<int64_t>(std::begin(numbers), std::end(numbers)));
  const auto expect = [&](uint64_t y, const char* what, uint64_t (*f)(uint64_t, uint64_t)) {
    const std::vector<int64_t> got = out.integers();
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(static_cast<uint64_t>(got[i]), f(numbers[i], y)) << numbers[i] << " " << what << " " << y;
    }
  };
  const auto expect_truth = [&](uint64_t y, const char* what, bool (*f)(uint64_t, uint64_t)) {
    for (size_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(truth.values()[i] != 0, f(numbers[i], y)) << numbers[i] << " " << what << " " << y;
    }
  };
  using N = uint64_t;
  for (const uint64_t y : numbers) {
    const Array one(DType::kU64, {1});
    one.set_integers({static_cast<int64_t>(y)});
    const Array all(DType::kU64, {kCount});
    all.set_integers(std::vector<int64_t>(kCount, static_cast<int64_t>(y)));
    for (const Array& b : {one, all}) {
      ASSERT_EQ(run(add_out, {a, b, 1, out}), Error::kOk);
      expect(y, "+", [](N x, N z) { return x + z; });
      ASSERT_EQ(run(sub_out, {a, b, 2, out}), Error::kOk);
      expect(y, "- 2 *", [](N x, N z) { return x - 2 * z; });
      ASSERT_EQ(run(mul_out, {a, b, out}), Error::kOk);
      expect(y, "*", [](N x, N z) { return x * z; });
      ASSERT_EQ(run(maximum_out, {a, b, out}), Error::kOk);
      expect(y, "max", [](N x, N z) { return x > z ? x : z; });
      ASSERT_EQ(run(minimum_out, {a, b, out}), Error::kOk);
      expect(y, "min", [](N x, N z) { return x < z ? x : z; });
      ASSERT_EQ(run(bitwise_and_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "&", [](N x, N z) { return x & z; });
      ASSERT_EQ(run(bitwise_or_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "|", [](N x, N z) { return x | z; });
      ASSERT_EQ(run(bitwise_xor_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "^", [](N x, N z) { return x ^ z; });
      ASSERT_EQ(run(bitwise_left_shift_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "<<", [](N x, N z) { return z < 64 ? x << z : 0; });
      ASSERT_EQ(run(bitwise_right_shift_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, ">>", [](N x, N z) { return z < 64 ? x >> z : 0; });
      ASSERT_EQ(run(gt_Tensor_out, {a, b, truth}), Error::kOk);
      expect_truth(y, ">", [](N x, N z) { return x > z; });
      ASSERT_EQ(run(le_Tensor_out, {a, b, truth}), Error::kOk);
      expect_truth(y, "<=", [](N x, N z) { return x <= z; });
      ASSERT_EQ(run(eq_Tensor_out, {a, b, truth}), Error::kOk);
      expect_truth(y, "==", [](N x, N z) { return x == z; });
      if (y == 0) continue;
      ASSERT_EQ(run(remainder_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "%", [](N x, N z) { return x % z; });
      ASSERT_EQ(run(fmod_Tensor_out, {a, b, out}), Error::kOk);
      expect(y, "fmod", [](N x, N z) { return x % z; });
      ASSERT_EQ(run(floor_divide_out, {a, b, out}), Error::kOk);
      expect(y, "/", [](N x, N z) { return x / z; });
      ASSERT_EQ(run(div_out_mode, {a, b, "trunc", out}), Error::kOk);
      expect(y, "/ trunc", [](N x, N z) { return x / z; });
    }
  }
  const Array three(DType::kU64, {1}, {3});
  ASSERT_EQ(run(pow_Tensor_Tensor_out, {a, three, out}), Error::kOk);
  expect(3, "**", [](N x, N) { return x * x * x; });
  const Array mask = testing::boolean({kCount}, {1, 0, 1, 0, 1, 0, 1, 0, 1});
  ASSERT_EQ(run(where_self_out, {mask, a, three, out}), Error::kOk);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(static_cast<uint64_t>(out.integers()[i]), i % 2 == 0 ? numbers[i] : 3);
  }
  EXPECT_EQ(run(floor_divide_out, {a, Array(DType::kU64, {1}, {0}), out}), Error::kInvalidArgument);
  ASSERT_EQ(run(abs_out, {a, out}), Error::kOk);
  expect(0, "abs", [](N x, N) { return x; });
  ASSERT_EQ(run(relu_out, {a, out}), Error::kOk);
  expect(0, "relu", [](N x, N) { return x; });
  ASSERT_EQ(run(sign_out, {a, out}), Error::kOk);
  expect(0, "sign", [](N x, N) { return N{x != 0}; });
  ASSERT_EQ(run(bitwise_not_out, {a, out}), Error::kOk);
  expect(0, "~", [](N x, N) { return ~x; });
  ASSERT_EQ(run(logical_not_out, {a, truth}), Error::kOk);
  expect_truth(0, "not", [](N x, N) { return x == 0; });
  ASSERT_EQ(run(clamp_Tensor_out, {a, three, nullptr, out}), Error::kOk);
  expect(3, "at least", [](N x, N z) { return x < z ? z : x; });
  ASSERT_EQ(run(clamp_Tensor_out, {a, nullptr, three, out}), Error::kOk);
  expect(3, "at most", [](N x, N z) { return x > z ? z : x; });
}

// No type holds both, and f32, which promotion would say, holds neither.
TEST(Elementwise, U64AndOtherIntegersAreNotMixed) {
  const Array a(DType::kU64, {2}, {1, 2});
  for (const DType other : {DType::kI64, DType::kI32, DType::kU8}) {
    const Array b(other, {2}, {1, 2});
    EXPECT_EQ(run(eq_Tensor_out, {a, b, testing::boolean({2})}), Error::kInvalidArgument) << to_string(other);
    EXPECT_EQ(run(add_out, {a, b, 1, f32({2})}), Error::kInvalidArgument) << to_string(other);
  }
  const Array power = f32({2});
  ASSERT_EQ(run(pow_Tensor_Tensor_out, {f32({2}, {3, 1.5}), a, power}), Error::kOk);
  EXPECT_EQ(power.values(), (Values{3, 2.25}));
}

TEST(Elementwise, DtypesWithoutArithmeticAreRefused) {
  for (const DType narrow : {DType::kF8E4M3, DType::kF4E2M1, DType::kI4, DType::kU2}) {
    const Array a(narrow, {2}, {1, 1});
    EXPECT_EQ(run(add_out, {a, a, 1, a}), Error::kInvalidArgument) << to_string(narrow);
    EXPECT_EQ(run(eq_Tensor_out, {a, a, testing::boolean({2})}), Error::kInvalidArgument) << to_string(narrow);
  }
  const Array c(DType::kComplex64, {2});
  EXPECT_EQ(run(maximum_out, {c, c, c}), Error::kInvalidArgument);
  EXPECT_EQ(run(relu_out, {c, c}), Error::kInvalidArgument);
  EXPECT_EQ(run(mul_Scalar_out, {c, 2, c}), Error::kInvalidArgument);
  EXPECT_EQ(run(eq_Scalar_out, {c, 2, testing::boolean({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(sum_IntList_out, {c, nullptr, false, nullptr, f32({})}), Error::kInvalidArgument);
}

// The operators that the table says are element by element and take any order. The fear: one that reads its tensors as
// if they were row-major, so that a graph with channels innermost computes something else.
#define ELEMENT(...) true
#define ROW(...) false
#define SELF(...) false
#define NEVER false
#define ANY_LAYOUT true
#define ROW_MAJOR false
struct ElementRow {
  const char* name;
  const char* schema;
  bool element, any_layout;
  Kernel kernel;
};
const ElementRow kElementRows[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, sizes, \
           role) \
  {name, schema, in_place, layout, Kernel(identifier)},
#include "format/operators.def"
#undef OP
};
#undef ELEMENT
#undef ROW
#undef SELF
#undef NEVER
#undef ANY_LAYOUT
#undef ROW_MAJOR

// The types of the arguments in `schema`, without those that the out variant does not have; empty where one is a list.
std::vector<std::string> argument_types(const std::string& schema) {
  std::vector<std::string> types;
  const std::string arguments = schema.substr(0, schema.find(" -> ")) + ", ";
  for (size_t begin = 0; begin < arguments.size(); begin = arguments.find(", ", begin) + 2) {
    const std::string type = arguments.substr(begin, arguments.find(' ', begin) - begin);
    if (type.find('[') != std::string::npos) return {};
    if (type[0] != '@') types.push_back(type);
  }
  return types;
}

TEST(Elementwise, OperatorsOfAnyOrderGiveTheSameInEach) {
  const Shape sizes = {2, 3, 4, 5};
  const Order last = {0, 2, 3, 1};
  int compared = 0;
  for (const ElementRow& row : kElementRows) {
    const std::vector<std::string> types = argument_types(row.schema);
    if (!row.element || !row.any_layout || types.empty()) continue;
    if (std::string(row.name).rfind("aten::", 0) != 0) continue;
    SCOPED_TRACE(row.name + std::string(": ") + row.schema);
    // What the call gives for tensors of `type` and a result of `result`, each tensor in its order; nothing when the
    // kernel refuses these types.
    const auto values = [&](DType type, DType result, const std::vector<Order>& orders) {
      std::mt19937 random(3);
      std::vector<Arg> args;
      size_t tensors = 0;
      for (const std::string& argument : types) {
        if (argument.rfind("Tensor", 0) == 0) {
          Values numbers(count_of(sizes));
          for (double& x : numbers) x = static_cast<double>(type == DType::kBool ? random() % 2 : 1 + random() % 4);
          const bool truths = std::string(row.name) == "aten::where" && tensors == 0;
          const bool mask = std::string(row.name) == "aten::masked_fill" && tensors == 1;
          if (truths || mask) {
            for (double& x : numbers) x = x > 2 ? 1 : 0;
          }
          args.emplace_back(Array(truths || mask ? DType::kBool : type, sizes, numbers, orders[tensors++ % 2]));
        } else if (argument.rfind("Scalar", 0) == 0 || argument.rfind("float", 0) == 0) {
          is_floating(type) ? args.emplace_back(0.5) : args.emplace_back(int64_t{2});
        } else if (argument == "str") {
          args.emplace_back("none");
        } else if (argument == "bool") {
          args.emplace_back(false);
        } else {
          args.emplace_back(nullptr);
        }
      }
      const Array out(result, sizes, {}, orders[2]);
      args.emplace_back(out);
      return run_with(row.kernel, args, 2).error == Error::kOk ? out.values() : Values();
    };
    bool any = false;
    for (const auto& [type, result] : {std::pair(DType::kF32, DType::kF32), std::pair(DType::kF32, DType::kBool),
                                       std::pair(DType::kI32, DType::kI32), std::pair(DType::kBool, DType::kBool)}) {
      const Values expected = values(type, result, {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
      if (expected.empty()) continue;
      any = true;
      for (const std::vector<Order>& orders :
           {std::vector<Order>{last, last, last}, {last, {0, 1, 2, 3}, last}, {{0, 1, 2, 3}, last, last}}) {
        const Values found = values(type, result, orders);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          const bool same = found[i] == expected[i] || (found[i] != found[i] && expected[i] != expected[i]) ||
                            std::fabs(found[i] - expected[i]) <= 1e-6 * std::fabs(expected[i]);
          ASSERT_TRUE(same) << "element " << i << ": " << found[i] << " instead of " << expected[i];
        }
      }
      ++compared;
    }
    EXPECT_TRUE(any) << "no types that it takes";
  }
  EXPECT_GT(compared, 80);
}

}  // namespace
}  // namespace berth::portable
