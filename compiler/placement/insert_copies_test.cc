#include "compiler/placement/insert_copies.h"

#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

// Inputs have one letter each: "xy" for %x and %y.
std::string method(const std::string& inputs, const std::string& body) {
  std::string signature;
  for (const char input : inputs) signature += (signature.empty() ? "%" : ", %") + std::string(1, input) + ": f32[2]";
  return filled(R"(
    method forward($signature) {
      $body
    })",
                {{"signature", signature}, {"body", body}});
}

std::string relu(const std::string& y, const std::string& x) {
  return filled(R"(
    %$y: f32[2] = aten::relu(%$x)
  )",
                {{"y", y}, {"x", x}});
}

// One delegate on `device` adds x and y.
std::string one_add(const std::string& device) {
  return delegate("d0", device) + method("xy", add_call("s", "d0", "x", "y") + "return %s");
}

TEST(InsertCopies, OneDelegateHasACopyForEachInputAndOneForItsOutput) {
  const ir::Module module = placed(one_add("cuda:0"));
  // Holds row 102.
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
  EXPECT_EQ(steps(module), (std::vector<std::string>{
                               "et_copy::_h2d_copy(x) -> x.cuda0", "et_copy::_h2d_copy(y) -> y.cuda0",
                               "berth::delegate(x.cuda0, y.cuda0) -> s.cuda0", "et_copy::_d2h_copy(s.cuda0) -> s"}));
  // Holds row 96.
  EXPECT_EQ(device_of(module, "x.cuda0"), cuda(0));
  EXPECT_EQ(device_of(module, "s.cuda0"), cuda(0));
  EXPECT_EQ(device_of(module, "s.a"), cuda(0));
  EXPECT_EQ(device_of(module, "s.r"), cuda(0));
  EXPECT_EQ(device_of(module, "s"), Device());
  EXPECT_EQ(device_of(module, "x"), Device());
}

TEST(InsertCopies, ADelegateOnTheSecondDeviceIsCopiedToThere) {
  const ir::Module module = placed(one_add("cuda:1"));
  // Holds row 94.
  for (const char* name : {"s.cuda1", "s.a", "s.b", "s.r", "x.cuda1"}) EXPECT_EQ(device_of(module, name), cuda(1));
}

TEST(InsertCopies, ADelegateWithoutADeviceCopiesNothing) {
  const std::string text = one_add("");
  const ir::Module module = placed(text);
  // Holds row 95, row 104.
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
  EXPECT_EQ(ir::print(module), passes::as_printed(text));
}

TEST(InsertCopies, CpuTargetsAreNotCopiedBetween) {
  // Two delegates whose target is the cpu, said and not said, and an operator.
  const ir::Module module = placed(
      delegate("d0", "cpu") + delegate("d1", "") +
      method("xy", add_call("s", "d0", "x", "y") + relu("r", "s") + add_call("t", "d1", "s", "r") + "return %t"));
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 2}));
}

TEST(InsertCopies, UndelegatedNodesStayOnTheCpu) {
  const ir::Module module = placed(delegate("d0", "cuda:0") + method("xy", add_call("s", "d0", "x", "y") + R"(
    %n: f32[2] = aten::sin(%s)
    return %n
  )"));
  // Holds row 98.
  EXPECT_EQ(device_of(module, "n"), Device());
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
  EXPECT_EQ(steps(module).back(), "aten::sin(s.cpu) -> n");
}

TEST(InsertCopies, ChainedDelegatesOnOneDevicePassValuesThere) {
  const ir::Module module =
      placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:0") +
             method("xyz", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "z") + "return %t"));
  // Holds row 106.
  EXPECT_EQ(count(module), (Counts{3, 1, 0, 2}));
  EXPECT_EQ(steps(module)[4], "berth::delegate(s, z.cuda0) -> t.cuda0");
}

