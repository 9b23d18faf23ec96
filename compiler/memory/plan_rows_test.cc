// What the plan of a program owes to readers of the file: which values have a place and how large it is, from when to
// when they live, what views cost, and where state lies.
#include <algorithm>

#include "base/text_testing.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"
#include "compiler/memory/planned_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using packing::Planner;

using testing::listing;
using testing::program_of;
using testing::value_text;

// Holds row 123. All are set before the first node runs, in any order.
TEST(PlanRows, InputsLiveFromTheStartAndShareNoByte) {
  const std::string text = R"(
    method forward(%a: f32[8], %b: f32[4], %c: f32[2]) {
      %d: f32[8] = aten::exp(%a)
      %e: f32[4] = aten::exp(%b)
      %f: f32[2] = aten::exp(%c)
      return %d, %e, %f
    })";
  const NamedModel model(text);
  for (const char* input : {"a", "b", "c"}) EXPECT_EQ(model.life(input).lower, 0);
  const EmittedProgram emitted = program_of(text);
  const format::MethodDesc& method = emitted.program.methods[0];
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < i; ++k)
      EXPECT_FALSE(share_bytes(tensor(method, method.inputs[i]), tensor(method, method.inputs[k])));
  }
}

/// Naive reuses no byte; the others do, and every file is sound.
void expect_reuse(const std::string& text) {
  EXPECT_EQ(pairs(program_of(text, with_planner(Planner::kNaive)).program.methods[0]), 0);
  for (const Planner planner : {Planner::kGreedy, Planner::kBreadth, Planner::kBestFit, Planner::kBest}) {
    EXPECT_GT(pairs(program_of(text, with_planner(planner)).program.methods[0]), 0) << static_cast<int>(planner);
  }
}

// Holds row 126.
TEST(PlanRows, AChainIsNotSharedByNaiveButByOthers) {
  std::string body;
  std::string last = "%x";
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    body += filled(R"(
      %m$n: f32[2,2] = aten::mul.Tensor($last, %a)
      %s$n: f32[2,2] = aten::add.Tensor(%m$n, %b)
    )",
                   {{"n", n}, {"last", last}});
    last = "%s" + n;
  }
  expect_reuse(filled(R"(
    method forward(%a: f32[2,2], %x: f32[2,2], %b: f32[2,2]) {
      $body
      return $last
    })",
                      {{"body", body}, {"last", last}}));
}

// Holds row 127. Seven linears, each twice as wide as the one before, and a branch that ends earlier.
TEST(PlanRows, DifferentSizesAreNotSharedByNaiveButByOthers) {
  std::string constants;
  std::string body;
  for (int i = 0; i < 7; ++i) {
    const std::vector<std::pair<std::string, std::string>> values = {
        {"n", std::to_string(i)},
        {"input", i == 0 ? "%x" : "%l" + std::to_string(i - 1)},
        {"type", "f32[" + std::to_string(2 << i) + "," + std::to_string(4 << i) + "]"},
        {"columns", std::to_string(4 << i)}};
    constants += filled(R"(
      const @w$n: $type = splat<0.5>
    )",
                        values);
    body += filled(R"(
      %w$n: $type = const @w$n
      %l$n: f32[2,$columns] = aten::mm($input, %w$n)
    )",
                   values);
  }
  expect_reuse(filled(R"(
    $constants
    method forward(%x: f32[2,2]) {
      $body
      %p: f32[2,4] = aten::mm(%x, %w0)
      %q: f32[2,8] = aten::mm(%p, %w1)
      %r: f32[2,16] = aten::mm(%q, %w2)
      return %l6, %r
    })",
                      {{"constants", constants}, {"body", body}}));
}

// Holds row 128. The first output lives on while the second is made.
TEST(PlanRows, TwoOutputsAreNotSharedWithEachOther) {
  const std::string text = R"(
    method forward(%x: f32[2,2]) {
      %a: f32[2,2] = aten::exp(%x)
      %b: f32[2,2] = aten::mul.Scalar(%a, 2)
      %c: f32[2,2] = aten::sin(%b)
      %d: f32[2,2] = aten::cos(%c)
      %e: f32[2,2] = aten::mul.Scalar(%d, 3)
      return %b, %e
    })";
  expect_reuse(text);
  for (const Planner planner : {Planner::kGreedy, Planner::kBest}) {
    const format::MethodDesc method = program_of(text, with_planner(planner, true)).program.methods[0];
    EXPECT_FALSE(share_bytes(tensor(method, method.outputs[0]), tensor(method, method.outputs[1])));
  }
}

