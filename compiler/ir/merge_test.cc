#include "compiler/ir/merge.h"

#include <gtest/gtest.h>

#include "compiler/ir/arguments.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace berth::ir {
namespace {

Module parsed_whole(const std::string& text) {
  auto module = parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? std::move(*module) : Module();
}

Expected<Module> merged(std::initializer_list<std::string> texts, const MergeOptions& options = {}) {
  std::vector<Module> modules;
  for (const std::string& text : texts) modules.push_back(parsed_whole(text));
  return merge(std::move(modules), options);
}

void expect_text(Expected<Module> module, const std::string& text) {
  ASSERT_TRUE(module.ok()) << module.error().text();
  const Status sound = verify(*module);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  EXPECT_EQ(print(*module), print(parsed_whole(text)));
}

// `method` adds a constant to its input.
std::string adds(const std::string& method, const std::string& name, const std::string& type,
                 const std::string& contents) {
  return "const @" + name + ": " + type + " = " + contents + "\nmethod " + method + "(%x: " + type +
         ") {\n  %c: " + type + " = const @" + name + "\n  %y: " + type +
         " = aten::add.Tensor(%x, %c, 1)\n  return %y\n}\n";
}

TEST(Merge, EqualBytesOfOneTypeAreOneConstant) {
  expect_text(merged({adds("a", "w", "f32[2]", "dense<[1.0, 2.0]>"), adds("b", "v", "f32[2]", "dense<[1.0, 2.0]>")}),
              R"(const @w: f32[2] = dense<[1.0, 2.0]>
                 method a(%x: f32[2]) {
                   %c: f32[2] = const @w
                   %y: f32[2] = aten::add.Tensor(%x, %c, 1)
                   return %y
                 }
                 method b(%x: f32[2]) {
                   %c: f32[2] = const @w
                   %y: f32[2] = aten::add.Tensor(%x, %c, 1)
                   return %y
                 })");
}

TEST(Merge, OtherBytesUnderOneNameStayApart) {
  const auto module =
      merged({adds("a", "w", "f32[2]", "dense<[1.0, 2.0]>"), adds("b", "w", "f32[2]", "dense<[1.0, 3.0]>")});
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 2u);
  EXPECT_NE(module->constants[{0}].name, module->constants[{1}].name);
  EXPECT_EQ(constant_of(*module, module->methods[0], module->methods[0].body.inputs[0]), nullptr);
  for (const int32_t m : {0, 1}) {
    const Method& method = module->methods[m];
    const Constant* constant = constant_of(*module, method, method.node({0}).args[arg::add_out::other]);
    EXPECT_EQ(constant, &module->constants[{m}]);
  }
}

// The bytes of f32[2] and of f32[1,2] are equal, and so are those of 1.0 and of the integer 1065353216.
TEST(Merge, EqualBytesOfOtherTypesStayApart) {
  const auto module =
      merged({adds("a", "w", "f32[2]", "dense<[1.0, 1.0]>"), adds("b", "w", "f32[1,2]", "dense<[1.0, 1.0]>"),
              adds("c", "w", "i32[2]", "dense<[1065353216, 1065353216]>")});
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->constants.size(), 3u);
  Module copy = *module;
  EXPECT_TRUE(verify(copy).ok());
}

TEST(Merge, ASymbolOfAnotherRangeGetsAnotherName) {
  const std::string scale = "(%x: f32[n,2]) {\n  %y: f32[(n * 2)] = aten::view_copy(%x, [(n * 2)])\n  return %y\n}\n";
  const std::string four = "symbol n in [1, 4]\nmethod ";
  const std::string two = "symbol n in [1, 4]\nsymbol n_2 in [1, 8]\nmethod ";
  // n of the second may not become n_2, which is its own other symbol.
  const std::string both =
      "symbol n in [1, 8]\nsymbol n_2 in [1, 4]\nmethod b(%x: f32[n,2], %z: f32[n_2,2]) {\n  return %x, %z, n_2\n}\n";
  expect_text(merged({four + "a" + scale, both}),
              four + "a" + scale +
                  "symbol n_3 in [1, 8]\nsymbol n_2 in [1, 4]\n"
                  "method b(%x: f32[n_3,2], %z: f32[n_2,2]) {\n  return %x, %z, n_2\n}\n");
  expect_text(merged({four + "a" + scale, four + "b" + scale}), four + "a" + scale + "method b" + scale);
}

