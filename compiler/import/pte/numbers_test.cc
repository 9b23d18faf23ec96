// Numbers that are known only at run time. The figures are worked out by hand.
#include "compiler/import/pte/import_testing.h"

namespace berth::pte::testing {
namespace {

template <typename T>
T number(const eval::Item& item) {
  const eval::Array* a = std::get_if<eval::Array>(&item);
  T value{};
  EXPECT_TRUE(a != nullptr && a->sizes.empty() && a->bytes.size() == sizeof(T));
  if (a != nullptr && a->bytes.size() == sizeof(T)) std::memcpy(&value, a->bytes.data(), sizeof(T));
  return value;
}

// 0 x f32[<=9,2]   1 its rows   2 the dimension 0; then what a test adds.
MethodDesc rows_of_x() {
  MethodDesc m;
  m.values = {bounded({9, 2}, 0), int64_t{0}, int64_t{0}};
  m.inputs = {0};
  m.operators = {{"aten::sym_size", "int"}};
  m.instructions = {KernelCallDesc{0, {0, 2, 1}}};
  return m;
}

const Floats kFive = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

// The fear: a quotient of sizes is rounded as if it were of whole numbers. 5 / 4 = 1.25, by which x is multiplied.
TEST(Numbers, TrueQuotientsMultiplyTensors) {
  MethodDesc m = rows_of_x();
  m.values.insert(m.values.end(), {int64_t{4}, 0.0, tensor({}, 128), bounded({9, 2}, 256)});
  m.outputs = {6};
  m.operators.insert(m.operators.end(),
                     {{"executorch_prim::truediv", "Scalar"}, {"aten::scalar_tensor", "out"}, {"aten::mul", "out"}});
  m.instructions.insert(m.instructions.end(),
                        {KernelCallDesc{1, {1, 3, 4}}, KernelCallDesc{2, {4, 5, 5}}, KernelCallDesc{3, {0, 5, 6, 6}}});
  const auto outputs = run(imported(program_of(m)), {floats({5, 2}, kFive)});
  EXPECT_EQ(numbers(outputs[0]), (Floats{1.25, 2.5, 3.75, 5, 6.25, 7.5, 8.75, 10, 11.25, 12.5}));
}

// ceil(rows / 2) is a size again: of 5 rows, 3.
TEST(Numbers, RoundedQuotientsAreSizes) {
  MethodDesc m = rows_of_x();
  m.values.insert(m.values.end(), {int64_t{2}, 0.0, int64_t{0}, IntListDesc{{5}}, 1.5, bounded({5}, 128)});
  m.outputs = {8, 5};
  m.operators.insert(
      m.operators.end(),
      {{"executorch_prim::truediv", "Scalar"}, {"executorch_prim::ceil", "Scalar"}, {"aten::full", "out"}});
  m.instructions.insert(m.instructions.end(),
                        {KernelCallDesc{1, {1, 3, 4}}, KernelCallDesc{2, {4, 5}}, KernelCallDesc{3, {6, 7, 8, 8}}});
  const auto outputs = run(imported(program_of(m)), {floats({5, 2}, kFive)});
  EXPECT_EQ(numbers(outputs[0]), (Floats{1.5, 1.5, 1.5}));
}

// round(rows / 2) goes to the even one: 2 of 5 rows, 4 of 7.
TEST(Numbers, QuotientsRoundHalfToEven) {
  MethodDesc m = rows_of_x();
  m.values.insert(m.values.end(), {int64_t{2}, 0.0, int64_t{0}});
  m.outputs = {5};
  m.operators.insert(m.operators.end(), {{"executorch_prim::truediv", "Scalar"}, {"executorch_prim::round", "Scalar"}});
  m.instructions.insert(m.instructions.end(), {KernelCallDesc{1, {1, 3, 4}}, KernelCallDesc{2, {4, 5}}});
  const ir::Module module = imported(program_of(m));
  EXPECT_EQ(number<int64_t>(run(module, {floats({5, 2}, kFive)})[0]), 2);
  EXPECT_EQ(number<int64_t>(run(module, {floats({7, 2}, Floats(14))})[0]), 4);
}

// rows > 4 ? rows : 2 * rows.
TEST(Numbers, SelectionsFollowARuntimeSize) {
  MethodDesc m = rows_of_x();
  m.values.insert(m.values.end(), {int64_t{4}, false, int64_t{2}, int64_t{0}, int64_t{0}});
  m.outputs = {7};
  m.operators.insert(
      m.operators.end(),
      {{"executorch_prim::gt", "Scalar"}, {"executorch_prim::mul", "Scalar"}, {"executorch_prim::sym_ite", "Scalar"}});
  m.instructions.insert(m.instructions.end(),
                        {KernelCallDesc{1, {1, 3, 4}}, KernelCallDesc{2, {1, 5, 6}}, KernelCallDesc{3, {4, 1, 6, 7}}});
  const ir::Module module = imported(program_of(m));
  EXPECT_EQ(number<int64_t>(run(module, {floats({5, 2}, kFive)})[0]), 5);
  EXPECT_EQ(number<int64_t>(run(module, {floats({3, 2}, Floats(6))})[0]), 6);
}

// The fear: the remainder of a negative number is Python's, and the program's is C's. -7 mod 3 is -1.
TEST(Numbers, NumbersFromTensorsHaveTheProgramsRemainder) {
  MethodDesc m;
  m.values = {tensor({}, 0, DType::kI64), int64_t{0}, int64_t{3}, int64_t{0}};
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"executorch_prim::mod", "Scalar"}};
  m.instructions = {KernelCallDesc{0, {0, 1}}, KernelCallDesc{1, {1, 2, 3}}};
  const auto outputs = run(imported(program_of(m)), {array(DType::kI64, {}, bytes_of<int64_t>({-7}))});
  EXPECT_EQ(number<int64_t>(outputs[0]), -1);
}