TEST(InsertCopies, ChainedDelegatesLoseTheRoundTripBetweenThem) {
  // As ExecuTorch leaves it before it looks for round trips.
  const ir::Module module = placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:0") + method("xyz", R"(
    %x1: f32[2]@cuda:0 = et_copy::_h2d_copy(%x)
    %y1: f32[2]@cuda:0 = et_copy::_h2d_copy(%y)
  )" + add_call("s", "d0", "x1", "y1") + R"(
    %s1: f32[2] = et_copy::_d2h_copy(%s)
    %s2: f32[2]@cuda:0 = et_copy::_h2d_copy(%s1)
    %z1: f32[2]@cuda:0 = et_copy::_h2d_copy(%z)
  )" + add_call("t", "d1", "s2", "z1") + R"(
    %t1: f32[2] = et_copy::_d2h_copy(%t)
    return %t1
  )"));
  EXPECT_EQ(count(module), (Counts{3, 1, 0, 2}));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"et_copy::_h2d_copy(x) -> x1", "et_copy::_h2d_copy(y) -> y1",
                                                     "berth::delegate(x1, y1) -> s", "et_copy::_h2d_copy(z) -> z1",
                                                     "berth::delegate(s, z1) -> t", "et_copy::_d2h_copy(t) -> t1"}));
}

TEST(InsertCopies, ChainedDelegatesOnTwoDevicesCopyDirectly) {
  const ir::Module module =
      placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:1") +
             method("xyz", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "z") + "return %t"));
  // Holds row 107. ExecuTorch: 4 and 2, the move by way of the host.
  EXPECT_EQ(count(module), (Counts{3, 1, 1, 2}));
  EXPECT_EQ(device_of(module, "s.cuda1"), cuda(1));
}

TEST(InsertCopies, ChainedDelegatesOnTwoKindsOfDeviceGoThroughTheHostOnce) {
  const ir::Module module = placed(
      delegate("d0", "cuda:0") + delegate("d1", "sim:0") +
      method("xyz", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "z") + relu("r", "s") + "return %t, %r"));
  // s: down once, for the relu and for the way up.
  EXPECT_EQ(count(module), (Counts{4, 2, 0, 2}));
  EXPECT_EQ(steps(module)[3], "et_copy::_d2h_copy(s) -> s.cpu");
  EXPECT_EQ(steps(module)[4], "et_copy::_h2d_copy(s.cpu) -> s.sim0");
}

// Limits 1.10.
TEST(InsertCopies, OneOutputForSeveralDelegatesNeedsTwoCopiesWhereExecuTorchMakesFour) {
  // ExecuTorch's graph: a = x + y, then b = a + x and c = a + y read it, d = b + c; all on one device.
  const ir::Module module =
      placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:0") + delegate("d2", "cuda:0") + delegate("d3", "cuda:0") +
             method("xy", add_call("a", "d0", "x", "y") + add_call("b", "d1", "a", "x") +
                              add_call("c", "d2", "a", "y") + add_call("d", "d3", "b", "c") + "return %d"));
  // Holds row 108.
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 4}));
}

TEST(InsertCopies, AnOutputIsReadInPlaceAndCopiedForTheHost) {
  const ir::Module module = placed(
      delegate("d0", "cuda:0") + delegate("d1", "cuda:0") +
      method("xy", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "s") + relu("r", "s") + "return %t, %r"));
  // Holds row 109.
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 2}));
  EXPECT_EQ(steps(module)[3], "berth::delegate(s, s) -> t.cuda0");
  EXPECT_EQ(steps(module)[5], "aten::relu(s.cpu) -> r");
}

TEST(InsertCopies, AnOutputForTwoDevicesIsCopiedOnce) {
  const ir::Module module = placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:0") + delegate("d2", "cuda:1") +
                                   method("xy", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "s") +
                                                    add_call("u", "d2", "s", "s") + "return %t, %u"));
  // Holds row 110.
  EXPECT_EQ(count(module), (Counts{2, 2, 1, 3}));
  EXPECT_EQ(steps(module)[3], "berth::delegate(s, s) -> t.cuda0");
  EXPECT_EQ(steps(module)[5], "berth::delegate(s.cuda1, s.cuda1) -> u.cuda1");
}

// Limits 1.10.
TEST(InsertCopies, AnInputForSeveralDevicesIsCopiedOnceToEach) {
  const ir::Module module =
      placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:1") + delegate("d2", "cuda:0") +
             method("x", add_call("s", "d0", "x", "x") + add_call("t", "d1", "x", "x") + add_call("u", "d2", "x", "s") +
                             relu("r", "x") + "return %u, %t, %r"));
  EXPECT_EQ(count(module), (Counts{2, 2, 0, 3}));
}

