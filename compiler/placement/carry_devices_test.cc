// What loops carry, slice and stack, and branches give, on devices. The fears: a copy in each turn that need not be, a
// value that moves where it costs more, a place that its readers do not know of.
#include "compiler/placement/carry_devices.h"

#include "base/text_testing.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

std::string delegates() { return delegate("d0", "sim:0") + delegate("d1", "sim:0") + delegate("e0", "sim:1"); }

ir::Module placed_method(const std::string& inputs, const std::string& body, const Options& options = {}) {
  const std::string text = filled(R"(
    $delegates
    method forward($inputs) {
      $body
    })",
                                  {{"delegates", delegates()}, {"inputs", inputs}, {"body", body}});
  return placed(text, options);
}

/// The copies in the regions of the method's branches and loops, each once.
int inside(const ir::Module& module) {
  const ir::Method& method = module.methods[0];
  int in_body = 0;
  for (const NodeId id : method.body.nodes) in_body += is_copy(method.node(id)) ? 1 : 0;
  const Counts all = count(module);
  return all.h2d + all.d2h + all.d2d - in_body;
}

TEST(CarryDevices, AScansCarryStaysOnTheDeviceThatComputesIt) {
  const ir::Module module = placed_method("%x: f32[2], %w: f32[2]", R"(
    %r: f32[2] = berth::scan(50, [%x], []) {
      (%c: f32[2])
  )" + add_call("s", "d0", "c", "w") + R"(
    yield %s
    }
    return %r
  )");
  EXPECT_EQ(inside(module), 0);
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
  for (const char* name : {"c", "s", "r.sim0"}) EXPECT_EQ(device_of(module, name), sim(0)) << name;
}

TEST(CarryDevices, WhatIsSlicedAndStackedOnADeviceIsThereAsAWhole) {
  const ir::Module module = placed_method("%x: f32[2], %t: f32[5,2]", R"(
    %r: f32[2], %a: f32[5,2] = berth::scan(5, [%x], [%t]) {
      (%c: f32[2], %s: f32[2])
  )" + add_call("b", "d0", "c", "s") + R"(
    yield %b, %b
    }
    return %r, %a
  )");
  EXPECT_EQ(inside(module), 0);
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 1}));
  for (const char* name : {"s", "t.sim0", "a.sim0"}) EXPECT_EQ(device_of(module, name), sim(0)) << name;
}

TEST(CarryDevices, SlicesAndRowsOfTheHostStayThere) {
  const ir::Module module = placed_method("%x: f32[2], %t: f32[5,2]", R"(
    %r: f32[2], %a: f32[5,2] = berth::scan(5, [%x], [%t]) {
      (%c: f32[2], %s: f32[2])
      %n: f32[2] = aten::neg(%s)
  )" + add_call("b", "d0", "c", "n") + R"(
    %o: f32[2] = aten::neg(%b)
    yield %b, %o
    }
    return %r, %a
  )");
  EXPECT_EQ(inside(module), 2) << "n goes there, and b comes back";
  for (const char* name : {"s", "t", "a"}) EXPECT_EQ(device_of(module, name), Device()) << name;
}

TEST(CarryDevices, WhatOneLoopStacksAndTheNextSlicesStaysThere) {
  const ir::Module module = placed_method("%t: f32[5,2]", R"(
    %a: f32[5,2] = berth::scan(5, [], [%t]) {
      (%s: f32[2])
  )" + add_call("b", "d0", "s", "s") + R"(
    yield %b
    }
    %y: f32[5,2] = berth::scan(5, [], [%a]) {
      (%u: f32[2])
  )" + add_call("d", "d1", "u", "u") + R"(
    yield %d
    }
    return %y
  )");
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 2}));
  EXPECT_EQ(inside(module), 0);
}

TEST(CarryDevices, SlicesWhoseSizesChangeStayOnTheHost) {
  const ir::Module module = placed(filled(R"(
    symbol n in [1, 4]
    $delegates
    method forward(%t: f32[5,n]) {
      %a: f32[5,n] = berth::scan(5, [], [%t]) {
        (%s: f32[n])
        %b: f32[n] = berth::delegate([%s]) @d0 { (%p: f32[n])
          %q: f32[n] = aten::neg(%p)
          yield %q
        }
        yield %b
      }
      return %a
    })",
                                          {{"delegates", delegates()}}));
  EXPECT_EQ(inside(module), 2);
  for (const char* name : {"s", "t", "a"}) EXPECT_EQ(device_of(module, name), Device()) << name;
}

