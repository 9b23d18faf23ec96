// What `--why reuse` says: every reason to refuse, and a line for every value.
#include "compiler/memory/remarks.h"

#include "compiler/memory/in_place_testing.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;

using testing::module_of;
using testing::why;
using testing::why_of;

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
TEST(Remarks, EveryReasonToRefuseIsReported) {
  for (const Refusal& refusal : kRefusals) {
    EXPECT_EQ(why_of("r", forward(refusal.inputs, refusal.body)).substr(0, std::string(refusal.reason).size()),
              refusal.reason)
        << refusal.body;
  }
}

// A residual that is not there gives nothing away.
TEST(Remarks, AMissingTensorIsReported) {
  EXPECT_EQ(why_of("r", forward("%x: f32[2,4]", R"(
    %r: f32[2,8] = berth::linear(%x, %w, none, none, "none", 0.0, 0.0, "")
    return %r
  )")),
            "keep: no-tensor");
}

// The buffer of an `if`'s result is born in its first branch, so the second branch cannot put it over what it reads.
TEST(Remarks, AValueOfAnotherBranchIsReported) {
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

TEST(Remarks, OtherDevicesAreReported) {
  ir::Module module = module_of(R"(
    method forward(%x: f32[4]) {
      %a: f32[4] = aten::exp(%x)
      %b: f32[4] = aten::exp(%a)
      return %b
    })");
  EXPECT_EQ(reasons(module), (std::vector<std::string>{"reuse", "reuse"}));
  module.methods[0].values[{1}].tensor()->device = Device(DeviceType::kSim, 1);
  EXPECT_EQ(reasons(module), (std::vector<std::string>{"other-device", "other-device"}));
}

// A part is read after the whole was overwritten: either the parts lie in the whole, or the whole is overwritten.
TEST(Remarks, AnUnchosenCandidateIsReported) {
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
TEST(Remarks, EveryValueHasARemark) {
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

}  // namespace
}  // namespace berth::memory
