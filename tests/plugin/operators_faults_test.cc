// Operators of one's own that lie, throw or have no kernel.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "runtime/kernel.h"
#include "tests/plugin/own_operators.h"

namespace berth::own_operators_testing {
namespace {

TEST(OwnOperators, AMissingKernelIsNamedAtLoad) {
  const Outcome out = run(compiled(parsed(twice("gain"))), {{{64}, ramp(64)}}, KernelTable());
  EXPECT_EQ(out.error, Error::kOperatorMissing);
  has(out.said, "no kernel for my::gain.out");
}

constexpr char kScripted[] = "method forward(%x: f32[4]) {\n%y: f32[4] = my::scripted(%x)\nreturn %y\n}";

TEST(OwnOperators, AShapeRuleThatLiesIsAFailureOfItsNode) {
  const auto said = [](std::function<plugin::Status(const Node&, Results&)> rule) {
    Scripted::on_infer = std::move(rule);
    const std::string text = failure_of(kScripted);
    has(text, "my::scripted");
    return text;
  };
  using S = plugin::Status;
  has(said([](const Node&, Results&) { return S(); }), "gives 0 results, its schema has 1");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {4}), r.give(BERTH_F32, {4}), S(); }),
      "gives 2 results");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {5}), S(); }), "expected the result %y: f32[5]");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {-1}), S(); }), "the size -1, which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {INT64_MIN}), S(); }), "which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {BERTH_NO_NUMBER - 7}), S(); }), "which cannot be");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {int64_t{1} << 39}), S(); }), "my::scripted");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, std::vector<int64_t>(17, 1)), S(); }),
      "17 dimensions");
  has(said([](const Node&, Results& r) { return r.give(99, {4}), S(); }), "element type 99, which does not exist");
  has(said([](const Node& n, Results& r) { return r.give(BERTH_F32, {r.dim(n.argument(0).value(), 3)}), S(); }),
      "asks for dimension 3");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {r.divide(4, 0)}), S(); }), "divides by");
  has(said([](const Node&, Results& r) { return r.give(BERTH_F32, {r.add(INT64_MAX, INT64_MIN)}), S(); }),
      "is given what is not a size");
  has(said([](const Node&, Results&) { return S(BERTH_NOT_SUPPORTED, "not on %s%n Sundays"); }), "not on %s%n Sundays");
  has(said([](const Node&, Results&) -> S { throw std::runtime_error("bang"); }), "threw an exception: bang");
  has(said([](const Node&, Results&) -> S { throw 7; }), "threw an exception");
}

// A rule that says one thing now and another later is found by the check of the IR.
TEST(OwnOperators, AShapeRuleThatChangesItsMindIsFound) {
  Scripted::on_infer = [](const Node& n, Results& r) { return r.like(n.argument(0).value()), plugin::Status(); };
  auto module = parsed(kScripted);
  ASSERT_TRUE(module.ok());
  Scripted::on_infer = [](const Node&, Results& r) { return r.give(BERTH_F32, {3}), plugin::Status(); };
  const auto program = compile(std::move(*module), options_for());
  ASSERT_FALSE(program.ok());
  has(program.error().text(), "f32[3]");
}

TEST(OwnOperators, AKernelThatLiesAboutSizesOrThrowsIsAnErrorOfTheRun) {
  Scripted::on_infer = [](const Node& n, Results& r) { return r.like(n.argument(0).value()), plugin::Status(); };
  const Bytes fixed = compiled(parsed(kScripted));
  const Bytes dynamic =
      compiled(parsed("symbol n in [1, 4]\nmethod forward(%x: f32[n]) {\n%y: f32[n] = my::scripted(%x)\nreturn %y\n}"));
  const auto said = [&](const Bytes& program, std::function<plugin::Status(const Call&)> kernel) {
    Scripted::on_compute = std::move(kernel);
    const Outcome out = run(program, {{{4}, {1, 2, 3, 4}}});
    EXPECT_NE(out.error, Error::kOk);
    return out.said;
  };
  using S = plugin::Status;
  const std::string cannot = "gives a result sizes that it cannot have";
  for (const Bytes& program : {fixed, dynamic}) {
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = 5, S(); }), cannot);
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = -1, S(); }), cannot);
    has(said(program, [](const Call& c) { return c.tensor(1).sizes[0] = INT32_MAX, S(); }), cannot);
    has(said(program, [](const Call&) { return S(BERTH_INVALID_ARGUMENT, "no %s%n today"); }), "no %s%n today");
    has(said(program, [](const Call&) -> S { throw std::runtime_error("bang"); }), "threw an exception: bang");
    has(said(program, [](const Call&) { return S(12345, std::string(5000, 'x')); }), "xxx");
  }
  has(said(fixed, [](const Call& c) { return c.tensor(1).sizes[0] = 3, S(); }), cannot);
  // What it does to the sizes of an input has no effect.
  Scripted::on_compute = [](const Call& c) {
    c.tensor(0).sizes[0] = 1000;
    std::memcpy(c.tensor(1).data, c.tensor(0).data, c.tensor(0).bytes);
    return S();
  };
  EXPECT_EQ(run(fixed, {{{4}, {1, 2, 3, 4}}}).results.at(0), Floats({1, 2, 3, 4}));
}

}  // namespace
}  // namespace berth::own_operators_testing
