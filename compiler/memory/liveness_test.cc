// Which values share bytes, and from when to when they live.
#include "base/text_testing.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/planned_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

using testing::listing;
using testing::module_of;
using testing::program_of;
using testing::value_text;

struct Analysed : NamedModel {
  using NamedModel::NamedModel;

  /// "[lower, upper) size", or where it is when it has no buffer.
  std::string range(const std::string& name) const {
    const ValueHome& place = model.aliases.homes[value(name)];
    if (place.home == Home::kConstant) return "constant";
    if (place.home == Home::kNowhere) return "nowhere";
    const packing::Buffer& s = model.buffers.all[place.buffer];
    return "[" + std::to_string(s.lower) + ", " + std::to_string(s.upper) + ") " + std::to_string(s.size);
  }
  bool share(const std::string& a, const std::string& b) const {
    const ValueHome& left = model.aliases.homes[value(a)];
    const ValueHome& right = model.aliases.homes[value(b)];
    return left.home == right.home && left.buffer == right.buffer && left.constant == right.constant;
  }
  std::string reason(int32_t node) const { return to_string(model.aliases.reasons[{node}]); }
};

TEST(Liveness, LiveRangesEndAtTheLastReadOrWithTheOutputs) {
  const Analysed a(R"(
    method forward(%x: f32[4], %unused: f32[2]) {
      %a: f32[4] = aten::relu(%x)
      %b: f32[4] = aten::exp(%a)
      %dead: f32[4] = aten::abs(%a)
      %c: f32[4] = aten::add.Tensor(%b, %a)
      return %c, %b
    })");
  EXPECT_EQ(a.range("x"), "[0, 2) 16");
  EXPECT_EQ(a.range("unused"), "[0, 1) 8");
  EXPECT_EQ(a.range("a"), "[1, 5) 16");
  EXPECT_EQ(a.range("dead"), "[3, 4) 16");
  EXPECT_EQ(a.range("b"), "[2, 8) 16");
  EXPECT_EQ(a.range("c"), "[4, 8) 16");
}

TEST(Liveness, AViewKeepsItsBaseAliveThroughChains) {
  const Analysed a(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      %v: f32[2,2] = aten::view_copy(%a, [2, 2])
      %w: f32[2,1,2] = aten::unsqueeze_copy(%v, 1)
      %b: f32[4] = aten::exp(%x)
      %c: f32[2,1,2] = aten::abs(%w)
      return %c, %b
    })");
  EXPECT_TRUE(a.share("a", "v"));
  EXPECT_TRUE(a.share("a", "w"));
  EXPECT_FALSE(a.share("a", "b"));
  EXPECT_EQ(a.range("a"), "[1, 6) 16");
  EXPECT_EQ(a.reason(1), "view");
  EXPECT_TRUE(a.model.aliases.bases[a.value("w")] == a.value("v"));
}

TEST(Liveness, EveryReasonAgainstAViewIsReported) {
  const Analysed a(R"(
    symbol n in [1, 8]
    const @k: f32[4] = dense<[1, 2, 3, 4]>
    state @s: f32[4] = splat<0>
    method forward(%x: f32[4], %l: f32[2,2]{1,0}, %d: f32[n,2]) {
      %k: f32[4] = const @k
      %s: f32[4] = berth::state_read() @s
      %a: f32[4] = aten::relu(%x)
      %of_input: f32[2,2] = aten::view_copy(%x, [2, 2])
      %of_constant: f32[2,2] = aten::view_copy(%k, [2, 2])
      %of_state: f32[2,2] = aten::view_copy(%s, [2, 2])
      %order: f32[4] = aten::view_copy(%l, [4])
      %sizes: f32[(n * 2)] = aten::view_copy(%d, [(n * 2)])
      %view: f32[2,2] = aten::view_copy(%a, [2, 2])
      %e: f32[(n * 2)] = aten::exp(%sizes)
      return %of_input, %of_constant, %of_state, %order, %view, %e
    })");
  EXPECT_EQ(a.reason(1), "not-a-view");
  EXPECT_EQ(a.reason(2), "output-of-input");
  EXPECT_EQ(a.reason(3), "output-of-constant");
  EXPECT_EQ(a.reason(4), "output-of-state");
  EXPECT_EQ(a.reason(5), "order-differs");
  EXPECT_EQ(a.reason(6), "sizes-change");
  EXPECT_EQ(a.reason(7), "view");
  EXPECT_FALSE(a.share("x", "of_input"));
  EXPECT_TRUE(a.share("a", "view"));
}