constexpr char kSplitAndJoined[] = R"(
    method forward(%x: f32[6,8]) {
      %h: f32[6,8] = aten::exp(%x)
      %a: f32[2,8], %b: f32[2,8], %c: f32[2,8] = aten::split_copy.Tensor(%h, 2, 0)
      %d: f32[2,8] = aten::flip(%a, [1])
      %e: f32[6,8] = aten::cat([%c, %b, %d], 0)
      %y: f32[6,8] = aten::flip(%e, [0])
      return %y
    })";

// Holds row 124.
TEST(PlanRows, ListElementsLiveUntilTheListIsRead) {
  const NamedModel model(kSplitAndJoined);
  for (const char* part : {"b", "c", "d"}) EXPECT_EQ(model.life(part).upper, model.step_of("e") + 1) << part;
  EXPECT_EQ(model.life("a").upper, model.step_of("d") + 1);
}

// Holds row 130.
TEST(PlanRows, ListElementsAreNotSharedByNaiveButByGreedy) {
  EXPECT_EQ(pairs(program_of(kSplitAndJoined, with_planner(Planner::kNaive)).program.methods[0]), 0);
  EXPECT_GT(pairs(program_of(kSplitAndJoined, with_planner(Planner::kGreedy)).program.methods[0]), 0);
}

// Holds row 125.
TEST(PlanRows, AResultDoesNotShareWithALiveInputAndConstantsAreNotPlanned) {
  const EmittedProgram emitted = program_of(R"(
    const @w: f32[4,4] = splat<0.5>
    const @b: f32[4] = splat<0.25>
    method forward(%a: f32[4,4], %b: f32[4,4]) {
      %w: f32[4,4] = const @w
      %bias: f32[4] = const @b
      %t: f32[4,4] = aten::permute_copy(%a, [1, 0])
      %m: f32[4,4] = aten::mm(%t, %w)
      %n: f32[4,4] = aten::add.Tensor(%m, %bias)
      %y: f32[4,4] = aten::mm(%n, %b)
      return %y
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_NE(tensor(method, method.inputs[0]).planned->offset, tensor(method, method.inputs[1]).planned->offset);
  int constants = 0;
  for (const format::ValueDesc& value : method.values) {
    const auto* one = std::get_if<format::TensorDesc>(&value);
    if (one == nullptr || one->data_buffer_idx == 0) continue;
    EXPECT_FALSE(one->planned.has_value());
    ++constants;
  }
  EXPECT_EQ(constants, 2);
}

// Holds row 131. What is not planned is the caller's; state always has its place.
TEST(PlanRows, InputsAndOutputsArePlannedOnRequest) {
  const std::string text = R"(
    state @s: f32[4] = splat<0>
    method forward(%x: f32[4]) {
      %s: f32[4] = berth::state_read() @s
      %h: f32[4] = aten::add.Tensor(%x, %s)
      %y: f32[4] = aten::exp(%h)
      berth::state_write(%h) @s
      return %y
    })";
  for (const bool asked : {false, true}) {
    for (const bool in_place : {false, true}) {
      MemoryOptions options;
      options.plan_inputs_and_outputs = asked;
      options.in_place = in_place;
      const NamedModel model(text, options);
      const Home home = asked ? Home::kBuffer : Home::kCaller;
      EXPECT_EQ(model.home("x"), home);
      EXPECT_EQ(model.home("y"), home);
      EXPECT_EQ(model.home("h"), Home::kBuffer);
      const BufferId of_state = model.model.buffers.states[ir::StateId{0}];
      ASSERT_TRUE(of_state.valid());
      const packing::Buffer& state = model.model.buffers.all[of_state];
      EXPECT_EQ(state.lower, 0);
      EXPECT_GT(state.upper, model.model.steps.read) << "state lives for ever";
      const packing::Problem problem = packing_problem(model.model);
      const auto plan = packing::plan_best(problem);
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      EXPECT_TRUE(packing::validate(problem, *plan).ok());
      if (!asked) continue;
      EXPECT_GT(model.life("y").upper, model.model.steps.read) << "outputs live to the end";
    }
  }
}

// Holds row 137, row 138.
TEST(PlanRows, ConstantsAreNeverPlanned) {
  const std::string text = R"(
    const @a: f32[4] = splat<1>
    const @b: f32[4] = splat<2>
    const @c: f32[4] = splat<3>
    const @d: f32[4] = splat<4>
    method forward(%x: f32[4]) {
      %a: f32[4] = const @a
      %b: f32[4] = const @b
      %c: f32[4] = const @c
      %d: f32[4] = const @d
      %h: f32[4] = aten::add.Tensor(%x, %a)
      %i: f32[4] = aten::add.Tensor(%h, %b)
      %j: f32[4] = aten::add.Tensor(%i, %c)
      %y: f32[4] = aten::add.Tensor(%j, %d)
      return %y
    })";
  for (const bool asked : {false, true}) {
    MemoryOptions options;
    options.plan_inputs_and_outputs = asked;
    const NamedModel model(text, options);
    int count = 0;
    for (const char* input : {"x", "a", "b", "c", "d"}) count += model.home(input) == Home::kBuffer ? 1 : 0;
    EXPECT_EQ(count, asked ? 1 : 0);
  }
}