// As --where may say of one method alone.
TEST(Merge, SizesOfWhichOtherRelationsHoldStayApart) {
  const std::string sizes = "symbol n in [0, 8]\nsymbol p in [0, 8]\n";
  const std::string where = "where (n + p) <= 8\n";
  const std::string body = "(%x: f32[n,p]) {\n  %y: f32[n,p] = aten::exp(%x)\n  return %y\n}\n";
  const auto names = [](const Module& module) {
    std::string all;
    for (const SymbolId id : module.symbols.ids()) all += module.symbols[id].name + " ";
    return all;
  };
  auto apart = merged({sizes + where + "method a" + body, sizes + "method b" + body});
  ASSERT_TRUE(apart.ok()) << apart.error().text();
  EXPECT_NE(names(*apart).find("n_2"), std::string::npos) << names(*apart);
  auto same = merged({sizes + where + "method a" + body, sizes + where + "method b" + body});
  ASSERT_TRUE(same.ok()) << same.error().text();
  EXPECT_EQ(names(*same).find("n_2"), std::string::npos) << names(*same);
  EXPECT_EQ(same->symbols.relations().size(), 1u);
}

TEST(Merge, StatesOfOneNameAreSharedOnlyWhereItIsAsked) {
  const auto counts = [](const std::string& method, const std::string& type, const std::string& start) {
    return "state @s: " + type + start + "\nmethod " + method + "() {\n  %s: " + type +
           " = berth::state_read() @s\n  %y: " + type + " = aten::add.Scalar(%s, 1, 1)\n" +
           "  berth::state_write(%y) @s\n  return %y\n}\n";
  };
  const auto apart = merged({counts("a", "f32[2]", ""), counts("b", "f32[2]", "")});
  ASSERT_TRUE(apart.ok()) << apart.error().text();
  ASSERT_EQ(apart->states.size(), 2u);
  EXPECT_EQ(apart->states[{1}].name, "s_2");
  EXPECT_EQ(apart->methods[1].node({0}).state, StateId{1});
  MergeOptions share;
  share.share_state = true;
  const auto shared = merged({counts("a", "f32[2]", ""), counts("b", "f32[2]", "")}, share);
  ASSERT_TRUE(shared.ok()) << shared.error().text();
  ASSERT_EQ(shared->states.size(), 1u);
  EXPECT_EQ(shared->methods[1].node({0}).state, StateId{0});
  const auto differs = merged({counts("a", "f32[2]", ""), counts("b", "f32[4]", "")}, share);
  ASSERT_FALSE(differs.ok());
  EXPECT_NE(differs.error().text().find("its type differs"), std::string::npos) << differs.error().text();
  const auto begins = merged({counts("a", "f32[2]", ""), counts("b", "f32[2]", " = splat<1.0>")}, share);
  ASSERT_FALSE(begins.ok());
  EXPECT_NE(begins.error().text().find("begins with other contents"), std::string::npos) << begins.error().text();
}

TEST(Merge, DelegatesKeepTheirBackendsUnderOtherNames) {
  const auto calls = [](const std::string& method, const std::string& device) {
    return "delegate @d \"berth.sim\" {target_device = \"" + device + "\"}\nmethod " + method +
           "(%x: f32[4]) {\n  %y: f32[4] = berth::delegate([%x]) @d {\n    (%a: f32[4])\n    %b: f32[4] = "
           "aten::relu(%a)\n    yield %b\n  }\n  return %y\n}\n";
  };
  const auto module = merged({calls("a", "sim:0"), calls("b", "sim:1")});
  ASSERT_TRUE(module.ok()) << module.error().text();
  Module copy = *module;
  const Status sound = verify(copy);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  ASSERT_EQ(module->delegates.size(), 2u);
  for (const int32_t m : {0, 1}) {
    const DelegateId id = module->methods[m].node(module->methods[m].body.nodes[0]).delegate;
    EXPECT_EQ(module->delegates[id].specs[0].value, "sim:" + std::to_string(m));
  }
}

TEST(Merge, OneKeyWithOtherDataIsRefused) {
  std::vector<Module> modules(3);
  modules[0].named_data.push_back({"key", Blob::owned({1, 2, 3})});
  modules[1].named_data.push_back({"key", Blob::owned({1, 2, 3})});
  modules[2].named_data.push_back({"key", Blob::owned({1, 2, 4})});
  const auto alike = merge({modules[0], modules[1]});
  ASSERT_TRUE(alike.ok());
  EXPECT_EQ(alike->named_data.size(), 1u);
  const auto differ = merge({modules[0], modules[2]});
  ASSERT_FALSE(differ.ok());
  EXPECT_NE(differ.error().text().find("data \"key\""), std::string::npos) << differ.error().text();
}

TEST(Merge, OneNameForTwoMethodsIsRefused) {
  const auto module = merged({"method a() {\n  return 1\n}\n", "method a() {\n  return 2\n}\n"});
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().text().find("method a: two models have a method of this name"), std::string::npos)
      << module.error().text();
}

TEST(Merge, KeepsTheFilesOfAllSoThatNoneIsOverwritten) {
  std::vector<Module> modules(2);
  modules[0].files = {"a.onnx", "weights.bin"};
  modules[1].files = {"b.onnx"};
  const auto module = merge(std::move(modules));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->files, (std::vector<std::string>{"a.onnx", "weights.bin", "b.onnx"}));
}

}  // namespace
}  // namespace berth::ir
