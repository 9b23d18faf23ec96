// Which operators work in place is the caller's choice, as far as the operator table goes; the table itself names
// nothing that a kernel could not give away.
#include "compiler/memory/in_place_set.h"

#include "compiler/emit/emit_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;

using testing::listing;
using testing::only_method;
using testing::program_of;
using testing::why_of;

MemoryOptions with_operators(const std::vector<std::string>& entries) {
  MemoryOptions options = testing::as_written();
  auto set = InPlaceSet::only(entries);
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
  if (set.ok()) options.in_place_set = *set;
  return options;
}

std::string refusal(const std::string& entry) {
  const auto set = InPlaceSet::only({entry});
  return set.ok() ? "taken" : set.error().text();
}

constexpr char kChain[] = R"(
    method forward(%x: f32[4,8], %y: f32[4,8]) {
      %a: f32[4,8] = aten::exp(%x)
      %b: f32[4,8] = aten::relu(%a)
      %c: f32[4,8] = aten::mul.Tensor(%b, %y)
      return %c
    })";

// Holds row 193: none, or the chosen ones in the place of all, not beside them.
TEST(InPlaceSet, AChosenSetReplacesTheTablesAndMayBeEmpty) {
  EXPECT_EQ(program_of(kChain, testing::as_written()).in_place, 3u);
  EXPECT_EQ(program_of(kChain, with_operators({})).in_place, 0u);
  EXPECT_EQ(program_of(kChain, with_operators({"aten::relu"})).in_place, 1u);
  EXPECT_EQ(why_of("a", kChain, with_operators({"aten::relu"})), "keep: off");
  EXPECT_EQ(why_of("b", kChain, with_operators({"aten::relu"})), "reuse %a");
  EXPECT_EQ(program_of(kChain, with_operators({"aten::relu", "aten::exp"})).in_place, 2u);
}

// Holds row 179: what is not in the set has bytes of its own.
TEST(InPlaceSet, AnUnchosenOperatorHasItsOwnBytes) {
  EXPECT_EQ(only_method(program_of(kChain, with_operators({"aten::mul.Tensor"}))).arenas.at(0).bytes, 384u);
  EXPECT_EQ(only_method(program_of(kChain, with_operators({"aten::exp", "aten::relu"}))).arenas.at(0).bytes, 384u);
  EXPECT_EQ(only_method(program_of(kChain, testing::as_written())).arenas.at(0).bytes, 256u);
}

TEST(InPlaceSet, ArgumentsAreChosenByName) {
  EXPECT_EQ(why_of("c", kChain, with_operators({"aten::mul.Tensor=self"})), "reuse %b");
  EXPECT_EQ(why_of("c", kChain, with_operators({"aten::mul.Tensor=other"})), "reuse %y");
  const std::string text = R"(
    method forward(%x: f32[4,8], %y: f32[4,8]) {
      %c: f32[4,8] = aten::mul.Tensor(%x, %y)
      return %c, %x
    })";
  EXPECT_EQ(why_of("c", text, with_operators({"aten::mul.Tensor=self"})), "keep: %x graph-output, %y off");
  EXPECT_EQ(why_of("c", text, with_operators({"aten::mul.Tensor=self+other"})), "reuse %y");
  // The kernel reads the same bytes through an argument that was not chosen, as its row allows.
  const std::string twice = R"(
    method forward(%x: f32[4]) {
      %c: f32[4] = aten::mul.Tensor(%x, %x)
      return %c
    })";
  EXPECT_EQ(why_of("c", twice, with_operators({"aten::mul.Tensor=other"})), "reuse %x");
}

// Holds row 148: both caches are written where they lie, as this one operator may; and without it neither is.
TEST(InPlaceSet, AChosenOperatorWritesTwoCachesInPlace) {
  const auto copies = [&](const std::vector<std::string>& entries) {
    const std::string lines = listing(only_method(program_of(testing::kTwoCaches, with_operators(entries))));
    int count = 0;
    for (size_t at = lines.find("aten::copy_"); at != std::string::npos; at = lines.find("aten::copy_", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(copies({"aten::index_put"}), 0);
  EXPECT_EQ(copies({"aten::exp"}), 2);
}

// Holds row 196.
TEST(InPlaceSet, AnImpossibleChoiceIsRefusedBeforePlanning) {
  EXPECT_NE(refusal("aten::nothing").find("no such operator"), std::string::npos);
  EXPECT_NE(refusal("").find("no such operator"), std::string::npos);
  EXPECT_EQ(refusal("aten::add.Tensor=third"),
            "in place: aten::add.Tensor=third: aten::add.Tensor has no argument third");
  EXPECT_NE(refusal("aten::add.Tensor=").find("has no argument"), std::string::npos);
  EXPECT_NE(refusal("aten::add.Tensor=self+").find("has no argument"), std::string::npos);
  EXPECT_EQ(refusal("aten::add.Tensor=alpha"),
            "in place: aten::add.Tensor=alpha: its row in the operator table never gives alpha away; it gives self, "
            "other");
  EXPECT_EQ(refusal("aten::mm"), "in place: aten::mm: its row in the operator table says that it never works in place");
  EXPECT_NE(refusal("aten::tril=self").find("never works in place"), std::string::npos);
  EXPECT_NE(refusal("berth::if").find("never works in place"), std::string::npos);
  EXPECT_EQ(refusal("aten::add.Tensor=other+self"), "taken");
}

// Holds row 196: each argument that a row gives away is a tensor, or tensors, at the same place of the out variant.
TEST(InPlaceSet, TheTableAliasesOnlyTensors) {
  int rows = 0;
  for (size_t id = 0; id < static_cast<size_t>(ir::OpId::kCount); ++id) {
    const ir::Operator& op = ir::operator_of(static_cast<ir::OpId>(id));
    const bool never = op.in_place == ir::InPlaceClass::kNever;
    EXPECT_EQ(op.in_place_arguments == 0, never) << op.functional_name;
    if (never) continue;
    ++rows;
    EXPECT_FALSE(op.output_is_list) << op.functional_name << ": only a first result may be in the bytes of an input";
    EXPECT_TRUE(op.in_place != ir::InPlaceClass::kSelf || (op.in_place_arguments & (op.in_place_arguments - 1)) == 0)
        << op.functional_name << ": of SELF there is one";
    for (size_t i = 0; i < 32; ++i) {
      if ((op.in_place_arguments >> i & 1u) == 0) continue;
      ASSERT_LT(i, op.parameters.size()) << op.functional_name;
      const ir::ParameterType type = op.parameters[i].type;
      EXPECT_TRUE(type == ir::ParameterType::kTensor || type == ir::ParameterType::kTensorList) << op.functional_name;
      for (size_t before = 0; before <= i; ++before) {
        EXPECT_FALSE(op.parameters[before].functional_only)
            << op.functional_name << ": the out variant has its arguments elsewhere";
      }
    }
  }
  EXPECT_GT(rows, 100);
}

}  // namespace
}  // namespace berth::memory