// Holds row 140, row 141, row 208: places and sizes are those at the upper ends, as numbers.
TEST(PlanRows, DynamicTensorsTakeTheirUpperBound) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [0, 3]
    symbol m in [1, 4]
    method forward(%x: f32[n,m]) {
      %h: f32[n,m] = aten::exp(%x)
      %y: f32[m,n] = aten::permute_copy(%h, [1, 0])
      return %y
    })",
                                            with_planner(Planner::kNaive));
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_EQ(value_text(method, method.inputs[0]), "f32[<=3,4]+0");
  const std::vector<format::TensorDesc> all = planned(method);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].planned->offset, 48u);
  EXPECT_EQ(method.arenas[0].bytes, 144u);
}

// Holds row 143.
TEST(PlanRows, EveryTensorOfBranchesAndLoopsIsPlanned) {
  const EmittedProgram emitted = program_of(R"(
    const @zero: f32[1] = splat<0>
    method forward(%c: bool[], %x: f32[4], %xs: f32[3,4]) {
      %zero: f32[1] = const @zero
      %r: f32[4] = berth::if(%c) {
        ()
        %a: f32[4] = aten::exp(%x)
        %b: f32[4] = aten::sin(%a)
        yield %b
      } {
        ()
        yield %x
      }
      %n: f32[1], %s: f32[4] = berth::while([%zero, %r]) {
        (%i: f32[1], %j: f32[4])
        %t: bool[1] = aten::lt.Scalar(%i, 2.5)
        yield %t
      } {
        (%k: f32[1], %l: f32[4])
        %o: f32[1] = aten::add.Scalar(%k, 1.0)
        %p: f32[4] = aten::cos(%l)
        yield %o, %p
      }
      %y: f32[3,4] = berth::scan(3, [], [%xs]) {
        (%q: f32[4])
        %u: f32[4] = aten::add.Tensor(%q, %s)
        yield %u
      }
      return %y
    })");
  for (const format::ValueDesc& value : emitted.program.methods[0].values) {
    const auto* one = std::get_if<format::TensorDesc>(&value);
    if (one == nullptr || one->data_buffer_idx != 0) continue;
    EXPECT_TRUE(one->planned.has_value());
  }
}

// Holds row 186. In place or not, the call has the arguments of the model.
TEST(PlanRows, InPlaceChangesOffsetsAndNotArguments) {
  const std::string text = R"(
    method forward(%x: f32[4,8], %v: f32[1,8], %i: i64[1]) {
      %h: f32[4,8] = aten::exp(%x)
      %y: f32[4,8] = aten::index_put(%h, [%i], %v, true)
      return %y
    })";
  const EmittedProgram apart = program_of(text, with_planner(Planner::kBest, false));
  const EmittedProgram together = program_of(text, with_planner(Planner::kBest, true));
  EXPECT_EQ(listing(apart.program.methods[0]), listing(together.program.methods[0]));
  EXPECT_NE(listing(together.program.methods[0]).find(", true, v"), std::string::npos);
  EXPECT_EQ(apart.in_place, 0u);
  EXPECT_EQ(together.in_place, 2u);
}

