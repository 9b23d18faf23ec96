// When a result may take the bytes of an input: every condition, and every reason to refuse.
#include "compiler/memory/in_place.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/model.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using packing::Planner;

using testing::listing;
using testing::module_of;
using testing::only_method;
using testing::program_of;
using testing::value_text;
using testing::why;
using testing::why_of;

std::string forward(const std::string& inputs, const std::string& body) {
  return R"(
    const @w: f32[4,8] = splat<1>
    method forward()" +
         inputs + ") {\n%w: f32[4,8] = const @w\n" + body + "}\n";
}

/// The one arena's bytes.
uint64_t arena(const EmittedProgram& emitted) { return only_method(emitted).arenas.at(0).bytes; }

// Holds row 176, row 177: the sum is an input of no one else, the product takes its bytes; the file's judge agrees.
TEST(InPlace, AResultTakesTheBytesOfADyingInputAndThePlanCheckAgrees) {
  const std::string text = forward("%a: f32[4,8], %b: f32[4,8]", R"(
    %c: f32[4,8] = aten::add.Tensor(%a, %b)
    %d: f32[4,8] = aten::mul.Tensor(%c, %b)
    return %d
  )");
  EXPECT_EQ(why(text),
            (std::vector<std::string>{"%c (aten::add.Tensor): reuse %a", "%d (aten::mul.Tensor): reuse %c"}));
  const EmittedProgram emitted = program_of(text);
  EXPECT_EQ(arena(emitted), 256u) << "two values are alive together, never three";
  EXPECT_EQ(emitted.in_place, 2u);
}

