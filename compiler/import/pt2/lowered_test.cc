// Operators and numbers that are taken apart while they are read. The figures are worked out by hand.
#include <cmath>

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

json sym(const std::string& kind, const std::string& name) { return {{kind, {{"as_name", name}}}}; }

/// A function of Python's: "_operator.truediv".
void python(TestProgram& p, const std::string& target, const std::vector<json>& args, const json& output) {
  std::vector<std::pair<std::string, json>> inputs;
  for (size_t i = 0; i < args.size(); ++i) inputs.emplace_back(std::string(1, static_cast<char>('a' + i)), args[i]);
  p.node(target, inputs, json::array({output}))["target"] = target;
}

/// x [n, 2], n from 2 to 8, and n as a number.
TestProgram rows() {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {kS77, 2});
  p.node("aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, json::array({sym_int("n")}));
  return p;
}

// The fear: n / 4 is rounded. Of 3 rows it is 0.75.
TEST(Lowered, NumbersOfSizesMayBeFractions) {
  TestProgram p = rows();
  python(p, "_operator.truediv", {sym_int("n"), integer(4)}, sym("as_sym_float", "q"));
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", sym("as_sym_float", "q")}}, "mul", {kS77, 2});
  p.output("mul");
  p.special_output(sym("as_sym_float", "q"), {{"user_output", {{"arg", sym("as_sym_float", "q")}}}});
  const auto outputs = run(p, {floats({3, 2}, {4, 8, 12, 16, 20, 24})});
  EXPECT_EQ(numbers(outputs[0]), Floats({3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(numbers<double>(outputs[1]), std::vector<double>({0.75}));
}

// n > 4 ? n : 10
TEST(Lowered, NumbersOfSizesAreSelectedAtRunTime) {
  TestProgram p = rows();
  python(p, "_operator.gt", {sym_int("n"), integer(4)}, sym("as_sym_bool", "more"));
  python(p, "torch.sym_ite", {sym("as_sym_bool", "more"), sym_int("n"), integer(10)}, sym_int("k"));
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", sym_int("k")}}, "mul", {kS77, 2});
  p.output("mul");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(numbers(run(*module, {floats({5, 2}, Floats(10, 1))})[0]), Floats(10, 5));
  EXPECT_EQ(numbers(run(*module, {floats({3, 2}, Floats(6, 1))})[0]), Floats(6, 10));
}

// The fear: the remainder of a negative number is C's. -7 mod 3 is 2 in Python.
TEST(Lowered, NumbersOfTensorsHavePythonsRemainder) {
  TestProgram p;
  p.input("k", {}, kI64);
  p.node("aten.item.default", {{"self", tensor("k")}}, json::array({sym_int("n")}));
  python(p, "_operator.mod", {sym_int("n"), integer(3)}, sym_int("m"));
  p.special_output(sym_int("m"), {{"user_output", {{"arg", sym_int("m")}}}});
  EXPECT_EQ(numbers<int64_t>(run(p, {array(DType::kI64, {}, Ints{-7})})[0]), Ints({2}));
}

TEST(Lowered, NumbersOfTensorsFillAndCompare) {
  TestProgram p;
  p.input("x", {2});
  p.input("k", {});
  const json f = sym("as_sym_float", "f");
  p.node("aten.item.default", {{"self", tensor("k")}}, json::array({f}));
  p.node("aten.full.default", {{"size", integers({2})}, {"fill_value", f}}, "full", {2});
  p.node("aten.gt.Scalar", {{"self", tensor("x")}, {"other", f}}, "gt", {2}, kBool);
  p.node("aten.pow.Tensor_Scalar", {{"self", tensor("x")}, {"exponent", f}}, "pow", {2});
  for (const char* name : {"full", "gt", "pow"}) p.output(name);
  const auto outputs = run(p, {floats({2}, {1, 4}), floats({}, {2})});
  EXPECT_EQ(numbers(outputs[0]), Floats({2, 2}));
  EXPECT_EQ(numbers<uint8_t>(outputs[1]), std::vector<uint8_t>({0, 1}));
  EXPECT_EQ(numbers(outputs[2]), Floats({1, 16}));
}

Floats loss(const std::string& name, const std::vector<std::pair<std::string, json>>& more, const Floats& x,
            const Floats& t) {
  TestProgram p;
  p.input("x", {2});
  p.input("t", {2});
  std::vector<std::pair<std::string, json>> args = {{"self", tensor("x")}, {"target", tensor("t")}};
  args.insert(args.end(), more.begin(), more.end());
  p.node("aten." + name + ".default", args, "loss", {});
  p.output("loss");
  return numbers(run(p, {floats({2}, x), floats({2}, t)})[0]);
}

TEST(Lowered, LossesAreReducedAsRequested) {
  EXPECT_EQ(loss("mse_loss", {}, {1, 5}, {2, 2}), Floats({5}));
  EXPECT_EQ(loss("mse_loss", {{"reduction", integer(2)}}, {1, 5}, {2, 2}), Floats({10}));
  EXPECT_EQ(loss("l1_loss", {{"reduction", integer(0)}}, {1, 5}, {2, 2}), Floats({1, 3}));
  // 0.5 * 0.5 * 0.5 within 1, 3 - 0.5 beyond
  EXPECT_EQ(loss("smooth_l1_loss", {{"reduction", integer(0)}}, {1.5, 5}, {2, 2}), Floats({0.125, 2.5}));
  // 0.5 * 0.5 * 0.5 within 2, 2 * (3 - 1) beyond
  EXPECT_EQ(loss("huber_loss", {{"reduction", integer(0)}, {"delta", real(2)}}, {1.5, 5}, {2, 2}), Floats({0.125, 4}));
}

// Of equal logits each class has probability 1/4; the label -100 does not count.
TEST(Lowered, LossesPickTheLabelsLogarithm) {
  TestProgram p;
  p.input("x", {3, 4});
  p.input("t", {3}, kI64);
  p.node("aten.cross_entropy_loss.default", {{"self", tensor("x")}, {"target", tensor("t")}}, "loss", {});
  p.output("loss");
  const auto outputs = run(p, {floats({3, 4}, Floats(12, 0.5F)), array(DType::kI64, {3}, Ints{0, -100, 3})});
  EXPECT_NEAR(numbers(outputs[0])[0], std::log(4.0), 1e-6);
}

// [1, 1, 2, 3] by windows of 2x2: two columns; put together again, the middle column counts twice.
TEST(Lowered, WindowsAreUnfoldedAndFolded) {
  const std::vector<std::pair<std::string, json>> window = {{"kernel_size", integers({2, 2})},
                                                            {"dilation", integers({1, 1})},
                                                            {"padding", integers({0, 0})},
                                                            {"stride", integers({1, 1})}};
  TestProgram p;
  p.input("x", {1, 1, 2, 3});
  std::vector<std::pair<std::string, json>> args = {{"self", tensor("x")}};
  args.insert(args.end(), window.begin(), window.end());
  p.node("aten.im2col.default", args, "columns", {1, 4, 2});
  args[0] = {"self", tensor("columns")};
  args.insert(args.begin() + 1, {"output_size", integers({2, 3})});
  p.node("aten.col2im.default", args, "image", {1, 1, 2, 3});
  p.output("columns");
  p.output("image");
  const auto outputs = run(p, {floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), Floats({1, 2, 2, 3, 4, 5, 5, 6}));
  EXPECT_EQ(numbers(outputs[1]), Floats({1, 4, 3, 4, 10, 6}));
}

TEST(Lowered, BucketBoundariesAreLeftOrRightOfEqualValues) {
  TestProgram p;
  p.input("x", {4});
  p.input("b", {3});
  p.node("aten.bucketize.Tensor", {{"self", tensor("x")}, {"boundaries", tensor("b")}}, "left", {4}, kI64);
  p.node("aten.bucketize.Tensor", {{"self", tensor("x")}, {"boundaries", tensor("b")}, {"right", truth(true)}}, "right",
         {4}, kI64);
  p.output("left");
  p.output("right");
  const auto outputs = run(p, {floats({4}, {-5, 0, 0.5, NAN}), floats({3}, {-1, 0, 1})});
  EXPECT_EQ(numbers<int64_t>(outputs[0]), Ints({0, 1, 2, 3}));
  EXPECT_EQ(numbers<int64_t>(outputs[1]), Ints({0, 2, 2, 3}));
}

// torch.searchsorted's figures.
TEST(Lowered, EachRowIsSearchedInItsOwnBoundaries) {
  TestProgram p;
  p.input("b", {2, 3});
  p.input("x", {2, 2});
  p.node("aten.searchsorted.Tensor", {{"sorted_sequence", tensor("b")}, {"self", tensor("x")}}, "rows", {2, 2}, kI64);
  p.output("rows");
  const auto outputs = run(p, {floats({2, 3}, {-1, 0, 1, 10, 20, 30}), floats({2, 2}, {0, 2, 5, 20})});
  EXPECT_EQ(numbers<int64_t>(outputs[0]), Ints({1, 3, 0, 1}));
}

// Their squares, and those of the smallest, are not floats.
TEST(Lowered, TheHypotenuseOfLargeAndSmallNumbersIsKept) {
  TestProgram p;
  p.input("a", {3});
  p.input("b", {3});
  p.node("aten.hypot.default", {{"self", tensor("a")}, {"other", tensor("b")}}, "c", {3});
  p.output("c");
  const Floats found = numbers(run(p, {floats({3}, {3e30f, 3e-30f, 0}), floats({3}, {4e30f, -4e-30f, 0})})[0]);
  EXPECT_FLOAT_EQ(found[0], 5e30f);
  EXPECT_FLOAT_EQ(found[1], 5e-30f);
  EXPECT_EQ(found[2], 0);
}

// x is {1, 2, 3}; of the source, 10 and 30 go to the first place and 20 to the second.
std::string scattered(const std::string& how, Floats* found) {
  TestProgram p;
  p.input("x", {3});
  p.input("places", {3}, kI64);
  p.input("source", {3});
  p.node("aten.scatter.reduce",
         {{"self", tensor("x")},
          {"dim", integer(0)},
          {"index", tensor("places")},
          {"src", tensor("source")},
          {"reduce", text(how)}},
         "y", {3});
  p.output("y");
  if (found == nullptr) return failure_of(p.import());
  *found =
      numbers(run(p, {floats({3}, {1, 2, 3}), array(DType::kI64, {3}, Ints{0, 1, 0}), floats({3}, {10, 20, 30})})[0]);
  return {};
}

TEST(Lowered, AScatterAddsOrMultipliesWhatGoesToOnePlace) {
  Floats found;
  scattered("add", &found);
  EXPECT_EQ(found, Floats({41, 22, 3}));
  scattered("multiply", &found);
  EXPECT_EQ(found, Floats({300, 40, 3}));
  EXPECT_TRUE(says(scattered("sum", nullptr), "reduces by \"sum\""));
}

Floats differences(int64_t times, const Floats& x) {
  TestProgram p;
  const int64_t size = static_cast<int64_t>(x.size());
  p.input("x", {size});
  p.input("before", {1});
  p.node("aten.diff.default", {{"self", tensor("x")}, {"n", integer(times)}, {"prepend", tensor("before")}}, "y",
         {size});
  p.output("y");
  return numbers(run(p, {floats({static_cast<int32_t>(size)}, x), floats({1}, {0})})[0]);
}

// The figures are torch.diff's.
TEST(Lowered, DiffIsRepeatedAsRequested) {
  EXPECT_EQ(differences(1, {1, 4, 9}), Floats({1, 3, 5}));
  EXPECT_EQ(differences(3, {1, 4, 9}), Floats({0}));
  EXPECT_EQ(differences(0, {1, 4, 9}), Floats({1, 4, 9}));  // the tensor itself: nothing stands before it
  EXPECT_EQ(differences(4, {1, 4, 9}), Floats({}));
  EXPECT_EQ(differences(6, {1, 4, 9}), Floats({}));
}

TEST(Lowered, DiffANegativeNumberOfTimesIsRefused) {
  TestProgram p;
  p.input("x", {3});
  json& node = p.node("aten.diff.default", {{"self", tensor("x")}, {"n", integer(-1)}}, "y", {3});
  p.output("y");
  EXPECT_TRUE(says(failure_of(p.import()), "argument 'n' must be at least 0, found -1"));
  node["inputs"][1]["arg"] = integer(65);
  EXPECT_TRUE(says(failure_of(p.import()), "up to 64 times"));
}

// The fear: rows without a bound are planned as 2^31 of them.
TEST(Lowered, RepeatsWithoutABoundAreRefused) {
  TestProgram p;
  p.symbol("u0", 0, nullptr);
  p.input("x", {3, 2});
  p.input("r", {3}, kI64);
  p.node("aten.repeat_interleave.self_Tensor", {{"self", tensor("x")}, {"repeats", tensor("r")}, {"dim", integer(0)}},
         "y", {"Symbol('u0', integer=True)", 2});
  p.output("y");
  EXPECT_TRUE(says(failure_of(p.import()), "pass output_size="));
}

constexpr int kI8 = 2;

std::vector<std::pair<std::string, json>> affine(const std::string& input, const std::vector<int64_t>& block) {
  return {{"input", tensor(input)}, {"block_size", integers(block)}};
}

// Two columns share a scale. The fear: a scale of the block beside, or a zero point that is subtracted after scaling.
TEST(Lowered, TorchaosBlocksAreDequantised) {
  TestProgram p;
  p.input("q", {2, 4}, kI8);
  p.input("s", {2, 2});
  p.input("z", {2, 2}, kI8);
  auto args = affine("q", {1, 2});
  for (const auto& more : std::vector<std::pair<std::string, json>>{
           {"scale", tensor("s")}, {"zero_point", tensor("z")}, {"input_dtype", element_type(kI8)}}) {
    args.push_back(more);
  }
  p.node("torchao.dequantize_affine.default", args, "x", {2, 4});
  p.output("x");
  const auto q = array(DType::kI8, {2, 4}, std::vector<int8_t>{1, -2, 3, 4, 5, 6, -8, 7});
  const auto z = array(DType::kI8, {2, 2}, std::vector<int8_t>{1, 0, -1, 2});
  EXPECT_EQ(numbers(run(p, {q, floats({2, 2}, {0.5, 1, 2, 0.25}), z})[0]), Floats({0, -1.5, 3, 4, 12, 14, -2.5, 1.25}));
}

struct Quantised {
  Floats scale;
  std::vector<int8_t> zero, numbers;
};

// Rows by their own range.
Quantised quantised_rows(const std::string& mapping, const Floats& x, bool keep = false) {
  TestProgram p;
  p.input("x", {2, 4});
  auto args = affine("x", {1, 4});
  args.insert(args.begin() + 1, {"mapping_type", text(mapping)});
  args.emplace_back("target_dtype", element_type(kI8));
  args.emplace_back("zero_point_dtype", element_type(kI8));
  args.emplace_back("keepdim", truth(keep));
  p.node("torchao.choose_qparams_affine.default", args, json::array({tensor("s"), tensor("z")}));
  auto rounds = affine("x", {1, 4});
  rounds.emplace_back("scale", tensor("s"));
  rounds.emplace_back("zero_point", tensor("z"));
  rounds.emplace_back("output_dtype", element_type(kI8));
  p.node("torchao.quantize_affine.default", rounds, "q", {2, 4}, kI8);
  for (const char* name : {"s", "z", "q"}) p.output(name);
  const auto module = p.import();
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  const auto outputs = run(*module, {floats({2, 4}, x)});
  EXPECT_EQ(std::get<eval::Array>(outputs[0]).sizes, keep ? std::vector<int32_t>({2, 1}) : std::vector<int32_t>({2}));
  return {numbers(outputs[0]), numbers<int8_t>(outputs[1]), numbers<int8_t>(outputs[2])};
}

TEST(Lowered, TorchaosRangesHoldZero) {
  const Floats x = {1, 2, 0.5, 5.1F, -1.02F, 4.08F, 0, 1};
  const Quantised one = quantised_rows("ASYMMETRIC", x);
  ASSERT_EQ(one.scale.size(), 2U);
  EXPECT_NEAR(one.scale[0], 0.02, 1e-7);  // from 0 to 5.1
  EXPECT_NEAR(one.scale[1], 0.02, 1e-7);
  EXPECT_EQ(one.zero, std::vector<int8_t>({-128, -77}));
  EXPECT_EQ(one.numbers, std::vector<int8_t>({-78, -28, -103, 127, -128, 127, -77, -27}));
}

TEST(Lowered, TorchaosSymmetricRangesHaveTheirZeroInTheMiddle) {
  const Floats x = {1, -2, 0.5, 2.55F, 0, 0, 0, 0};
  const Quantised one = quantised_rows("SYMMETRIC", x, true);
  ASSERT_EQ(one.scale.size(), 2U);
  EXPECT_NEAR(one.scale[0], 0.02, 1e-7);
  EXPECT_EQ(one.scale[1], 0x1p-126F) << "nothing is divided by 0";
  EXPECT_EQ(one.zero, std::vector<int8_t>({0, 0}));
  EXPECT_EQ(one.numbers, std::vector<int8_t>({50, -100, 25, 127, 0, 0, 0, 0}));
}

TEST(Lowered, TorchaosBlocksThatDoNotDivideAreRefused) {
  TestProgram p;
  p.input("q", {2, 4}, kI8);
  p.input("s", {2, 2});
  auto args = affine("q", {1, 3});
  args.emplace_back("scale", tensor("s"));
  args.emplace_back("zero_point", nothing());
  args.emplace_back("input_dtype", element_type(kI8));
  p.node("torchao.dequantize_affine.default", args, "x", {2, 4});
  p.output("x");
  const auto module = p.import();
  ASSERT_FALSE(module.ok());
  says(module.error().text(), "blocks do not divide the tensor");
}

}  // namespace
}  // namespace berth::pt2
