#include "compiler/eval/evaluate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/text_testing.h"
#include "compiler/ir/parse.h"

namespace berth::eval {
namespace {

Array floats(std::vector<int32_t> sizes, const std::vector<float>& numbers) {
  Array array;
  array.sizes = std::move(sizes);
  array.bytes.resize(numbers.size() * sizeof(float));
  if (!numbers.empty()) std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}

std::vector<float> numbers(const Item& item) {
  const Array& array = std::get<Array>(item);
  std::vector<float> out(array.bytes.size() / sizeof(float));
  std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
  return out;
}

Item item_of(Array array) { return Item(std::in_place_type<Array>, std::move(array)); }

struct Outcome {
  std::vector<Item> outputs;
  std::string error;
};

Outcome run(const std::string& text, const std::vector<Item>& inputs, const EvaluateOptions& options = {}) {
  auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  auto outputs = evaluate(*module, module->methods[0], inputs, options);
  if (!outputs.ok()) return {{}, outputs.error().text()};
  return {std::move(*outputs), ""};
}

TEST(Evaluate, AMethodGivesWhatItsOperatorsSay) {
  const Outcome r = run(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    const @b: f32[2] = splat<10.0>
    method f(%x: f32[1,2]) {
      %w: f32[2,2] = const @w
      %b: f32[2] = const @b
      %y: f32[1,2] = aten::addmm(%b, %x, %w)
      %p: f32[1,1], %q: f32[1,1] = aten::split_with_sizes_copy(%y, [1, 1], 1)
      return %y, %q, 3, 0.5, true, none, "text"
    })",
                        {item_of(floats({1, 2}, {1, -1}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{8, 8}));
  EXPECT_EQ(numbers(r.outputs[1]), (std::vector<float>{8}));
  EXPECT_EQ(std::get<int64_t>(r.outputs[2]), 3);
  EXPECT_EQ(std::get<double>(r.outputs[3]), 0.5);
  EXPECT_EQ(std::get<bool>(r.outputs[4]), true);
  EXPECT_TRUE(std::holds_alternative<ir::None>(r.outputs[5]));
  EXPECT_EQ(std::get<std::string>(r.outputs[6]), "text");
}

TEST(Evaluate, SymbolsTakeTheSizesOfTheInputs) {
  const std::string text = R"(
    symbol n in [1, 4]
    method f(%x: f32[n,2]) {
      %y: f32[(n * 2)] = aten::view_copy(%x, [(n * 2)])
      %z: f32[(n * 4)] = aten::cat([%y, %y])
      return %z, n
    })";
  const Outcome r = run(text, {item_of(floats({2, 2}, {1, 2, 3, 4}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(std::get<int64_t>(r.outputs[1]), 2);
  EXPECT_NE(run(text, {item_of(floats({5, 2}, std::vector<float>(10)))}).error.find("expected %x as f32[n,2]"),
            std::string::npos);
}

TEST(Evaluate, SymbolsTakeSizesThatDependOnContents) {
  const Outcome r = run(R"(
    symbol k in [0, 3]
    method f(%x: f32[3]) {
      %i: i64[k,1] = aten::nonzero(%x)
      %j: i64[k] = aten::view_copy(%i, [k])
      %y: f32[k] = aten::index_select(%x, 0, %j)
      return %y
    })",
                        {item_of(floats({3}, {7, 0, 9}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{7, 9}));
}

TEST(Evaluate, BranchesRunTheOneThatIsTaken) {
  const std::string text = R"(
    method f(%c: bool, %x: f32[1]) {
      %r: f32[1] = berth::if(%c) {
        ()
        %a: f32[1] = aten::neg(%x)
        yield %a
      } {
        ()
        yield %x
      }
      return %r
    })";
  EXPECT_EQ(numbers(run(text, {Item(true), item_of(floats({1}, {3}))}).outputs[0]), std::vector<float>{-3});
  EXPECT_EQ(numbers(run(text, {Item(false), item_of(floats({1}, {3}))}).outputs[0]), std::vector<float>{3});
}

constexpr char kLoop[] = R"(
  method f(%x: f32[]) {
    %r: f32[] = berth::while([%x]) {
      (%a: f32[])
      %c: bool[] = aten::lt.Scalar(%a, 100)
      yield %c
    } {
      (%b: f32[])
      %d: f32[] = aten::mul.Scalar(%b, 3)
      yield %d
    }
    return %r
  })";

TEST(Evaluate, LoopsRunUntilTheConditionIsFalse) {
  EXPECT_EQ(numbers(run(kLoop, {item_of(floats({}, {2}))}).outputs[0]), std::vector<float>{162});
}

TEST(Evaluate, LoopsEndAtTheLimitOfOperators) {
  EvaluateOptions options;
  options.max_nodes = 100;
  EXPECT_NE(run(kLoop, {item_of(floats({}, {0}))}, options).error.find("more than 100 operators would run"),
            std::string::npos);
}

TEST(Evaluate, ScansCarryAndStack) {
  const Outcome r = run(R"(
    method f(%x: f32[3,2], %h: f32[2]) {
      %f: f32[2], %o: f32[3,2] = berth::scan(3, [%h], [%x]) {
        (%c: f32[2], %e: f32[2])
        %n: f32[2] = aten::add.Tensor(%c, %e)
        yield %n, %n
      }
      return %f, %o
    })",
                        {item_of(floats({3, 2}, {1, 2, 3, 4, 5, 6})), item_of(floats({2}, {10, 20}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{19, 32}));
  EXPECT_EQ(numbers(r.outputs[1]), (std::vector<float>{11, 22, 14, 26, 19, 32}));
}

TEST(Evaluate, StatesAreReadBeforeTheyAreWrittenAtTheEnd) {
  std::map<ir::StateId, Array> states;
  EvaluateOptions options;
  options.states = &states;
  const std::string text = R"(
    state @s: f32[1] = splat<5.0>
    method f(%x: f32[1]) {
      %a: f32[1] = berth::state_read() @s
      %b: f32[1] = aten::add.Tensor(%a, %x)
      berth::state_write(%b) @s
      %again: f32[1] = berth::state_read() @s
      return %again
    })";
  EXPECT_EQ(numbers(run(text, {item_of(floats({1}, {1}))}, options).outputs[0]), std::vector<float>{5});
  EXPECT_EQ(numbers(run(text, {item_of(floats({1}, {1}))}, options).outputs[0]), std::vector<float>{6});
  EXPECT_EQ(numbers(item_of(states[{0}])), std::vector<float>{7});
}

TEST(Evaluate, AnOperatorThatWritesItsArgumentWritesACopy) {
  const Outcome r = run(R"(
    method f(%x: f32[2], %y: f32[2]) {
      %z: f32[2] = aten::copy_(%x, %y)
      return %x, %z
    })",
                        {item_of(floats({2}, {1, 2})), item_of(floats({2}, {3, 4}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(numbers(r.outputs[1]), (std::vector<float>{3, 4}));
}

constexpr char kDevices[] = R"(
  const @w: f32[2] = splat<3.0>
  delegate @d "berth.sim" {target_device = "sim:0"}
  delegate @far "elsewhere" = hex"00"
  method f(%x: f32[2]) {
    %w: f32[2] = const @w
    %a: f32[2]@sim:0 = et_copy::_h2d_copy(%x)
    %b: f32[2]@sim:0, %c: f32[2]@sim:0 = berth::delegate([%a]) @d {
      (%i: f32[2]@sim:0)
      %k: f32[2]@sim:0 = aten::mul.Tensor(%i, %w)
      yield %k, %i
    }
    %e: f32[2]@sim:0 = berth::_d2d_copy(%b)
    %y: f32[2] = et_copy::_d2h_copy(%e)
    return %y, %c
  }
  method g(%x: f32[2]) {
    %y: f32[2] = berth::delegate([%x]) @far "Part_1"
    return %y
  })";

TEST(Evaluate, DevicesDoNotChangeNumbers) {
  const Outcome r = run(kDevices, {item_of(floats({2}, {1, -2}))});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(numbers(r.outputs[0]), (std::vector<float>{3, -6}));
  EXPECT_EQ(numbers(r.outputs[1]), (std::vector<float>{1, -2}));
}

TEST(Evaluate, DeviceCopiesKeepEveryTypeAndShape) {
  for (const char* type : {"f32[2,3]", "f16[3]", "i32[4]", "i64[]", "f32[0,3]"}) {
    auto module = ir::parse(filled(R"(
      method f(%x: $type) {
        %a: $type@cuda:1 = et_copy::_h2d_copy(%x)
        %b: $type = et_copy::_d2h_copy(%a)
        return %a, %b
      })",
                                   {{"type", type}}),
                            "t");
    ASSERT_TRUE(module.ok()) << module.error().text();
    const ir::TensorType& in = module->methods[0].tensor(module->methods[0].body.inputs[0]);
    Array x;
    x.dtype = in.dtype;
    for (ir::Dim size : in.shape) x.sizes.push_back(static_cast<int32_t>(size.value));
    for (size_t i = 0; i < x.numel() * element_size(x.dtype); ++i) {
      x.bytes.push_back(static_cast<uint8_t>(i + 1));
    }
    const auto outputs = evaluate(*module, module->methods[0], {item_of(x)});
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    // Holds row 87, row 89.
    for (const Item& item : *outputs) {
      const Array& y = std::get<Array>(item);
      EXPECT_EQ(y.dtype, x.dtype) << type;
      EXPECT_EQ(y.sizes, x.sizes) << type;
      EXPECT_EQ(y.bytes, x.bytes) << type;
    }
  }
}

TEST(Evaluate, CompiledPayloadsCannotBeEvaluated) {
  auto module = ir::parse(kDevices, "t");
  ASSERT_TRUE(module.ok());
  const auto outputs = evaluate(*module, module->methods[1], {item_of(floats({2}, {1, 2}))});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, Error::kNotSupported);
  EXPECT_EQ(outputs.error().text(),
            "berth::delegate \"Part_1\": @far is compiled already, only \"elsewhere\" can run it");
}

TEST(Evaluate, FailuresNameTheNode) {
  const Outcome r = run(R"(
    const @i: i64[1] = dense<[9]>
    method f(%x: f32[2,2]) {
      %i: i64[1] = const @i
      %y: f32[1,2] = aten::embedding(%x, %i) "Gather_3"
      return %y
    })",
                        {item_of(floats({2, 2}, {1, 2, 3, 4}))});
  EXPECT_EQ(r.error.find("aten::embedding \"Gather_3\": "), 0u) << r.error;
  EXPECT_NE(run(R"(
    method f(%x: f32[2]) {
      return %x
    })",
                {})
                .error.find("expected 1 inputs, found 0"),
            std::string::npos);
  EXPECT_NE(run(R"(
    method f(%x: f32[2]) {
      return %x
    })",
                {item_of(floats({3}, {1, 2, 3}))})
                .error.find("%x as f32[2]"),
            std::string::npos);
}

TEST(Evaluate, ShowsWhatNodesComputeAndNotWhatLoopsRepeat) {
  auto module = ir::parse(R"(
    method f(%x: f32[2], %c: f32[3,2]) {
      %y: f32[2] = aten::relu(%x)
      %unread: f32[2] = aten::neg(%y)
      %s: f32[2] = berth::scan(3, [%y], [%c]) {
        (%in: f32[2], %row: f32[2])
        %out: f32[2] = aten::add.Tensor(%in, %row)
        yield %out
      }
      return %s
    })",
                          "t");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const ir::Method& method = module->methods[0];
  std::map<std::string, std::vector<float>> seen;
  EvaluateOptions options;
  options.on_value = [&](ir::ValueId id, const Array& array) { seen[method.value(id).name] = numbers(Item(array)); };
  const auto outputs =
      evaluate(*module, method, {item_of(floats({2}, {-1, 2})), item_of(floats({3, 2}, {1, 1, 1, 1, 1, 1}))}, options);
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_EQ(seen, (std::map<std::string, std::vector<float>>{{"y", {0, 2}}, {"unread", {0, -2}}, {"s", {3, 5}}}));
}

TEST(Evaluate, MemoryIsLimited) {
  EvaluateOptions options;
  options.max_bytes = 1 << 20;
  const Outcome r = run(R"(
    method f() {
      %y: f32[1000000] = aten::full([1000000], 1.0)
      return %y
    })",
                        {}, options);
  EXPECT_NE(r.error.find("needs more memory"), std::string::npos);
}

TEST(Evaluate, ANodeOnConstantsAloneCanBeEvaluated) {
  auto module = ir::parse(R"(
    const @a: f32[2,3] = splat<2.0>
    const @b: f32[3]= dense<[1.0, 2.0, 3.0]>
    method f() {
      %a: f32[2,3] = const @a
      %b: f32[3] = const @b
      %y: f32[2,3] = aten::mul.Tensor(%a, %b)
      return %y
    })",
                          "t");
  ASSERT_TRUE(module.ok());
  const ir::Method& method = module->methods[0];
  const auto blobs = evaluate_node(*module, method, method.nodes.back(), 1000);
  ASSERT_TRUE(blobs.ok()) << blobs.error().text();
  Array array = floats({2, 3}, {});
  array.bytes = (*blobs)[0].to_vector();
  EXPECT_EQ(numbers(item_of(array)), (std::vector<float>{2, 4, 6, 2, 4, 6}));
  EXPECT_EQ(evaluate_node(*module, method, method.nodes.back(), 20).error().code, Error::kOutOfResources);
}

}  // namespace
}  // namespace berth::eval