// Holds row 178.
TEST(InPlace, AnInputThatIsReadLaterIsKept) {
  EXPECT_EQ(why_of("d", forward("%a: f32[4,8], %b: f32[4,8]", R"(
    %c: f32[4,8] = aten::add.Tensor(%a, %b)
    %d: f32[4,8] = aten::exp(%c)
    %e: f32[4,8] = aten::mul.Tensor(%c, %d)
    return %e
  )")),
            "keep: %c still-read");
}

// Holds row 179, row 193: nothing is in place when it is switched off, nor for the planner without reuse.
TEST(InPlace, SwitchedOffEveryValueHasItsOwnBytes) {
  const std::string text = forward("%a: f32[4,8]", R"(
    %b: f32[4,8] = aten::exp(%a)
    %c: f32[4,8] = aten::exp(%b)
    %d: f32[4,8] = aten::exp(%c)
    return %d
  )");
  EXPECT_EQ(arena(program_of(text)), 128u);
  MemoryOptions off = testing::as_written();
  off.in_place = false;
  EXPECT_EQ(arena(program_of(text, off)), 256u);
  EXPECT_EQ(why_of("c", text, off), "keep: off");
  MemoryOptions naive = testing::as_written();
  naive.planner = Planner::kNaive;
  EXPECT_EQ(arena(program_of(text, naive)), 512u);
}

struct Refusal {
  const char* reason;
  const char* inputs;
  const char* body;
};

constexpr Refusal kRefusals[] = {
    {"keep: never", "%x: f32[4,8]", R"(
      %r: f32[8,4] = aten::permute_copy(%x, [1, 0])
      return %r
    )"},
    {"keep: never", "%x: f32[4,8]", R"(
      %r: f32[4,8] = aten::flip(%x, [0])
      return %r
    )"},
    {"keep: never", "%x: f32[4,4]", R"(
      %r: f32[4,4] = aten::mm(%x, %x)
      return %r
    )"},
    {"keep: %w constant", "%x: f32[4,8]", R"(
      %r: f32[4,8] = aten::exp(%w)
      return %r, %x
    )"},
    {"keep: %x graph-output", "%x: f32[4,8]", R"(
      %r: f32[4,8] = aten::exp(%x)
      return %r, %x
    )"},
    {"keep: %x still-read", "%x: f32[4,8]", R"(
      %r: f32[4,8] = aten::exp(%x)
      %s: f32[8,4] = aten::permute_copy(%x, [1, 0])
      return %r, %s
    )"},
    {"keep: %x view-alive", "%x: f32[4,8]", R"(
      %v: f32[32] = aten::view_copy(%x, [32])
      %r: f32[4,8] = aten::exp(%x)
      %s: f32[] = aten::sum.dim_IntList(%v, [0], false)
      return %r, %s
    )"},
    // What the method returns is another name of the input's bytes.
    {"keep: %h view-alive", "%x: f32[4,8]", R"(
      %h: f32[4,8] = aten::relu(%x)
      %v: f32[32] = aten::view_copy(%h, [32])
      %r: f32[4,8] = aten::exp(%h)
      return %r, %v
    )"},
    {"keep: %x element-differs", "%x: f32[4,8]", R"(
      %r: bool[4,8] = aten::gt.Scalar(%x, 0)
      return %r
    )"},
    {"keep: %x element-differs", "%x: i32[4,8]", R"(
      %r: bool[4,8] = aten::logical_not(%x)
      return %r
    )"},
    // The smaller input is read again and again while the result is written.
    {"keep: %x size-differs", "%x: f32[8]", R"(
      %r: f32[4,8] = aten::add.Tensor(%x, %w)
      return %r
    )"},
    {"keep: %x order-differs", "%x: f32[1,2,4,4]{0,2,3,1}", R"(
      %r: f32[1,2,4,4] = dim_order_ops::_clone_dim_order(%x, false, [0, 1, 2, 3])
      return %r
    )"},
    // The row allows the first argument alone, and the bounds are the same bytes.
    {"keep: %x read-elsewhere", "%x: f32[4,8]", R"(
      %r: f32[4,8] = aten::clamp.Tensor(%x, %x, none)
      return %r
    )"},
    // Both may be overwritten, but they see the same bytes under two shapes.
    {"keep: %v read-elsewhere", "%x: f32[4,8]", R"(
      %v: f32[1,4,8] = aten::view_copy(%x, [1, 4, 8])
      %r: f32[1,4,8] = aten::add.Tensor(%v, %x)
      return %r
    )"},
};

// Limits 1.2.
// Holds row 189.
TEST(InPlace, EveryReasonToRefuseIsReported) {
  for (const Refusal& refusal : kRefusals) {
    EXPECT_EQ(why_of("r", forward(refusal.inputs, refusal.body)).substr(0, std::string(refusal.reason).size()),
              refusal.reason)
        << refusal.body;
  }
}

// A residual that is not there gives nothing away.
TEST(InPlace, AMissingTensorIsReported) {
  EXPECT_EQ(why_of("r", forward("%x: f32[2,4]", R"(
    %r: f32[2,8] = berth::linear(%x, %w, none, none, "none", 0.0, 0.0, "")
    return %r
  )")),
            "keep: no-tensor");
}

// The place of an `if`'s result is made by its first branch; what the second branch reads there is not its to give.
TEST(InPlace, AValueOfAnotherBranchIsReported) {
  const std::string text = forward("%c: bool[], %x: f32[4,8]", R"(
    %r: f32[4,8] = berth::if(%c) {
      ()
      %a: f32[4,8] = aten::sin(%x)
      yield %a
    } {
      ()
      %h: f32[4,8] = aten::exp(%x)
      %b: f32[4,8] = aten::cos(%h)
      yield %b
    }
    %z: f32[4,8] = aten::neg(%r)
    return %z
  )");
  EXPECT_EQ(why_of("a", text), "keep: %x still-read") << "the branches stand in line";
  EXPECT_EQ(why_of("b", text), "keep: made-before");
}

std::vector<std::string> reasons(const ir::Module& module, const MemoryOptions& options = {}) {
  auto model = make_model(module, module.methods[0], options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  std::vector<std::string> all;
  if (!model.ok()) return all;
  for (const ReuseRemark& reuse : model->candidates.remarks) all.emplace_back(to_string(reuse.reason));
  return all;
}

TEST(InPlace, OtherDevicesAndPoolsAreReported) {
  ir::Module module = module_of(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::exp(%x)
      %b: f32[4] = aten::exp(%a)
      return %b
    })");
  EXPECT_EQ(reasons(module), (std::vector<std::string>{"reuse", "reuse"}));
  MemoryOptions pools;
  pools.pools = {{Device(), 4096}};
  pools.pool_of = [](const ir::Method& method, ir::ValueId value) { return method.value(value).name == "a" ? 0 : -1; };
  EXPECT_EQ(reasons(module, pools), (std::vector<std::string>{"other-pool", "other-pool"}));
  module.methods[0].values[{1}].tensor()->device = Device(DeviceType::kSim, 1);
  EXPECT_EQ(reasons(module), (std::vector<std::string>{"other-device", "other-device"}));
}

// A part is read after the whole was overwritten: either the parts lie in the whole, or the whole is overwritten.
TEST(InPlace, AnUnchosenCandidateIsReported) {
  const std::string text = forward("%x: f32[2,8], %y: f32[2,8]", R"(
    %a: f32[2,8] = aten::exp(%x)
    %b: f32[2,8] = aten::relu(%y)
    %c: f32[4,8] = aten::cat([%a, %b], 0)
    %r: f32[4,8] = aten::neg(%c)
    %d: f32[2,8] = aten::exp(%a)
    return %r, %d
  )");
  const std::string whole = why_of("c", text);
  const std::string result = why_of("r", text);
  EXPECT_EQ((whole == "parts in place") + (result == "reuse %c"), 1) << whole << ", " << result;
  EXPECT_EQ((whole == "keep: other-choice") + (result == "keep: other-choice"), 1) << whole << ", " << result;
}

// Each value that a node makes has its line, the reason why it is not a view among them.
TEST(InPlace, EveryValueHasARemark) {
  EXPECT_EQ(why(R"(
    const @g: f32[8] = splat<1>
    method forward(%x: f32[4,8], %l: f32[4,8]{1,0}) {
      %g: f32[8] = const @g
      %y: f32[4,8], %m: f32[4,1], %r: f32[4,1] = aten::native_layer_norm(%x, [8], %g, %g, 1e-5)
      %v: f32[32] = aten::view_copy(%l, [32])
      %u: f32[32] = aten::view_copy(%y, [32])
      %z: f32[32] = aten::add.Tensor(%u, %v)
      return %z
    })"),
            (std::vector<std::string>{
                "%y (aten::native_layer_norm): reuse %x", "%m (aten::native_layer_norm): keep: never",
                "%r (aten::native_layer_norm): keep: never", "%v (aten::view_copy): keep: order-differs",
                "%u (aten::view_copy): view %y", "%z (aten::add.Tensor): reuse %u"}));
  EXPECT_EQ(why_of("i", R"(
    method forward(%x: f32[1,1,4,4]) {
      %y: f32[1,1,2,2], %i: i64[1,1,2,2] = aten::max_pool2d_with_indices(%x, [2, 2], [2, 2], [0, 0], [1, 1], false)
      return %y
    })"),
            "keep: not-in-arena");
}

TEST(InPlace, StateIsNotOverwrittenButAnotherInputIs) {
  const std::string text = R"(
    state @s: f32[4]
    method forward(%x: f32[4], %y: f32[4]) {
      %old: f32[4] = berth::state_read() @s
      %a: f32[4] = aten::add.Tensor(%old, %x)
      %b: f32[4] = aten::exp(%old)
      return %a, %b
    })";
  EXPECT_EQ(why_of("a", text), "reuse %x");
  EXPECT_EQ(why_of("b", text), "keep: %old state");
}

// Holds row 187: what the caller brings is never written, so of a chain only the second result may be in place.
TEST(InPlace, TheCallersMemoryIsNeverOverwrittenNorReused) {
  const ir::Module module = module_of(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::exp(%x)
      %b: f32[4] = aten::exp(%a)
      %c: f32[4] = aten::exp(%b)
      return %c
    })");
  MemoryOptions callers;
  callers.plan_inputs_and_outputs = false;
  auto model = make_model(module, module.methods[0], callers);
  ASSERT_TRUE(model.ok());
  std::vector<std::string> reasons;
  for (const ReuseRemark& reuse : model->candidates.remarks) reasons.push_back(to_string(reuse.reason));
  EXPECT_EQ(reasons, (std::vector<std::string>{"callers-memory", "reuse", "not-in-arena"}));
}