// A number read from a tensor, where the operator's variant with a tensor will do; and where none will.
TEST(Numbers, NumbersFromTensorsReplaceTensorOperands) {
  MethodDesc m;
  m.values = {tensor({2}, 0), tensor({}, 16), 0.0, tensor({2}, 32), tensor({2}, 48), IntListDesc{{6}}, int64_t{2}};
  m.inputs = {0, 1};
  m.outputs = {3, 4};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"aten::mul", "Scalar_out"}, {"aten::full", "out"}};
  m.instructions = {KernelCallDesc{0, {1, 2}}, KernelCallDesc{1, {0, 2, 3, 3}}, KernelCallDesc{2, {5, 2, 4, 4}}};
  const auto outputs = run(imported(program_of(m)), {floats({2}, {3, -1}), floats({}, {2.5})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{7.5, -2.5}));
  EXPECT_EQ(numbers(outputs[1]), (Floats{2.5, 2.5}));

  m.operators[1] = {"aten::leaky_relu", "out"};
  has(refusal(program_of(m)), "gets a number that is read from a tensor, as its argument 'negative_slope'");
}

// The fear: a place that holds nothing, where the operator's tensor is looked for, throws.
TEST(Numbers, NumbersFromTensorsWithNoneAreRefused) {
  MethodDesc m;
  m.values = {NullDesc(), tensor({}, 16), 0.0, tensor({2}, 32)};
  m.inputs = {1};
  m.outputs = {3};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"aten::mul", "Scalar_out"}};
  m.instructions = {KernelCallDesc{0, {1, 2}}, KernelCallDesc{1, {0, 2, 3, 3}}};
  const char kWhy[] = "gets a number that is read from a tensor";
  has(refusal(program_of(m)), kWhy);
  m.operators[1] = {"aten::full", "out"};
  m.instructions[1] = KernelCallDesc{1, {0, 2, 3, 3}};
  has(refusal(program_of(m)), kWhy);
  m.operators[1] = {"aten::full_like", "out"};
  m.instructions[1] = KernelCallDesc{1, {0, 2, 0, 3, 3}};
  has(refusal(program_of(m)), kWhy);
}

// The fear: alpha, which stays a number, is made a tensor as if it were the other operand.
TEST(Numbers, NumbersFromTensorsAreNotUsedAsAlpha) {
  MethodDesc m;
  m.values = {tensor({2}, 0), tensor({}, 16), 0.0, tensor({2}, 32), 3.0};
  m.inputs = {0, 1};
  m.outputs = {3};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"aten::sub", "Scalar_out"}};
  m.instructions = {KernelCallDesc{0, {1, 2}}, KernelCallDesc{1, {0, 4, 2, 3, 3}}};
  has(refusal(program_of(m)), "gets a number that is read from a tensor, as its argument 'alpha'");
}

// x += 1 in the caller's own bytes: its new value is the output behind the program's own.
TEST(Numbers, ChangedInputsAreOutputsToo) {
  MethodDesc m;
  m.values = {tensor({2}), int64_t{1}, tensor({2}, 16), tensor({2}, 32), false, constant({2}, 1)};
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::add", "out"}, {"aten::neg", "out"}, {"aten::copy_", ""}};
  m.instructions = {KernelCallDesc{0, {0, 5, 1, 2, 2}}, KernelCallDesc{1, {0, 3, 3}}, KernelCallDesc{2, {0, 2, 4, 0}}};
  ProgramDesc program = program_of(m);
  program.constants = {format::Bytes::of(bytes_of<float>({1, 10}))};
  const auto outputs = run(imported(program), {floats({2}, {5, 6})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(numbers(outputs[0]), (Floats{-5, -6}));
  EXPECT_EQ(numbers(outputs[1]), (Floats{6, 16}));
}

}  // namespace
}  // namespace berth::pte::testing