TEST(InsertCopies, ACopyStandsRightBeforeItsFirstReader) {
  const ir::Module module =
      placed(delegate("d0", "sim:0") + method("xy", relu("a", "x") + relu("b", "a") + add_call("s", "d0", "a", "b") +
                                                        relu("c", "b") + "return %s, %c"));
  EXPECT_EQ(steps(module),
            (std::vector<std::string>{"aten::relu(x) -> a", "aten::relu(a) -> b", "et_copy::_h2d_copy(a) -> a.sim0",
                                      "et_copy::_h2d_copy(b) -> b.sim0", "berth::delegate(a.sim0, b.sim0) -> s.sim0",
                                      "aten::relu(b) -> c", "et_copy::_d2h_copy(s.sim0) -> s"}));
}

TEST(InsertCopies, ACopySaysWhatItCopiesAndWhy) {
  std::vector<std::string> why;
  const ir::Module module = placed(one_add("sim:0"), {}, &why);
  std::vector<std::string> sources;
  for (const ir::Node& node : module.methods[0].nodes) {
    if (is_copy(node)) sources.push_back(node.source);
  }
  EXPECT_EQ(sources, (std::vector<std::string>{"x to sim:0: delegate-input", "y to sim:0: delegate-input",
                                               "s to cpu: graph-output"}));
  EXPECT_EQ(why[1],
            "insert_copies: \"x to sim:0: delegate-input\" et_copy::_h2d_copy (%x.sim0): to sim:0: delegate-input");
}

// DeviceIo.

Options with_io(const std::vector<DeviceIo>& io) {
  Options options;
  options.device_io = io;
  return options;
}

TEST(InsertCopies, DeviceInputsNeedNoCopies) {
  const ir::Module module = placed(one_add("cuda:0"), with_io({{"x", cuda(0)}, {"y", cuda(0)}}));
  // Holds row 111.
  EXPECT_EQ(count(module), (Counts{0, 1, 0, 1}));
  EXPECT_EQ(device_of(module, "x"), cuda(0));
  EXPECT_EQ(device_of(module, "y"), cuda(0));
}

TEST(InsertCopies, DeviceOutputsNeedNoCopies) {
  const ir::Module module = placed(one_add("cuda:0"), with_io({{"s", cuda(0)}}));
  // Holds row 112.
  EXPECT_EQ(count(module), (Counts{2, 0, 0, 1}));
  EXPECT_EQ(device_of(module, "s"), cuda(0));
}

TEST(InsertCopies, DeviceInputsAndOutputsNeedNoCopies) {
  const ir::Module module = placed(one_add("cuda:0"), with_io({{"x", cuda(0)}, {"y", cuda(0)}, {"s", cuda(0)}}));
  // Holds row 113.
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
}

TEST(InsertCopies, ADeviceInputStaysWhileAHostResultIsCopiedToIt) {
  const ir::Module module =
      placed(delegate("d0", "cuda:0") +
                 method("xy", "%n: f32[2] = aten::sin(%y)" + add_call("s", "d0", "x", "n") + "return %s"),
             with_io({{"x", cuda(0)}, {"s", cuda(0)}}));
  // Holds row 114.
  EXPECT_EQ(count(module), (Counts{1, 0, 0, 1}));
  EXPECT_EQ(device_of(module, "x"), cuda(0));
  EXPECT_EQ(device_of(module, "y"), Device());
}

TEST(InsertCopies, ADeviceInputWithSeveralHostReadersIsCopiedOnce) {
  const ir::Module module = placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:0") +
                                       method("x", add_call("s", "d0", "x", "x") + relu("a", "x") + relu("b", "x") +
                                                       add_call("t", "d1", "x", "s") + "return %a, %b, %t"),
                                   with_io({{"x", cuda(0)}}));
  // Holds row 117. ExecuTorch refuses it.
  EXPECT_EQ(count(module), (Counts{0, 2, 0, 2}));
}

TEST(InsertCopies, ADeviceInputThatNoDelegateReadsIsKept) {
  const std::string text = method("x", relu("a", "x") + "return %a, %x");
  const ir::Module module = placed(text, with_io({{"x", sim(1)}, {"a", sim(0)}}));
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 0}));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"et_copy::_d2h_copy(x) -> x.cpu", "aten::relu(x.cpu) -> a.cpu",
                                                     "et_copy::_h2d_copy(a.cpu) -> a"}));
}

