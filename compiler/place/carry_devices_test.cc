// What loops carry and branches give, on devices. The fears: a copy in each turn that need not be, a value that moves
// where it costs more, a place that its readers do not know of.
#include "compiler/place/carry_devices.h"

#include "compiler/place/testing.h"

namespace berth::place {
namespace {

std::string delegates() { return delegate("d0", "sim:0") + delegate("d1", "sim:0") + delegate("e0", "sim:1"); }

ir::Module placed_method(const std::string& inputs, const std::string& body, const Options& options = {}) {
  return placed(delegates() + "\nmethod forward(" + inputs + ") {\n" + body + "}\n", options);
}

/// The copies in the regions of the method's branches and loops, each once.
int inside(const ir::Module& module) {
  const ir::Method& method = module.methods[0];
  int in_body = 0;
  for (const NodeId id : method.body.nodes) in_body += is_copy(method.node(id)) ? 1 : 0;
  const Counts all = count(module);
  return all.h2d + all.d2h + all.d2d - in_body;
}

TEST(WhatAScanCarries, StaysOnTheDeviceThatComputesIt) {
  const ir::Module module =
      placed_method("%x: f32[2], %w: f32[2]", "  %r: f32[2] = berth::scan(50, [%x], []) {\n    (%c: f32[2])\n" +
                                                  add_call("s", "d0", "c", "w") + "    yield %s\n  }\n  return %r\n");
  EXPECT_EQ(inside(module), 0);
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
  for (const char* name : {"c", "s", "r.sim0"}) EXPECT_EQ(device_of(module, name), sim(0)) << name;
}

TEST(WhatAScanCarries, ButNotWhatItScansAndStacks) {
  const ir::Module module =
      placed_method("%x: f32[2], %t: f32[5,2]",
                    "  %r: f32[2], %a: f32[5,2] = berth::scan(5, [%x], [%t]) {\n"
                    "    (%c: f32[2], %s: f32[2])\n" +
                        add_call("b", "d0", "c", "s") + "    yield %b, %b\n  }\n  return %r, %a\n");
  EXPECT_EQ(inside(module), 2) << "a slice goes there, a row comes back";
  for (const char* name : {"s", "t", "a"}) EXPECT_EQ(device_of(module, name), Device()) << name;
}

TEST(WhatAScanCarries, UnchangedGoesThereOnce) {
  const ir::Module module = placed_method("%x: f32[2], %y: f32[2]",
                                          "  %r: f32[2], %q: f32[2] = berth::scan(5, [%x, %y], []) {\n"
                                          "    (%c: f32[2], %u: f32[2])\n" +
                                              add_call("s", "d0", "c", "u") + "    yield %s, %u\n  }\n  return %r\n");
  EXPECT_EQ(inside(module), 0);
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
}

TEST(WhatAScanCarries, StaysOnTheHostWhereThatTakesFewerCopies) {
  // The next value is made on the host: on the device it would go there, and come back, in each turn.
  const ir::Module module = placed_method(
      "%x: f32[2]", "  %r: f32[2] = berth::scan(5, [%x], []) {\n    (%c: f32[2])\n    %n: f32[2] = aten::neg(%c)\n" +
                        add_call("s", "d0", "c", "n") +
                        "    %m: f32[2] = aten::neg(%s)\n    yield %m\n  }\n  return %r\n");
  EXPECT_EQ(device_of(module, "c"), Device());
  EXPECT_EQ(inside(module), 3);
}

TEST(WhatAWhileCarries, StaysOnTheDeviceAndItsConditionOnTheHost) {
  const ir::Module module =
      placed_method("%x: f32[2], %i: i64[1]",
                    "  %r: f32[2], %k: i64[1] = berth::while([%x, %i]) {\n    (%p: f32[2], %n: i64[1])\n"
                    "    %g: bool[1] = aten::gt.Scalar(%n, 0)\n    yield %g\n  } {\n    (%c: f32[2], %m: i64[1])\n" +
                        add_call("s", "d0", "c", "c") +
                        "    %o: i64[1] = aten::sub.Scalar(%m, 1, 1)\n    yield %s, %o\n  }\n  return %r\n");
  EXPECT_EQ(inside(module), 0);
  for (const char* name : {"p", "c", "s"}) EXPECT_EQ(device_of(module, name), sim(0)) << name;
  for (const char* name : {"n", "m", "k"}) EXPECT_EQ(device_of(module, name), Device()) << name;
}

TEST(WhatBranchesGive, StaysWhereTheNextDelegateReadsIt) {
  const ir::Module module =
      placed_method("%f: bool, %x: f32[2]", "  %r: f32[2] = berth::if(%f) {\n    ()\n" + add_call("s", "d0", "x", "x") +
                                                "    yield %s\n  } {\n    ()\n    yield %x\n  }\n" +
                                                add_call("t", "d1", "r", "r") + "  return %t\n");
  EXPECT_EQ(device_of(module, "r"), sim(0));
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 2}));
}

TEST(WhatBranchesGive, GoesBetweenDevicesOnce) {
  const ir::Module module = placed_method("%f: bool, %x: f32[2]",
                                          "  %r: f32[2] = berth::if(%f) {\n    ()\n" + add_call("s", "d0", "x", "x") +
                                              "    yield %s\n  } {\n    ()\n" + add_call("u", "d1", "x", "x") +
                                              "    yield %u\n  }\n" + add_call("t", "e0", "r", "r") + "  return %t\n");
  EXPECT_EQ(count(module), (Counts{1, 1, 1, 3}));
  EXPECT_EQ(inside(module), 0);
}

TEST(BranchesInALoop, PassTheDeviceOn) {
  const ir::Module module = placed_method(
      "%f: bool, %x: f32[2]",
      "  %r: f32[2] = berth::scan(5, [%x], []) {\n    (%c: f32[2])\n    %b: f32[2] = berth::if(%f) {\n      ()\n" +
          add_call("s", "d0", "c", "c") +
          "      yield %s\n    } {\n      ()\n      yield %c\n    }\n    yield %b\n  }\n"
          "  return %r\n");
  EXPECT_EQ(inside(module), 0) << ir::print(module);
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 1}));
}

TEST(WithoutDirectCopies, EverythingIsCarriedOnTheHost) {
  Options options;
  options.direct_copies = false;
  const ir::Module module = placed_method("%x: f32[2]",
                                          "  %r: f32[2] = berth::scan(50, [%x], []) {\n    (%c: f32[2])\n" +
                                              add_call("s", "d0", "c", "c") + "    yield %s\n  }\n  return %r\n",
                                          options);
  EXPECT_EQ(device_of(module, "c"), Device());
  EXPECT_EQ(inside(module), 2);
}

TEST(AnOutputOfTheCallersOnADevice, IsWhereTheLoopLeftIt) {
  Options options;
  options.device_io = {*parse_device_io("r=sim:0"), *parse_device_io("x=sim:0")};
  const ir::Module module = placed_method("%x: f32[2]",
                                          "  %r: f32[2] = berth::scan(50, [%x], []) {\n    (%c: f32[2])\n" +
                                              add_call("s", "d0", "c", "c") + "    yield %s\n  }\n  return %r\n",
                                          options);
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
}

}  // namespace
}  // namespace berth::place
