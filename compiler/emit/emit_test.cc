// Programs from small modules: what stands in the file.
#include "compiler/emit/emit.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

using testing::listing;
using testing::module_of;
using testing::only_method;
using testing::outputs_of;
using testing::program_of;
using testing::refusal_of;
using testing::written;

TEST(Emit, ArgumentsAreInSchemaOrderAndTheOutputTwice) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[1,3,8,8], %w: f32[4,3,3,3]) {
      %y: f32[1,4,6,6] = aten::convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %z: f32[1,4,6,6] = aten::add.Tensor(%y, %y)
      return %z
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::convolution.out(v0, v1, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1, v2, v2)
    aten::add.out(v2, v2, 1, v9, v9)
  )"));
  EXPECT_EQ(only_method(emitted).inputs, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(only_method(emitted).outputs, (std::vector<int32_t>{9}));
}

// Holds row 210.
TEST(Emit, SeveralOutputsAreFollowedByTheirList) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[4,6]) {
      %values: f32[4,2], %indices: i64[4,2] = aten::topk(%x, 2, 1, true, true)
      %a: f32[4,3], %b: f32[4,3] = aten::split_copy.Tensor(%x, 3, 1)
      return %values, %indices, %a, %b
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::topk.values(v0, 2, 1, true, true, v1, v2, [v1, v2])
    aten::split_copy.Tensor_out(v0, 3, 1, [v7, v8], [v7, v8])
  )"));
}

// Holds row 120, row 210.
TEST(Emit, ListsAreAfterTheirTensorsWithNoneWhereAllowed) {
  const EmittedProgram emitted = program_of(R"(
    const @i: i64[2] = dense<[2, 0]>
    method forward(%x: f32[3,3]) {
      %i: i64[2] = const @i
      %y: f32[3,2] = aten::index.Tensor(%x, [none, %i])
      %z: f32[3,5] = aten::cat([%x, %y], 1)
      return %z
    })");
  const format::MethodDesc& method = only_method(emitted);
  EXPECT_EQ(listing(method), dedent(R"(
    aten::index.Tensor_out(v0, [none, v2], v1, v1)
    aten::cat.out([v0, v1], 1, v4, v4)
  )"));
  for (size_t v = 0; v < method.values.size(); ++v) {
    if (const auto* list = std::get_if<format::TensorListDesc>(&method.values[v])) {
      for (const int32_t item : list->items) EXPECT_LT(static_cast<size_t>(item), v);
    }
    if (const auto* list = std::get_if<format::OptionalTensorListDesc>(&method.values[v])) {
      for (const int32_t item : list->items) EXPECT_LT(item, static_cast<int32_t>(v));
    }
  }
}

TEST(Emit, ArgumentsOfTheFunctionalFormAreOmitted) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[2]) {
      %a: i64[4] = aten::arange.start_step(1, 9, 2, i64)
      %b: f64[2] = dim_order_ops::_to_dim_order_copy(%x, false, none, f64)
      return %a, %b
    })");
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::arange.start_out(1, 9, 2, v1, v1)
    dim_order_ops::_to_dim_order_copy.out(v0, false, none, v5, v5)
  )"));
  EXPECT_EQ(outputs_of(only_method(emitted))[0].substr(0, 6), "i64[4]");
}

// Holds row 139.
// Holds row 218.
TEST(Emit, OutputsMayBeOfAnyKind) {
  const EmittedProgram emitted = program_of(R"(
    const @w: f32[2] = dense<[1, 2]>
    method forward(%x: f32[2]) {
      %w: f32[2] = const @w
      %y: f32[2] = aten::add.Tensor(%x, %w)
      return %y, %w, none, 7, true, 2.5, %x, "hi"
    })");
  const format::MethodDesc& method = only_method(emitted);
  EXPECT_EQ(outputs_of(method),
            (std::vector<std::string>{"f32[2]+16", "f32[2]#1", "none", "7", "true", "2.5", "f32[2]+0", "'hi'"}));
  EXPECT_EQ(method.output_tree.find("builtins.tuple"), method.output_tree.rfind("builtins.tuple"));
}