TEST(Liveness, AViewOnAnotherDeviceIsACopyAndSaysWhy) {
  Analysed a = Analysed(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::relu(%x)
      %v: f32[2,2] = aten::view_copy(%a, [2, 2])
      %b: f32[2,2] = aten::exp(%v)
      return %b
    })");
  a.module.methods[0].values[a.value("v")].tensor()->device = Device(DeviceType::kSim, 1);
  const auto model = make_model(a.module, a.module.methods[0]);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->aliases.reasons[ir::NodeId{1}], ViewReason::kOtherDevice);
  ASSERT_EQ(model->arenas.size(), 2u);
  EXPECT_TRUE(model->arenas[0].device.is_cpu());
  EXPECT_EQ(model->arenas[1].device, Device(DeviceType::kSim, 1));
}

TEST(Liveness, ViewsOfCallersMemoryAndSymbolicConstantsAreRefused) {
  const ir::Module module = module_of(R"(
    method forward(%x: f32[4]) {
      %named: f32[2,2] = aten::view_copy(%x, [2, 2])
      %a: f32[2,2] = aten::exp(%named)
      %returned: f32[4] = aten::view_copy(%a, [4])
      return %returned
    })");
  MemoryOptions callers;
  callers.plan_inputs_and_outputs = false;
  const auto model = make_model(module, module.methods[0], callers);
  ASSERT_TRUE(model.ok()) << model.error().text();
  std::vector<std::string> reasons;
  for (const ViewReason reason : model->aliases.reasons) reasons.emplace_back(to_string(reason));
  EXPECT_EQ(reasons, (std::vector<std::string>{"callers-memory", "not-a-view", "callers-output"}));
  const Analysed symbols(R"(
    symbol n in [1, 4]
    const @k: f32[4] = dense<[1, 2, 3, 4]>
    method forward(%x: f32[n]) {
      %k: f32[4] = const @k
      %u: f32[n] = aten::view_copy(%k, [n])
      %y: f32[n] = aten::add.Tensor(%x, %u)
      return %y
    })");
  EXPECT_EQ(symbols.reason(0), "constant-of-symbols");

  MemoryOptions off;
  off.alias = false;
  const auto none = make_model(module, module.methods[0], off);
  ASSERT_TRUE(none.ok()) << none.error().text();
  for (const ViewReason reason : none->aliases.reasons) EXPECT_EQ(reason, ViewReason::kOff);
}

TEST(Liveness, AnUnreadOutputNeedsNoBytesWhereItsKernelAllowsThat) {
  const char* text = R"(
    method forward(%x: f32[1,1,4,4]) {
      %y: f32[1,1,2,2], %i: i64[1,1,2,2] = aten::max_pool2d_with_indices(%x, [2, 2], [2, 2], [0, 0], [1, 1], false)
      %values: f32[1,1,4,1], %unread: i64[1,1,4,1] = aten::max.dim(%x, 3, true)
      return %y, %values
    })";
  const Analysed a(text);
  EXPECT_EQ(a.range("i"), "nowhere");
  EXPECT_EQ(a.range("unread"), "[2, 3) 32");
  const EmittedProgram emitted = program_of(text);
  EXPECT_EQ(value_text(emitted.program.methods[0], 2), "i64[1,1,2,2]?");
}

TEST(Liveness, SizesAreTheUpperBoundOfTheLargestAlias) {
  const Analysed a(R"(
    symbol n in [1, 10]
    method forward(%x: f32[n,6]) {
      %a: f32[n,6] = aten::relu(%x)
      %v: f32[(n * 2),3] = aten::view_copy(%a, [(n * 2), 3])
      %y: f32[(n * 2),3] = aten::exp(%v)
      return %y
    })");
  EXPECT_EQ(a.range("a"), "[1, 4) 240");
  const Analysed larger(R"(
    symbol n in [1, 8]
    symbol m in [1, 16]
    method forward(%x: f32[n]) {
      %a: f32[n] = aten::relu(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %y: f32[m] = aten::exp(%v)
      return %y
    })");
  EXPECT_EQ(larger.range("a"), "[1, 4) 64");
}

// A permutation of dimensions that are 1 moves nothing: a view of what is computed, but not of an input or of state.
TEST(Liveness, APermutationThatMovesNothingIsAViewOfComputedValuesOnly) {
  const Analysed a(R"(
    state @s: f32[1,4] = splat<0>
    method forward(%x: f32[1,4]) {
      %s: f32[1,4] = berth::state_read() @s
      %p: f32[4,1] = aten::permute_copy(%x, [1, 0])
      %q: f32[4,1] = aten::permute_copy(%s, [1, 0])
      %e: f32[1,4] = aten::exp(%x)
      %r: f32[4,1] = aten::permute_copy(%e, [1, 0])
      %y: f32[4,1] = aten::add.Tensor(%p, %q)
      %z: f32[4,1] = aten::add.Tensor(%y, %r)
      return %z
    })");
  EXPECT_EQ(a.reason(1), "not-a-view");
  EXPECT_EQ(a.reason(2), "not-a-view");
  EXPECT_EQ(a.reason(4), "view");
  EXPECT_FALSE(a.share("x", "p"));
  EXPECT_TRUE(a.share("e", "r"));
}

// The same at any size: an instruction sets the sizes. Two sizes that are open keep their order, whatever else moves.
TEST(Liveness, APermutationOfOpenSizesThatMovesNothingIsAViewToo) {
  const Analysed a(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[1,n,4], %w: f32[n,m]) {
      %a: f32[1,n,4] = aten::relu(%x)
      %p: f32[n,1,4] = aten::permute_copy(%a, [1, 0, 2])
      %b: f32[n,m] = aten::relu(%w)
      %q: f32[m,n] = aten::permute_copy(%b, [1, 0])
      %c: f32[n,1,4] = aten::exp(%p)
      %d: f32[m,n] = aten::exp(%q)
      return %c, %d
    })");
  EXPECT_EQ(a.reason(1), "sizes-change");
  EXPECT_TRUE(a.share("a", "p"));
  EXPECT_EQ(a.reason(3), "not-a-view");
}

