// Archives that say what the IR cannot hold. The fear: a module that its verifier refuses, which everything after the
// importer takes for sound; and a file that asks for work without end. TestProgram::import() asks the verifier.
#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

// Without elements there are no bytes that a file of them would have to have.
TEST(MalformedInput, WeightsWithoutElementsHaveSizesAllTheSame) {
  TestProgram p;
  p.parameter("w", "w", tensor_meta({0, kHuge}), "weight_0");
  p.payload("weight_0", {});
  p.output("w");
  says(failure_of(p.import()), "expected sizes between 0");

  TestProgram changed;
  changed.buffer("b", "b", tensor_meta({0, kHuge}), "weight_0");
  changed.payload("weight_0", {});
  changed.node("aten.neg_.default", {{"self", tensor("b")}}, "y", {0, kHuge});
  changed.output("y");
  says(failure_of(changed.import()), "expected sizes between 0");
}

TEST(MalformedInput, InputSizesOfHundredsOfTermsAreRefused) {
  const auto with = [](int terms) {
    TestProgram p;
    p.symbol("s", 2, 100000);
    std::string sum = "Add(Symbol('s')";
    for (int i = 2; i < terms; ++i) sum += ", floor(Mul(Rational(1, " + std::to_string(i) + "), Symbol('s')))";
    p.input("x", {"Symbol('s')"});
    p.input("y", {sum + ")"});
    p.output("x");
    return p.import();
  };
  const auto few = with(4);
  EXPECT_TRUE(few.ok()) << few.error().text();
  says(failure_of(with(150)), "more than 256 terms");
}

// Each slice has as many dimensions as there may be; stacked they have one more.
TEST(MalformedInput, MapsThatStackTooManyDimensionsAreRefused) {
  const auto with = [](size_t rank) {
    const std::vector<json> slice(rank, 1);
    std::vector<json> rows(rank + 1, 1);
    rows[0] = 3;
    TestGraph body;
    body.placeholder("row", {1});
    body.node("aten.view.default", {{"self", tensor("row")}, {"size", integers(std::vector<int64_t>(rank, 1))}}, "wide",
              slice);
    body.result(tensor("wide"));
    TestProgram p;
    p.input("x", {3, 1});
    p.node("higher_order.map_impl", {{"", body.as_argument()}, {"", tensor_list({"x"})}, {"", tensor_list({})}}, "y",
           rows);
    p.output("y");
    return p.import();
  };
  const auto most = with(15);
  EXPECT_TRUE(most.ok()) << most.error().text();
  says(failure_of(with(16)), "at most 16 dimensions");
}

// A number where a tensor with rows must stand: the file is wrong, not Berth.
TEST(MalformedInput, LinearOfANumberIsRefused) {
  TestProgram p;
  p.parameter("w", "w", tensor_meta({2, 2}), "weight_0");
  p.payload("weight_0", {1, 2, 3, 4});
  p.parameter("b", "b", tensor_meta({2}), "weight_1");
  p.payload("weight_1", {1, 2});
  p.node("aten.linear.default", {{"input", integer(2)}, {"weight", tensor("w")}, {"bias", tensor("b")}}, "y", {2});
  p.output("y");
  says(failure_of(p.import()), "needs at least one dimension in its input");
}

// b = view(x); x = neg_(b): what x is a view of would be a view of x.
TEST(MalformedInput, DuplicateNamesAreRefused) {
  TestProgram p;
  p.input("x", {4});
  p.node("aten.view.default", {{"self", tensor("x")}, {"size", integers({2, 2})}}, "b", {2, 2});
  p.node("aten.neg_.default", {{"self", tensor("b")}}, "x", {4});
  p.node("aten.neg_.default", {{"self", tensor("b")}}, "c", {2, 2});
  p.output("c");
  says(failure_of(p.import()), "its output \"x\" is defined already");
}

}  // namespace
}  // namespace berth::pt2