// Limits 1.4.
// Holds row 190, row 191. The old bytes go to one of two results, or to none; never to both.
TEST(InPlace, OneBufferIsTakenByOneOfSeveral) {
  const std::string text = forward("%x: f32[4,8]", R"(
    %t: f32[4,8] = aten::exp(%x)
    %a: f32[4,8] = aten::sin(%t)
    %b: f32[4,8] = aten::cos(%t)
    %c: f32[4,8] = aten::mul.Tensor(%a, %b)
    return %c
  )");
  EXPECT_EQ(why_of("a", text), "keep: %t still-read");
  EXPECT_EQ(why_of("b", text), "reuse %t");
  EXPECT_EQ(arena(program_of(text)), 256u);
}

// Holds row 187, row 195. A chain lies in the bytes of its first value. A planned input may be overwritten: each run
// sets it anew.
TEST(InPlace, AChainUsesOneOffsetFromTheInputOn) {
  const std::string text = forward("%x: f32[4,8], %y: f32[4,8]", R"(
    %a: f32[4,8] = aten::add.Tensor(%x, %y)
    %b: f32[4,8] = aten::relu(%a)
    %c: f32[4,8] = aten::add.Tensor(%b, %w)
    %d: f32[4,8] = aten::relu(%c)
    return %d
  )");
  EXPECT_EQ(arena(program_of(text)), 256u);
  EXPECT_EQ(program_of(text).in_place, 4u);
}