TEST(Liveness, StateIsWrittenBackAfterItsLastRead) {
  const EmittedProgram emitted = program_of(R"(
    state @count: f32[2] = dense<[1, 2]>
    method forward(%x: f32[2]) {
      %old: f32[2] = berth::state_read() @count
      %new: f32[2] = aten::add.Tensor(%old, %x)
      berth::state_write(%new) @count
      %y: f32[2] = aten::mul.Tensor(%old, %x)
      return %y
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_EQ(listing(method), dedent(R"(
    aten::add.out(v1, v0, 1, v2, v2)
    aten::mul.out(v1, v0, v4, v4)
    aten::copy_(v1, v2, false, v1)
  )"));
  EXPECT_EQ(value_text(method, 1), "f32[2]@2+0#1");
  EXPECT_EQ(emitted.program.initial_values.size(), 1u);
  ASSERT_EQ(method.arenas.size(), 2u);
  EXPECT_EQ(method.arenas[1].bytes, 8u);
}

TEST(Liveness, AReturnedOldStateIsSavedBeforeItIsOverwritten) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[2] = dense<[1, 2]>
    method forward(%x: f32[2]) {
      %old: f32[2] = berth::state_read() @s
      berth::state_write(%x) @s
      return %old
    })");
  const format::MethodDesc& method = emitted.program.methods[0];
  EXPECT_EQ(listing(method), dedent(R"(
    aten::clone.out(v1, none, v2, v2)
    aten::copy_(v1, v0, false, v1)
  )"));
  EXPECT_EQ(method.outputs, (std::vector<int32_t>{2}));
}

TEST(Liveness, SwappedStatesKeepTheirValuesThroughCopies) {
  const EmittedProgram emitted = program_of(R"(
    state @a: f32[2] = dense<[1, 2]>
    state @b: f32[2] = dense<[3, 4]>
    method forward() {
      %a: f32[2] = berth::state_read() @a
      %b: f32[2] = berth::state_read() @b
      berth::state_write(%b) @a
      berth::state_write(%a) @b
      return 0
    })");
  EXPECT_EQ(listing(emitted.program.methods[0]), dedent(R"(
    aten::clone.out(v1, none, v2, v2)
    aten::clone.out(v0, none, v4, v4)
    aten::copy_(v0, v2, false, v0)
    aten::copy_(v1, v4, false, v1)
  )"));
}

TEST(Liveness, AnUnchangedStateIsNeitherCopiedNorWritten) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[2] = dense<[1, 2]>
    method forward() {
      %s: f32[2] = berth::state_read() @s
      berth::state_write(%s) @s
      return %s
    })");
  EXPECT_TRUE(emitted.program.methods[0].instructions.empty());
}

TEST(Liveness, AStateWithoutInitialValueStartsAtZero) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[2]
    method forward() {
      %s: f32[2] = berth::state_read() @s
      %y: f32[2] = aten::relu(%s)
      return %y
    })");
  EXPECT_EQ(testing::written(emitted.program.initial_values.at(0)), std::vector<uint8_t>(8, 0));
}

TEST(Liveness, SharedStateIsAtOneOffsetInAllMethods) {
  const EmittedProgram emitted = program_of(R"(
    state @first: f32[100] = splat<0>
    state @second: f32[2] = splat<1>
    method a() {
      %s: f32[2] = berth::state_read() @second
      %y: f32[2] = aten::relu(%s)
      return %y
    }
    method b() {
      %s: f32[2] = berth::state_read() @second
      %t: f32[100] = berth::state_read() @first
      %y: f32[2] = aten::exp(%s)
      %z: f32[100] = aten::exp(%t)
      return %y, %z
    })");
  EXPECT_EQ(value_text(emitted.program.methods[0], 0), "f32[2]@2+400#1");
  EXPECT_EQ(value_text(emitted.program.methods[1], 0), "f32[2]@2+400#1");
  EXPECT_EQ(emitted.program.methods[0].arenas[1].bytes, emitted.program.methods[1].arenas[1].bytes);
}

}  // namespace
}  // namespace berth::memory
