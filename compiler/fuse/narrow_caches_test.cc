// Caches in 16 bits. The fears: a state that something reads as f32, keys of one type and values of another, one method
// of two that share a cache, rows that are put in as f32.
#include "compiler/fuse/narrow_caches.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

Targets narrowing_targets(DType type = DType::kBF16) {
  Targets targets = cpu_targets();
  targets[0].weights = type;
  return targets;
}

// A method that puts a row into both caches and attends to them. `more`: nodes of the region behind that, `gives`: what
// it gives beside the attention and the caches, `after`: nodes of the method.
std::string step(const std::string& name, const std::string& more = "", const std::string& after = "") {
  return "method " + name + R"((%q: f32[1,4,1,4], %n: f32[1,2,1,4], %at: i64[1]) {
    %k: f32[1,2,8,4] = berth::state_read() @keys
    %v: f32[1,2,8,4] = berth::state_read() @values
    %y: f32[1,4,1,4], %k3: f32[1,2,8,4], %v3: f32[1,2,8,4] = berth::delegate([%q, %n, %at, %k, %v]) @d0 {
      (%qi: f32[1,4,1,4], %ni: f32[1,2,1,4], %ati: i64[1], %ki: f32[1,2,8,4], %vi: f32[1,2,8,4])
      %k2: f32[1,2,8,4] = aten::index_put(%ki, [none, none, %ati], %ni, false)
      %v2: f32[1,2,8,4] = aten::index_put(%vi, [none, none, %ati], %ni, false)
      %a: f32[1,4,1,4] = berth::grouped_attention(%qi, %k2, %v2, none, %ati, none, 1.0, false)
)" + more +
         R"(
      yield %a, %k2, %v2
    }
    berth::state_write(%k3) @keys
    berth::state_write(%v3) @values
)" + after +
         R"(
    return %y
  })";
}

std::string program(const std::string& methods, const std::string& initial = "") {
  return "delegate @d0 \"berth.cpu\"\nstate @keys: f32[1,2,8,4]" + initial + "\nstate @values: f32[1,2,8,4]\n" +
         methods;
}

struct Narrow {
  ir::Module module;
  std::string text;
  std::vector<std::string> why;
  bool changed = false;

  explicit Narrow(const std::string& before, const Targets& targets = narrowing_targets())
      : module(passes::parsed(before)) {
    passes::Options options;
    options.why = {"precision"};
    options.why_lines = &why;
    const auto done = narrow_caches(module, targets, options);
    EXPECT_TRUE(done.ok()) << done.error().text();
    const Status sound = ir::verify(module);
    text = ir::print(module);
    EXPECT_TRUE(sound.ok()) << sound.error().text() << "\n" << text;
    changed = done.ok() && *done == passes::Changed::kYes;
  }
  DType type(const char* name) const {
    for (const ir::State& state : module.states) {
      if (state.name == name) return state.type.dtype;
    }
    return DType::kBool;
  }
};

TEST(NarrowCaches, KeysAndValuesAreOfTheWeightsType) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    const Narrow one(program(step("forward"), " = splat<0.5>"), narrowing_targets(type));
    EXPECT_TRUE(one.changed);
    EXPECT_EQ(one.type("keys"), type) << one.text;
    EXPECT_EQ(one.type("values"), type) << one.text;
    EXPECT_EQ(occurrences(one.text, "dim_order_ops::_to_dim_order_copy("), 2U) << one.text;
    EXPECT_EQ(occurrences(one.text, "f32[1,2,8,4]"), 0U) << one.text;
    EXPECT_NE(one.text.find(type == DType::kBF16 ? "hex\"003f003f" : "hex\"00380038"), std::string::npos) << one.text;
    ASSERT_EQ(one.why.size(), 2U);
    EXPECT_NE(one.why[0].find(to_string(type)), std::string::npos) << one.why[0];
  }
}

TEST(NarrowCaches, BothMethodsThatShareACacheHaveItNarrow) {
  const Narrow both(program(step("prefill") + "\n" + step("decode")));
  EXPECT_EQ(both.type("keys"), DType::kBF16) << both.text;
  EXPECT_EQ(occurrences(both.text, "f32[1,2,8,4]"), 0U) << both.text;
}

TEST(NarrowCaches, WithoutNarrowWeightsTheyStay) {
  EXPECT_FALSE(Narrow(program(step("forward")), cpu_targets()).changed);
}

// Of two caches, one that something else reads: attention wants keys and values of one type.
TEST(NarrowCaches, WhatIsReadAsF32StaysWithWhatGoesWithIt) {
  const std::string look = "\nmethod look() {\n %k: f32[1,2,8,4] = berth::state_read() @keys\n return %k\n}";
  std::string added_up = step("forward");
  added_up.replace(added_up.find("%ni, false)"), 11, "%ni, true)");
  const std::string kept[] = {
      step("forward", "%s: f32[1,2,8,4] = aten::neg(%k2)\n"),
      step("forward", "%s: f32[1,2,8,4] = aten::mul.Tensor(%ni, %k2)\n"),
      step("forward", "%s: f32[1,2,8,4] = aten::neg(%ki)\n"),
      step("forward", "", "%s: f32[1,2,8,4] = aten::neg(%v3)\n"),
      step("forward", "%b: f32[1,4,1,4] = berth::grouped_attention(%qi, %k2, %vi, none, %ati, none, 1.0, false)\n"),
      step("forward") + look,
      added_up,
  };
  for (const std::string& methods : kept) {
    const Narrow one(program(methods));
    EXPECT_FALSE(one.changed) << one.text;
    EXPECT_EQ(occurrences(one.text, "bf16"), 0U) << one.text;
  }
}

}  // namespace
}  // namespace berth::fuse
