#include "runtime/signature.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

struct Row {
  const char* name;
  const char* schema;
};

constexpr Row kRows[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) {#identifier, schema},
#include "format/operators.def"
#undef OP
};

Signature parsed(const char* text) {
  Signature signature;
  EXPECT_TRUE(Signature::parse(text, &signature)) << text;
  return signature;
}

TEST(Signature, EveryOperatorOfTheTableParses) {
  for (const Row& row : kRows) {
    Signature signature;
    EXPECT_TRUE(Signature::parse(row.schema, &signature)) << row.name << ": " << row.schema;
    bool written = false;
    for (const Parameter& parameter : signature.parameters()) written = written || parameter.written;
    EXPECT_TRUE(written) << row.name << " writes nothing: " << row.schema;
  }
}

TEST(Signature, ArgumentsComeFirstAndOutputsLast) {
  const Signature add = parsed("Tensor self, Tensor other, Scalar alpha=1 -> Tensor out");
  ASSERT_EQ(add.parameters().size(), 4u);
  EXPECT_EQ(add.arguments(), 3u);
  EXPECT_EQ(add.parameters()[2].kind, ArgKind::kScalar);
  EXPECT_TRUE(add.parameters()[3].output);
  EXPECT_TRUE(add.parameters()[3].written);
  EXPECT_FALSE(add.parameters()[0].written);
}

TEST(Signature, DefaultsWithCommasDoNotSplit) {
  const Signature signature = parsed("Tensor self, int[] a=[1, 1], int[] b=[] -> Tensor out");
  EXPECT_EQ(signature.parameters().size(), 4u);
}

TEST(Signature, ArgumentsOfTheFunctionalFormAreOmitted) {
  const Signature signature = parsed("Scalar end, @ScalarType? dtype=None -> Tensor out");
  ASSERT_EQ(signature.parameters().size(), 2u);
  EXPECT_EQ(signature.arguments(), 1u);
}

TEST(Signature, AWrittenArgumentIsNotAnOutput) {
  const Signature copy = parsed("Tensor self, Tensor src, bool non_blocking=False -> Tensor(self)");
  ASSERT_EQ(copy.parameters().size(), 3u);
  EXPECT_TRUE(copy.parameters()[0].written);
  EXPECT_FALSE(copy.parameters()[0].output);
  EXPECT_FALSE(copy.parameters()[1].written);
}

TEST(Signature, OptionalKindsAcceptNone) {
  const Signature signature = parsed("Tensor? a, int[]? b, Tensor?[] c, float d -> Tensor out");
  const EValue none;
  EXPECT_TRUE(accepts(signature.parameters()[0], none));
  EXPECT_TRUE(accepts(signature.parameters()[1], none));
  EXPECT_FALSE(accepts(signature.parameters()[2], none));
  EXPECT_FALSE(accepts(signature.parameters()[3], none));
}

TEST(Signature, ElementsOfListsAreChecked) {
  const Signature signature = parsed("int[] a, Tensor[] b, Tensor?[] c -> Tensor out");
  EValue number(int64_t{3}), real(1.5), none;
  Tensor scalar(DType::kF32, 0, nullptr, nullptr, nullptr, nullptr);
  EValue tensor(&scalar);
  EValue* numbers[] = {&number, &number};
  EValue* mixed[] = {&number, &real};
  EValue* holes[] = {&tensor, &none};
  EXPECT_TRUE(accepts(signature.parameters()[0], EValue::int_list(numbers)));
  EXPECT_FALSE(accepts(signature.parameters()[0], EValue::int_list(mixed)));
  EXPECT_FALSE(accepts(signature.parameters()[1], EValue::tensor_list(holes)));
  EXPECT_TRUE(accepts(signature.parameters()[2], EValue::tensor_list(holes)));
  EXPECT_FALSE(accepts(signature.parameters()[2], EValue::tensor_list(numbers)));
}

TEST(Signature, NumberKindsAreNotInterchanged) {
  const Signature signature = parsed("int a, float b, bool c, Scalar d, str e -> Tensor out");
  const EValue integer(int64_t{1}), real(1.0), truth(true);
  EXPECT_TRUE(accepts(signature.parameters()[0], integer));
  EXPECT_FALSE(accepts(signature.parameters()[0], truth));
  EXPECT_FALSE(accepts(signature.parameters()[0], real));
  EXPECT_TRUE(accepts(signature.parameters()[1], integer));
  EXPECT_FALSE(accepts(signature.parameters()[1], truth));
  EXPECT_FALSE(accepts(signature.parameters()[2], integer));
  EXPECT_TRUE(accepts(signature.parameters()[3], truth));
  EXPECT_FALSE(accepts(signature.parameters()[4], integer));
}

TEST(Signature, TextThatIsNotASignatureIsRefused) {
  Signature signature;
  EXPECT_FALSE(Signature::parse("", &signature));
  EXPECT_FALSE(Signature::parse("Tensor self", &signature));
  EXPECT_FALSE(Signature::parse("Tensr self -> Tensor out", &signature));
  EXPECT_FALSE(Signature::parse("Tensor self -> Tensor out -> Tensor out", &signature));
  EXPECT_FALSE(Signature::parse("Tensor self -> Tensor(other)", &signature));
}

TEST(Signature, ASlotMayBeUnsetOrAnyNumber) {
  const Signature signature = parsed("Tensor self -> slot out");
  EXPECT_TRUE(signature.returns_slot());
  EXPECT_TRUE(accepts(signature.parameters()[1], EValue()));
  EXPECT_TRUE(accepts(signature.parameters()[1], EValue(2.0)));
  EXPECT_FALSE(accepts(signature.parameters()[1], EValue(StringRef())));
}

}  // namespace
}  // namespace berth