// Holds row 146. Where the new value is written back, self and out are the state itself, and no one else is there.
TEST(PlanRows, AWriteBackWritesTheStateItself) {
  const EmittedProgram emitted = program_of(R"(
    state @count: f32[] = dense<[5]>
    method forward(%x: f32[]) {
      %old: f32[] = berth::state_read() @count
      %new: f32[] = aten::add.Scalar(%old, 1)
      berth::state_write(%new) @count
      %y: f32[] = aten::add.Tensor(%x, %old)
      return %y
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  const auto& copy = std::get<format::KernelCallDesc>(method.instructions.back());
  EXPECT_EQ(method.operators[copy.op_index].name, "aten::copy_");
  EXPECT_EQ(copy.args.front(), copy.args.back());
  const format::TensorDesc& state = tensor(method, copy.args.front());
  EXPECT_EQ(state.name, "count");
  int there = 0;
  for (const format::TensorDesc& one : planned(method)) there += share_bytes(one, state) ? 1 : 0;
  EXPECT_EQ(there, 1);
}

// Holds row 149, row 150. Three methods, one of which reads the states in another order and one of which only one.
TEST(PlanRows, StateIsAtOneOffsetInEveryMethod) {
  const EmittedProgram emitted = program_of(R"(
    state @k: f32[8,8] = splat<0>
    state @v: f32[8,8] = splat<0>
    method forward(%x: f32[1,8], %i: i64[1]) {
      %k: f32[8,8] = berth::state_read() @k
      %v: f32[8,8] = berth::state_read() @v
      %k2: f32[8,8] = aten::index_put(%k, [%i], %x, false)
      %v2: f32[8,8] = aten::index_put(%v, [%i], %x, false)
      berth::state_write(%k2) @k
      berth::state_write(%v2) @v
      %y: f32[8,8] = aten::mm(%k2, %v2)
      return %y
    }
    method get() {
      %v: f32[8,8] = berth::state_read() @v
      %y: f32[8,8] = aten::exp(%v)
      return %y
    }
    method reset(%x: f32[8,8]) {
      %v: f32[8,8] = berth::state_read() @v
      %k: f32[8,8] = berth::state_read() @k
      %y: f32[8,8] = aten::mm(%v, %k)
      berth::state_write(%x) @v
      berth::state_write(%x) @k
      return %y
    })");
  int states = 0;
  for (const format::MethodDesc& method : emitted.program.methods) {
    ASSERT_EQ(method.arenas.size(), 2u) << method.name;
    EXPECT_EQ(method.arenas[1].bytes, 512u) << method.name;
    for (const format::TensorDesc& one : planned(method)) {
      if (one.name.empty()) continue;
      EXPECT_EQ(one.planned->memory_id, 2u);
      EXPECT_EQ(one.planned->offset, one.name == "k" ? 0u : 256u) << method.name << " " << one.name;
      ++states;
    }
  }
  EXPECT_EQ(states, 5);
}

// Holds row 213: 8-bit floats keep their type and their bytes.
TEST(PlanRows, FloatsOfEightBitsAreUnchangedInTheFile) {
  const EmittedProgram emitted = program_of(R"(
    const @k: f8e4m3[4] = hex"01020304"
    const @l: f8e5m2[4] = hex"05060708"
    method forward(%x: f8e4m3[3]) {
      %k: f8e4m3[4] = const @k
      %l: f8e5m2[4] = const @l
      %y: f8e4m3[3] = aten::clone(%x)
      return %y, %k, %l
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_EQ(tensor(method, method.outputs[0]).dtype, DType::kF8E4M3);
  EXPECT_EQ(tensor(method, method.outputs[1]).dtype, DType::kF8E4M3);
  EXPECT_EQ(tensor(method, method.outputs[2]).dtype, DType::kF8E5M2);
  std::vector<std::vector<uint8_t>> constants;
  for (const format::Bytes& constant : emitted.program.constants) constants.push_back(testing::written(constant));
  EXPECT_EQ(std::count(constants.begin(), constants.end(), std::vector<uint8_t>({1, 2, 3, 4})), 1);
  EXPECT_EQ(std::count(constants.begin(), constants.end(), std::vector<uint8_t>({5, 6, 7, 8})), 1);
}

// Holds row 207. What the method returns is what its last node makes, not a value like it.
TEST(PlanRows, AnOutputIsTheValueThatItsNodeMakes) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[2,3]) {
      %h: f32[2,3] = aten::exp(%x)
      %v: f32[2,1], %i: i64[2,1] = aten::max.dim(%h, 1, true)
      return %v, %h, %i
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  const auto& exp = std::get<format::KernelCallDesc>(method.instructions[0]);
  const auto& max = std::get<format::KernelCallDesc>(method.instructions[1]);
  const size_t last = max.args.size() - 1;
  EXPECT_EQ(method.outputs, (std::vector<int32_t>{max.args[last - 2], exp.args.back(), max.args[last - 1]}));
}

}  // namespace
}  // namespace berth::memory