TEST(InsertCopies, DeviceIoIsPerMethod) {
  const std::string text = filled(R"(
    $delegate
    method first(%x: f32[2], %y: f32[2]) {
      $call
      return %s
    }
    method second(%x: f32[2], %y: f32[2]) {
      $call
      return %s
    })",
                                  {{"delegate", delegate("d0", "cuda:0")}, {"call", add_call("s", "d0", "x", "y")}});
  const ir::Module module = placed(text, with_io({{"first.x", cuda(0)}, {"first.s", cuda(0)}, {"y", cuda(0)}}));
  // Holds row 118.
  EXPECT_EQ(count(module.methods[0]), (Counts{0, 0, 0, 1}));
  EXPECT_EQ(count(module.methods[1]), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(device_of(module, "y", 1), cuda(0));
}

TEST(InsertCopies, DeviceIoOfUnknownNamesIsRefused) {
  EXPECT_EQ(error_of(one_add("cuda:0"), with_io({{"z", cuda(0)}})),
            "device-io \"z\": is not a tensor among inputs and outputs; there are: x, y, s");
  EXPECT_NE(
      error_of(one_add("cuda:0"), with_io({{"x", cuda(0)}, {"x", cuda(1)}})).find("is said twice: cuda:0 and cuda:1"),
      std::string::npos);
}

TEST(InsertCopies, DeviceIoIsParsedStrictly) {
  const auto good = parse_device_io("a=b=cuda:1");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->name, "a=b");
  EXPECT_EQ(good->device, cuda(1));
  EXPECT_EQ(parse_device_io("x").error().text(), "device-io \"x\": expected NAME=DEVICE, such as x=cuda:0");
  EXPECT_FALSE(parse_device_io("=cuda:0").ok());
  EXPECT_NE(parse_device_io("x=tpu:0").error().text().find(std::string("among ") + device_type_names()),
            std::string::npos);
}

// Control flow.

TEST(InsertCopies, ALoopDoesNotCopyWhatDoesNotChange) {
  const ir::Module module =
      placed(delegate("d0", "sim:0") + method("xw", filled(R"(
    %r: f32[3,2] = berth::scan(3, [], []) {
      ()
      $call
      yield %s
    }
    return %r
  )",
                                                           {{"call", add_call("s", "d0", "x", "w")}})));
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
  EXPECT_EQ(steps(module),
            (std::vector<std::string>{"et_copy::_h2d_copy(x) -> x.sim0", "et_copy::_h2d_copy(w) -> w.sim0",
                                      "berth::scan() -> r.sim0", "et_copy::_d2h_copy(r.sim0) -> r"}));
}

TEST(InsertCopies, ABranchCopiesWhatOnlyItNeeds) {
  const auto text = [](const std::string& other, const std::string& behind) {
    return filled(R"(
      $delegates
      method forward(%c: bool, %x: f32[2]) {
        %r: f32[2] = berth::if(%c) {
          ()
          $call
          yield %s
        } {
          ()
          $other
        }
        $behind
      })",
                  {{"delegates", delegate("d0", "sim:0") + delegate("d1", "sim:0")},
                   {"call", add_call("s", "d0", "x", "x")},
                   {"other", other},
                   {"behind", behind}});
  };
  const ir::Module alone = placed(text("yield %x", "return %r"));
  EXPECT_EQ(count(alone), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(steps(alone), (std::vector<std::string>{"berth::if(c) -> r"}));
  // Both branches: once, before them; what both give on the device comes back once. And a reader behind: likewise.
  const ir::Module both = placed(text(add_call("t", "d1", "x", "x") + "yield %t", "return %r"));
  EXPECT_EQ(count(both), (Counts{1, 1, 0, 2}));
  EXPECT_EQ(steps(both)[0], "et_copy::_h2d_copy(x) -> x.sim0");
  const ir::Module behind = placed(text("yield %x", add_call("t", "d1", "x", "r") + "return %t"));
  EXPECT_EQ(count(behind), (Counts{1, 1, 0, 2}));
  EXPECT_EQ(steps(behind)[0], "et_copy::_h2d_copy(x) -> x.sim0");
}

TEST(InsertCopies, AConditionIsReadOnTheHost) {
  // Holds row 259.
  const ir::Module module = placed(delegate("d0", "sim:0") + R"(
    method forward(%x: f32[2]) {
      %c: bool[1] = berth::delegate([%x]) @d0 {
        (%i: f32[2])
        %m: f32[1] = aten::mean.dim(%i, [0], true)
        %g: bool[1] = aten::gt.Scalar(%m, 0)
        yield %g
      }
      %r: f32[2] = berth::if(%c) {
        ()
        yield %x
      } {
        ()
        %n: f32[2] = aten::neg(%x)
        yield %n
      }
      return %r
    })");
  EXPECT_EQ(steps(module), (std::vector<std::string>{"et_copy::_h2d_copy(x) -> x.sim0", "berth::delegate(x.sim0) -> c",
                                                     "et_copy::_d2h_copy(c) -> c.cpu", "berth::if(c.cpu) -> r"}));
}