// Limits 1.1.
// Holds row 180: result and base are one place before anything is packed, so a third value is never put over them.
TEST(InPlace, AShortLivedValueNeverTakesBytesOfALiveBase) {
  const EmittedProgram emitted = program_of(forward("%x: f32[4,8]", R"(
    %base: f32[4,8] = aten::exp(%x)
    %r: f32[4,8] = aten::relu(%base)
    %third: f32[4,8] = aten::full([4, 8], 2.0)
    %s: f32[4,8] = aten::mul.Tensor(%third, %w)
    %t: f32[4,8] = aten::sub.Tensor(%r, %s)
    return %t
  )"));
  EXPECT_EQ(arena(emitted), 256u);
  // By hand: r is made by the second call and read by the last; the others write beside it.
  const format::MethodDesc& method = only_method(emitted);
  const auto offset = [&](size_t call) {
    const auto& kernel = std::get<format::KernelCallDesc>(method.instructions.at(call));
    return std::get<format::TensorDesc>(method.values[kernel.args.back()]).place->offset;
  };
  EXPECT_EQ(offset(0), offset(1)) << "r is in its base";
  EXPECT_NE(offset(1), offset(2));
  EXPECT_NE(offset(1), offset(3));
}

// Holds row 182: a chain through views resolves in order.
TEST(InPlace, ViewsTakePartAsAliases) {
  const std::string text = forward("%x: f32[4,8]", R"(
    %a: f32[4,8] = aten::exp(%x)
    %v: f32[32] = aten::view_copy(%a, [32])
    %b: f32[32] = aten::relu(%v)
    %u: f32[8,4] = aten::view_copy(%b, [8, 4])
    %c: f32[8,4] = aten::neg(%u)
    return %c
  )");
  EXPECT_EQ(arena(program_of(text)), 128u);
}

// Limits 1.5.
// Holds row 206.
TEST(InPlace, AViewThatIsReadLaterKeepsItsBytes) {
  EXPECT_EQ(why_of("b", forward("%x: f32[4,8]", R"(
    %t: f32[4,8] = aten::exp(%x)
    %v: f32[32] = aten::view_copy(%t, [32])
    %b: f32[4,8] = aten::relu(%t)
    %s: f32[32] = aten::neg(%v)
    return %b, %s
  )")),
            "keep: %t view-alive");
}

// Holds row 192.
TEST(InPlace, OnlyEqualSymbolicSizesAreEqual) {
  const std::string text = R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[n,4], %y: f32[n,4], %z: f32[1,4], %w: f32[m,4], %o: f32[m,4]) {
      %a: f32[n,4] = aten::exp(%y)
      %b: f32[n,4] = aten::add.Tensor(%x, %a)
      %c: f32[n,4] = aten::add.Tensor(%z, %b)
      %d: f32[n,4] = aten::exp(%c)
      %e: f32[m,4] = aten::exp(%w)
      %f: f32[m,4] = aten::view_copy(%d, [m, 4])
      %g: f32[m,4] = aten::add.Tensor(%e, %o)
      %h: f32[m,4] = aten::sub.Tensor(%f, %g)
      return %h
    })";
  EXPECT_EQ(why_of("b", text), "reuse %x");
  EXPECT_EQ(why_of("c", text), "reuse %b");
  EXPECT_EQ(why_of("g", text), "reuse %e");
  // n and m have one range, so d's bytes would do; the view fails where they differ.
  EXPECT_EQ(why_of("h", text), "reuse %f");
}