// Holds row 219.
TEST(Emit, OperatorsAndWeightsAreWrittenOnceOverAllMethods) {
  const EmittedProgram emitted = program_of(R"(
    const @a: f32[4] = dense<[1, 2, 3, 4]>
    const @b: f32[2,2] = dense<[1, 2, 3, 4]>
    const @other: f32[4] = dense<[1, 2, 3, 5]>
    const @ones: f32[4] = splat<1>
    const @same_ones: f32[4] = dense<[1, 1, 1, 1]>
    method first(%x: f32[4]) {
      %a: f32[4] = const @a
      %o: f32[4] = const @other
      %y: f32[4] = aten::add.Tensor(%x, %a)
      %z: f32[4] = aten::add.Tensor(%y, %o)
      %u: f32[4] = aten::mul.Tensor(%z, %z)
      %v: f32[4] = aten::add.Tensor(%u, %a)
      return %v
    }
    method second(%x: f32[2,2], %p: f32[4]) {
      %b: f32[2,2] = const @b
      %ones: f32[4] = const @ones
      %same: f32[4] = const @same_ones
      %y: f32[2,2] = aten::add.Tensor(%x, %b)
      %q: f32[4] = aten::mul.Tensor(%p, %ones)
      %r: f32[4] = aten::mul.Tensor(%q, %same)
      return %y, %r
    })");
  EXPECT_EQ(emitted.program.constants.size(), 3u);  // a = b, other, ones
  EXPECT_EQ(written(emitted.program.constants[2]),
            (std::vector<uint8_t>{0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63}));
  const format::MethodDesc& first = emitted.program.methods[0];
  ASSERT_EQ(first.operators.size(), 2u);
  EXPECT_EQ(first.operators[0].name, "aten::add");
  EXPECT_EQ(first.operators[1].name, "aten::mul");
}

TEST(Emit, WeightsThatDifferInTheMiddleStaySeparate) {
  std::string zeros = "0";
  for (int i = 1; i < 400; ++i) zeros += ", 0";
  std::string one = zeros;
  one[3 * 130] = '1';  // outside of the samples that are hashed first
  const EmittedProgram emitted =
      program_of("const @a: f32[400] = dense<[" + zeros + "]>\nconst @b: f32[400] = dense<[" + one + R"(]>
    method forward(%x: f32[400]) {
      %a: f32[400] = const @a
      %b: f32[400] = const @b
      %y: f32[400] = aten::add.Tensor(%x, %a)
      %z: f32[400] = aten::add.Tensor(%y, %b)
      return %z
    })");
  EXPECT_EQ(emitted.program.constants.size(), 2u);
}

TEST(Emit, AnEmptyConstantHasAByteAsExecuTorchRefusesAnEmptySegment) {
  const EmittedProgram emitted = program_of(R"(const @a: f32[0,3] = dense<[]>
    method forward() {
      %a: f32[0,3] = const @a
      return %a
    })");
  ASSERT_EQ(emitted.program.constants.size(), 1u);
  EXPECT_EQ(written(emitted.program.constants[0]), std::vector<uint8_t>{0});
}

constexpr const char* kTwoMethods[] = {R"(
    method encode(%x: f32[2,3]) {
      %y: f32[2,3] = aten::relu(%x)
      %z: f32[2,3] = aten::tanh(%y)
      return %z
    })",
                                       R"(
    method decode(%x: f32[5]) {
      %y: f32[5] = aten::exp(%x)
      return %y
    })"};

// Holds row 220.
TEST(Emit, MethodsAreSortedByNameAndIndependent) {
  const EmittedProgram both = program_of(std::string(kTwoMethods[0]) + kTwoMethods[1]);
  ASSERT_EQ(both.program.methods.size(), 2u);
  EXPECT_EQ(both.program.methods[0].name, "decode");
  EXPECT_EQ(both.program.methods[1].name, "encode");
  for (size_t i = 0; i < 2; ++i) {
    const EmittedProgram alone = program_of(kTwoMethods[1 - i]);
    format::ProgramDesc one_of_two;
    one_of_two.methods = {both.program.methods[i]};
    format::ProgramDesc the_one;
    the_one.methods = {only_method(alone)};
    const auto a = format::program_bytes(one_of_two);
    const auto b = format::program_bytes(the_one);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(*a, *b);
  }
  ir::Module twins = module_of(kTwoMethods[0]);
  twins.methods.push_back(twins.methods[0]);
  EXPECT_EQ(refusal_of(twins), "method encode: two methods have this name");
}