// State.

std::string counter(const std::string& behind) {
  return "state @k: f32[2]\n" + delegate("d0", "sim:0") + "\nmethod forward(%x: f32[2]) {\n" +
         "  %old: f32[2] = berth::state_read() @k\n" + add_call("s", "d0", "old", "x") +
         "  berth::state_write(%s) @k\n" + behind;
}

// Limits 1.9.
TEST(InsertCopies, StateLivesWhereDelegatesReadAndWriteIt) {
  const ir::Module module = placed(counter(R"(
    return %s
    })"));
  // Holds row 243. State is an argument of the call and stays on the device: x up, s down.
  EXPECT_EQ(module.states[{0}].type.device, sim(0));
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 1}));
}

TEST(InsertCopies, StateStaysOnTheHostWhenAnyMethodReadsItThere) {
  const ir::Module module = placed(counter(R"(
    return %s
    })") + R"(
    method look() {
      %now: f32[2] = berth::state_read() @k
      %r: f32[2] = aten::relu(%now)
      return %r
    })");
  // Holds row 242.
  EXPECT_EQ(module.states[{0}].type.device, Device());
  // old and x up; s down once, for the state and for the caller.
  EXPECT_EQ(count(module), (Counts{2, 1, 0, 1}));
}

TEST(InsertCopies, StateOfTwoDevicesIsOnNeither) {
  const ir::Module module = placed(delegate("d1", "sim:1") + counter(R"(
    return %s
    })") + "\nmethod other(%x: f32[2]) {\n" +
                                   "  %old: f32[2] = berth::state_read() @k\n" + add_call("s", "d1", "old", "x") + R"(
    return %s
    })");
  EXPECT_EQ(module.states[{0}].type.device, Device());
}

TEST(InsertCopies, StateWhoseReadIsReturnedIsOnTheHost) {
  const ir::Module module = placed(counter(R"(
    return %s, %old
    })"));
  EXPECT_EQ(module.states[{0}].type.device, Device());
}

// Odd shapes.

TEST(InsertCopies, AConstantMovesIntoTheDelegateThatReadsIt) {
  const ir::Module module = placed("const @w: f32[2] = dense<[1, 2]>\n" + delegate("d0", "sim:0") + R"(
    method forward(%x: f32[2]) {
      %w: f32[2] = const @w
  )" + add_call("s", "d0", "w", "x") +
                                   R"(
    return %s
    })");
  EXPECT_EQ(count(module), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(steps(module)[1], "berth::delegate(x.sim0) -> s.sim0");
}

TEST(InsertCopies, AReturnedConstantKeepsItsNameOnADevice) {
  const ir::Module module = placed(R"(
    const @w: f32[2] = dense<[1, 2]>
    method f() {
      %w: f32[2] = const @w
      return %w
    })",
                                   with_io({{"w", sim(0)}}));
  EXPECT_EQ(steps(module), (std::vector<std::string>{"et_copy::_h2d_copy(w.cpu) -> w"}));
}

TEST(InsertCopies, ASecondRunChangesNothing) {
  const ir::Module once =
      placed(delegate("d0", "cuda:0") + delegate("d1", "cuda:1") +
             method("xyz", add_call("s", "d0", "x", "y") + add_call("t", "d1", "s", "z") + "return %t, %s"));
  ir::Module twice = once;
  const Status status = place(twice, {});
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(ir::print(twice), ir::print(once));
}

TEST(InsertCopies, OutputsOnDevicesStayThere) {
  const ir::Module module = placed(delegate("d0", "cuda:0") + "\nmethod f(%x: f32[2]@cuda:0) {\n" + R"(
    %y: f32[2]@cuda:0 = berth::delegate([%x]) @d0 {
      (%i: f32[2])
      %j: f32[2] = aten::relu(%i)
      yield %j
    }
    return %y, %y
    })");
  EXPECT_EQ(count(module), (Counts{0, 0, 0, 1}));
}

}  // namespace
}  // namespace berth::placement