// Two symbols that are equal when the program runs, with other upper ends: a view of 32 bytes may have up to 64.
TEST(InPlace, AliasesWithOtherUpperBoundsAreNotOverwritten) {
  const std::string text = R"(
    symbol n in [1, 8]
    symbol m in [1, 16]
    method forward(%x: f32[n], %y: f32[m], %k: f32[m]) {
      %a: f32[n] = aten::exp(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::add.Tensor(%v, %y)
      %b: f32[m] = aten::exp(%k)
      %w: f32[n] = aten::view_copy(%b, [n])
      %c: f32[n] = aten::exp(%w)
      return %z, %c
    })";
  EXPECT_EQ(why_of("a", text), "keep: %x size-differs") << "its other name is larger than x";
  EXPECT_EQ(why_of("z", text), "reuse %y");
  EXPECT_EQ(why_of("c", text), "keep: %w size-differs");
  const std::string only = R"(
    symbol n in [1, 8]
    symbol m in [1, 16]
    method forward(%x: f32[n]) {
      %a: f32[n] = aten::exp(%x)
      %v: f32[m] = aten::view_copy(%a, [m])
      %z: f32[m] = aten::exp(%v)
      return %z
    })";
  EXPECT_EQ(why_of("z", only), "keep: %v size-differs");
}

// Also where state, or a loop, would be updated through such a name.
TEST(InPlace, AliasesWithOtherUpperBoundsAreNotUpdatedInStateOrLoops) {
  const std::string text = R"(
    symbol m in [1, 16]
    state @s: f32[8] = splat<0>
    state @t: f32[4] = splat<1>
    method forward(%y: f32[m]) {
      %old: f32[8] = berth::state_read() @s
      %o: f32[4] = berth::state_read() @t
      %v: f32[m] = aten::view_copy(%old, [m])
      %w: f32[m] = aten::add.Tensor(%v, %y)
      %n: f32[8] = aten::view_copy(%w, [8])
      berth::state_write(%n) @s
      return %o
    }
    method look(%y: f32[8]) {
      %o: f32[4] = berth::state_read() @t
      %old: f32[8] = berth::state_read() @s
      %w: f32[8] = aten::add.Tensor(%old, %y)
      return %o, %w
    })";
  EXPECT_EQ(why_of("v", text), "keep: state-of-symbols");
  const EmittedProgram emitted = program_of(text);
  for (const format::MethodDesc& method : emitted.program.methods) EXPECT_EQ(method.arenas.at(1).bytes, 48u);
  EXPECT_NE(listing(emitted.program.methods[0]).find("aten::copy_"), std::string::npos);

  const EmittedProgram loop = program_of(R"(
    symbol m in [1, 16]
    method forward(%h: f32[8], %z: f32[m], %x: f32[5,4]) {
      %last: f32[8], %all: f32[5,4] = berth::scan(5, [%h], [%x]) { (%c: f32[8], %s: f32[4])
        %v: f32[m] = aten::view_copy(%c, [m])
        %a: f32[m] = aten::add.Tensor(%v, %z)
        %b: f32[8] = aten::view_copy(%a, [8])
        yield %b, %s
      }
      return %last, %all
    })");
  EXPECT_NE(listing(only_method(loop)).rfind("aten::clone"), listing(only_method(loop)).find("aten::clone"));
}

// What the kernel reads as it writes a result behind the first.
TEST(InPlace, StateIsNotTheSecondResultOfItsReader) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4,1] = splat<0>
    const @g: f32[1] = splat<1>
    method forward(%x: f32[4,1]) {
      %g: f32[1] = const @g
      %old: f32[4,1] = berth::state_read() @s
      %y: f32[4,1], %m: f32[4,1], %r: f32[4,1] = aten::native_layer_norm(%old, [1], %g, %g, 1e-5)
      berth::state_write(%m) @s
      return %y
    })");
  EXPECT_NE(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
}