// Holds row 221.
TEST(Emit, ConstantsKeepTheirDimensionOrder) {
  // Two rows of three, column by column in memory: 1 4 2 5 3 6.
  const EmittedProgram emitted = program_of(R"(
    const @w: i32[2,3]{1,0} = dense<[1, 4, 2, 5, 3, 6]>
    method forward(%x: i32[2,3]{1,0}) {
      %w: i32[2,3]{1,0} = const @w
      return %w, %x
    })");
  EXPECT_EQ(outputs_of(only_method(emitted)), (std::vector<std::string>{"i32[2,3]{1,0}#1", "i32[2,3]{1,0}+0"}));
  const std::vector<uint8_t> bytes = written(emitted.program.constants.at(0));
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[4], 4);
  EXPECT_EQ(bytes[8], 2);
}

// Holds row 221.
TEST(Emit, AViewOfAWeightSharesItsBytesWithoutAnInstruction) {
  const EmittedProgram emitted = program_of(R"(
    const @w: f32[6] = dense<[1, 2, 3, 4, 5, 6]>
    method forward(%x: f32[2,3]) {
      %w: f32[6] = const @w
      %v: f32[2,3] = aten::view_copy(%w, [2, 3])
      %y: f32[2,3] = aten::add.Tensor(%x, %v)
      %z: f32[6] = aten::mul.Tensor(%w, %w)
      return %y, %z
    })");
  EXPECT_EQ(emitted.program.constants.size(), 1u);
  EXPECT_EQ(emitted.program.constants[0].size, 24u);
  EXPECT_EQ(listing(only_method(emitted)).substr(0, 14), "aten::add.out(");
  EXPECT_EQ(only_method(emitted).instructions.size(), 2u);
}

// Holds row 224.
TEST(Emit, MemoryFormatsThatNeedStridesAreRefused) {
  const auto with_format = [](const std::string& format) {
    return R"(
      method forward(%x: f32[1,2,2,2]) {
        %y: f32[1,2,2,2] = aten::clone(%x,)" +
           format + ")\n return %y\n}";
  };
  for (const char* format : {"none", "0", "1"}) {
    EXPECT_EQ(listing(only_method(program_of(with_format(format)))),
              std::string("aten::clone.out(v0, ") + format + ", v1, v1)\n");
  }
  ir::Module channels_last = module_of(with_format("0"));
  channels_last.methods[0].nodes[{0}].args[1] = ir::Dim(2);
  EXPECT_EQ(refusal_of(channels_last),
            "method forward: aten::clone: argument 'memory_format': memory format 2 cannot be written; contiguous (0) "
            "and preserve (1) can");
}

TEST(Emit, ATensorInPlaceOfANumberIsRefused) {
  EXPECT_NE(refusal_of(R"(
    method forward(%x: f32[2], %s: f32[]) {
      %y: f32[2] = aten::add.Tensor(%x, %x, %s)
      return %y
    })")
                .find("argument 'alpha': a tensor stands where a number is wanted"),
            std::string::npos);
}

// Holds row 226.
TEST(Emit, StackTracesAreOnePerInstructionOnRequest) {
  const std::string text = R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::relu(%x) "Relu_0"
      %v: f32[2,2] = aten::view_copy(%a, [2, 2]) "Reshape_1"
      %b: f32[2,2] = aten::exp(%v) "Exp_2"
      return %b
    })";
  EXPECT_TRUE(only_method(program_of(text)).stacktrace.empty());
  EmitOptions options;
  options.stack_traces = true;
  const EmittedProgram emitted = program_of(text, testing::as_written(), options);
  const format::MethodDesc& method = only_method(emitted);
  ASSERT_EQ(method.stacktrace.size(), 2u);
  EXPECT_EQ(method.stacktrace[0].at(0).function, "Relu_0");
  EXPECT_EQ(method.stacktrace[1].at(0).function, "Exp_2");
  // The map from instructions to nodes, which tools and profilers use, is always there.
  EXPECT_EQ(emitted.nodes, (std::vector<std::vector<int32_t>>{{0, 2}}));
  EXPECT_EQ(emitted.instructions, 2u);
}