TEST(CarryDevices, AnUnchangedCarryIsCopiedThereOnce) {
  const ir::Module module = placed_method("%x: f32[2], %y: f32[2]", R"(
    %r: f32[2], %q: f32[2] = berth::scan(5, [%x, %y], []) {
      (%c: f32[2], %u: f32[2])
  )" + add_call("s", "d0", "c", "u") + R"(
    yield %s, %u
    }
    return %r
  )");
  EXPECT_EQ(inside(module), 0);
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
}

TEST(CarryDevices, ACarryStaysOnTheHostWhereThatNeedsFewerCopies) {
  // The next value is made on the host: on the device it would go there, and come back, in each turn.
  const ir::Module module = placed_method("%x: f32[2]", R"(
    %r: f32[2] = berth::scan(5, [%x], []) {
      (%c: f32[2])
      %n: f32[2] = aten::neg(%c)
  )" + add_call("s", "d0", "c", "n") + R"(
    %m: f32[2] = aten::neg(%s)
    yield %m
    }
    return %r
  )");
  EXPECT_EQ(device_of(module, "c"), Device());
  EXPECT_EQ(inside(module), 3);
}

TEST(CarryDevices, AWhilesCarryStaysOnTheDeviceAndItsConditionOnTheHost) {
  const ir::Module module = placed_method("%x: f32[2], %i: i64[1]", R"(
    %r: f32[2], %k: i64[1] = berth::while([%x, %i]) {
      (%p: f32[2], %n: i64[1])
      %g: bool[1] = aten::gt.Scalar(%n, 0)
      yield %g
    } {
      (%c: f32[2], %m: i64[1])
  )" + add_call("s", "d0", "c", "c") + R"(
    %o: i64[1] = aten::sub.Scalar(%m, 1, 1)
    yield %s, %o
    }
    return %r
  )");
  EXPECT_EQ(inside(module), 0);
  for (const char* name : {"p", "c", "s"}) EXPECT_EQ(device_of(module, name), sim(0)) << name;
  for (const char* name : {"n", "m", "k"}) EXPECT_EQ(device_of(module, name), Device()) << name;
}

TEST(CarryDevices, ABranchsResultStaysWhereTheNextDelegateReadsIt) {
  const ir::Module module = placed_method("%f: bool, %x: f32[2]", R"(
    %r: f32[2] = berth::if(%f) {
      ()
  )" + add_call("s", "d0", "x", "x") + R"(
    yield %s
    } {
    ()
    yield %x
    }
  )" + add_call("t", "d1", "r", "r") + "return %t");
  EXPECT_EQ(device_of(module, "r"), sim(0));
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 2}));
}

TEST(CarryDevices, ABranchsResultCrossesBetweenDevicesOnce) {
  const ir::Module module = placed_method("%f: bool, %x: f32[2]", R"(
    %r: f32[2] = berth::if(%f) {
      ()
  )" + add_call("s", "d0", "x", "x") + R"(
    yield %s
    } {
    ()
  )" + add_call("u", "d1", "x", "x") + R"(
    yield %u
    }
  )" + add_call("t", "e0", "r", "r") + "return %t");
  EXPECT_EQ(count(module), (Counts{1, 1, 1, 3}));
  EXPECT_EQ(inside(module), 0);
}

TEST(CarryDevices, BranchesInALoopPassTheDeviceOn) {
  const ir::Module module = placed_method("%f: bool, %x: f32[2]", R"(
    %r: f32[2] = berth::scan(5, [%x], []) {
      (%c: f32[2])
      %b: f32[2] = berth::if(%f) {
        ()
  )" + add_call("s", "d0", "c", "c") + R"(
    yield %s
    } {
    ()
    yield %c
    }
    yield %b
    }
    return %r
  )");
  EXPECT_EQ(inside(module), 0) << ir::print(module);
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 1}));
}

TEST(CarryDevices, WithoutDirectCopiesEverythingIsCarriedOnTheHost) {
  Options options;
  options.direct_copies = false;
  const ir::Module module = placed_method("%x: f32[2]", R"(
    %r: f32[2] = berth::scan(50, [%x], []) {
      (%c: f32[2])
  )" + add_call("s", "d0", "c", "c") + R"(
    yield %s
    }
    return %r
  )",
                                          options);
  EXPECT_EQ(device_of(module, "c"), Device());
  EXPECT_EQ(inside(module), 2);
}

TEST(CarryDevices, ADeviceOutputIsWhereTheLoopLeftIt) {
  Options options;
  options.device_io = {*parse_device_io("r=sim:0"), *parse_device_io("x=sim:0")};
  const ir::Module module = placed_method("%x: f32[2]", R"(
    %r: f32[2] = berth::scan(50, [%x], []) {
      (%c: f32[2])
  )" + add_call("s", "d0", "c", "c") + R"(
    yield %s
    }
    return %r
  )",
                                          options);
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
}

}  // namespace
}  // namespace berth::placement