// A value whose bytes may be more than the state's is copied there.
TEST(InPlace, StateIsNotComputedInPlaceWhenAnAliasIsLarger) {
  const EmittedProgram emitted = program_of(R"(
    symbol m in [1, 16]
    state @s: f32[8] = splat<0>
    method forward(%y: f32[m]) {
      %b: f32[m] = aten::exp(%y)
      %v: f32[8] = aten::view_copy(%b, [8])
      berth::state_write(%v) @s
      return %y
    })");
  EXPECT_EQ(only_method(emitted).arenas.at(1).bytes, 32u);
  EXPECT_NE(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
}

TEST(InPlace, OnlyTheFirstResultTakesAnInput) {
  const EmittedProgram emitted = program_of(R"(
    const @g: f32[8] = splat<1>
    method forward(%x: f32[4,8]) {
      %g: f32[8] = const @g
      %y: f32[4,8], %m: f32[4,1], %r: f32[4,1] = aten::native_layer_norm(%x, [8], %g, %g, 1e-5)
      return %y
    })");
  EXPECT_EQ(value_text(only_method(emitted), only_method(emitted).outputs[0]), "f32[4,8]+0");
}

// Holds row 147, row 183. The cache is written where it lies; no copy follows.
TEST(InPlace, StateIsComputedInPlaceWhenItsOldValueIsDead) {
  const std::string text = R"(
    state @cache: f32[4,8] = splat<0>
    method forward(%v: f32[1,8], %i: i64[1]) {
      %old: f32[4,8] = berth::state_read() @cache
      %new: f32[4,8] = aten::index_put(%old, [%i], %v, false)
      berth::state_write(%new) @cache
      %s: f32[8] = aten::sum.dim_IntList(%new, [0], false)
      return %s
    })";
  const EmittedProgram emitted = program_of(text);
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::index_put.out(v2, [v1], v0, false, v3, v3)
    aten::sum.IntList_out(v3, [0], false, none, v6, v6)
  )"));
  EXPECT_EQ(value_text(only_method(emitted), 2), "f32[4,8]@2+0#1");
  EXPECT_EQ(value_text(only_method(emitted), 3), "f32[4,8]@2+0");
  EXPECT_EQ(why_of("new", text), "reuse state @cache");
}

// Holds row 184, row 185.
TEST(InPlace, StateThatIsReadAgainIsCopiedAtTheEnd) {
  const auto copies = [](const std::string& body) {
    const std::string text = listing(only_method(program_of(R"(
      state @s: f32[4] = splat<0>
      state @t: f32[4]
      method forward(%x: f32[4]) {
        %old: f32[4] = berth::state_read() @s
    )" + body + "}\n")));
    return text.find("aten::copy_") != std::string::npos;
  };
  EXPECT_FALSE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    return %new
  )"));
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    %y: f32[4] = aten::exp(%old)
    berth::state_write(%new) @s
    return %y
  )"));
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    return %old
  )"));
  // The kernel reads it in another order than it writes it.
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::flip(%old, [0])
    berth::state_write(%new) @s
    return %x
  )"));
  // Another state is to get the old contents.
  EXPECT_TRUE(copies(R"(
    %new: f32[4] = aten::add.Tensor(%old, %x)
    berth::state_write(%new) @s
    berth::state_write(%old) @t
    return %x
  )"));
  // A view of it is read again.
  EXPECT_TRUE(copies(R"(
    %v: f32[2,2] = aten::view_copy(%old, [2, 2])
    %new: f32[4] = aten::add.Tensor(%old, %x)
    %y: f32[2,2] = aten::exp(%v)
    berth::state_write(%new) @s
    return %y
  )"));
  // An input that is to become the state is where the caller sets it.
  EXPECT_TRUE(copies("berth::state_write(%x) @s\nreturn %old\n"));
}

// Holds row 148, row 194.
TEST(InPlace, TwoCachesAreWrittenInPlace) {
  const EmittedProgram emitted = program_of(testing::kTwoCaches);
  EXPECT_EQ(listing(only_method(emitted)).find("aten::copy_"), std::string::npos) << listing(only_method(emitted));
  EXPECT_EQ(only_method(emitted).arenas.at(1).bytes, 256u);
}

TEST(InPlace, TwoStatesSwapWithoutLosingEither) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4] = splat<1>
    state @t: f32[4] = splat<2>
    method forward(%x: f32[4]) {
      %s: f32[4] = berth::state_read() @s
      %t: f32[4] = berth::state_read() @t
      %s2: f32[4] = aten::add.Tensor(%t, %x)
      %t2: f32[4] = aten::exp(%s)
      berth::state_write(%s2) @s
      berth::state_write(%t2) @t
      return %x
    })");
  // The old s is read after the new one is made; the old t is not.
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::add.out(v2, v0, 1, v3, v3)
    aten::exp.out(v1, v5, v5)
    aten::copy_(v1, v3, false, v1)
  )")) << listing(only_method(emitted));
}

// ExecuTorch's kernel clears its output before it reads: found by ./dev compat inplace.
TEST(InPlace, TrilNeverWorksInPlace) {
  const EmittedProgram emitted = testing::program_of(R"(
    method forward(%x: f32[4,4]) {
      %a: f32[4,4] = aten::exp(%x)
      %r: f32[4,4] = aten::tril(%a, 0)
      return %r
    })");
  EXPECT_EQ(emitted.in_place, 1u);
}

}  // namespace
}  // namespace berth::memory