TEST(Emit, MethodsDescribeHowTheirInputsNestLikePyTorch) {
  const format::MethodDesc method = only_method(program_of(kTwoMethods[1]));
  EXPECT_EQ(method.input_tree,
            R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", )"
            R"("context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, )"
            R"({"type": "builtins.dict", "context": "[]", "children_spec": []}]}])");
  EXPECT_EQ(method.output_tree, R"([1, {"type": null, "context": null, "children_spec": []}])");
}

// Holds row 121: tensors alone, a number beside one, a number alone, nothing.
TEST(Emit, ScalarInputsAreRefusedByName) {
  const std::string refused = "method forward: input %n: a program fixes scalar inputs; make it a constant or a tensor";
  EXPECT_EQ(refusal_of(R"(
    method forward(%x: f32[2], %n: int) {
      return %x
    })"),
            refused);
  EXPECT_EQ(refusal_of(R"(
    method forward(%n: int) {
      %y: f32[2] = aten::full([2], 1, f32)
      return %y
    })"),
            refused);
  EXPECT_EQ(only_method(program_of(kTwoMethods[0])).inputs.size(), 1u);
  const EmittedProgram none = program_of(R"(
    method forward() {
      %y: f32[2] = aten::full([2], 1, f32)
      return %y
    })");
  EXPECT_TRUE(only_method(none).inputs.empty());
  EXPECT_EQ(only_method(none).arenas.at(0).bytes, 8u);
}

TEST(Emit, TensorsThatAreTooLargeAreRefusedByName) {
  EXPECT_NE(refusal_of(R"(
    symbol n in [1, 3000000000]
    method forward(%x: f32[n]) {
      return %x
    })")
                .find("%x"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"(
    symbol n in [1, 2000000000]
    method forward(%x: f32[n,n,n]) {
      return %x
    })")
                .find("%x"),
            std::string::npos);
}

TEST(Emit, NumbersThatCrossABranchAreRefusedByName) {
  const std::string text = R"(
    state @s: f32[2]
    method forward(%x: f32[2], %c: bool[]) {
      %y: int = berth::if(%c) { () yield 1 } { () yield 2 }
      return %x
    })";
  EXPECT_NE(refusal_of(text).find("berth::if: a branch or loop gives tensors"), std::string::npos) << refusal_of(text);
}

TEST(Emit, MetaIsOneOptionalBlob) {
  EmitOptions options;
  options.meta = false;
  EXPECT_TRUE(program_of(kTwoMethods[0], testing::as_written(), options).program.named_data.empty());
  const EmittedProgram with = program_of(kTwoMethods[0]);
  ASSERT_EQ(with.program.named_data.size(), 1u);
  EXPECT_EQ(with.program.named_data[0].key, "berth.meta");
}

TEST(Emit, RegionsValuesAndOutputsAreNamedAfterTheNode) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%c: bool[], %x: f32[4]) {
      %result: f32[4] = berth::if(%c) { () %a: f32[4] = aten::relu(%x) yield %a }
                                      { () %b: f32[4] = aten::exp(%x) yield %b }
      return %result, %x "same"
    })");
  const auto bytes = format::program_bytes(emitted.program);
  format::ProgramView view;
  ASSERT_EQ(format::ProgramView::open(*bytes, &view, nullptr), Error::kOk);
  ASSERT_EQ(format::verify_program(view, nullptr), Error::kOk);
  const fb::MethodMeta& meta = *view.meta()->methods()->Get(0);
  std::vector<std::string> names;
  for (const fb::ValueName* value : *meta.values()) names.emplace_back(format::text(value->name()));
  EXPECT_EQ(names, (std::vector<std::string>{"c", "x", "result"}));
  ASSERT_EQ(format::length(meta.outputs()), 2u);
  EXPECT_EQ(meta.outputs()->Get(0)->str(), "");
  EXPECT_EQ(meta.outputs()->Get(1)->str(), "same");
}

}  // namespace
}  // namespace berth::emit
