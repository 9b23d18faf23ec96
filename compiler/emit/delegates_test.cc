// Delegates: what stands in their payloads, and how the plan around them knows their scratch.
#include "compiler/emit/delegates.h"

#include "base/text_testing.h"
#include "compiler/emit/delegates_testing.h"

namespace berth::emit {
namespace {

using testing::kShared;
using testing::module_of;
using testing::nested_text;
using testing::only_method;
using testing::program_of;
using testing::refusal_of;
using testing::value_text;
using testing::written;

/// The arguments of call `index`, as value_text() writes them.
std::vector<std::string> arguments_of(const format::MethodDesc& method, size_t instruction) {
  std::vector<std::string> texts;
  const auto& call = std::get<format::DelegateCallDesc>(method.instructions.at(instruction));
  for (const int32_t arg : call.args) texts.push_back(value_text(method, arg));
  return texts;
}

// The scratch of 16 bytes comes after the call's input and output, in their device's arena, where every buffer starts
// at a multiple of 256.
TEST(Delegates, ScratchIsTheLastArgumentAndPlanned) {
  const EmittedProgram emitted = program_of(testing::kDelegatedAddRelu, testing::with_own_scratch());
  EXPECT_EQ(arguments_of(only_method(emitted), 1),
            (std::vector<std::string>{"f32[4]@2+0", "f32[4]@2+256", "u8[16]@2+512"}));
  EXPECT_EQ(nested_text(emitted, 0), R"(method delegate
  in   %0: f32[4] of the caller
  out  %4: f32[4] of the caller
  arena 1: 16 bytes on cpu, lower bound 16 (optimal)
  values
    %0: f32[4] of the caller
    %1: f32[4] @ 1:0..16
    %2: f32[4] = external ")" + emitted.program.named_data[0].key +
                                         R"("
    %3: 1
    %4: f32[4] of the caller
  instructions
    0: aten::add.out(%0, %2, 1, %1, %1)
    1: aten::relu.out(%1, %4, %4)
)");
  ASSERT_EQ(emitted.delegates.size(), 1u);
  EXPECT_EQ(emitted.delegates[0].backend, "berth.sim");
  EXPECT_EQ(emitted.delegates[0].device, Device(DeviceType::kSim, 0));
  EXPECT_EQ(emitted.delegates[0].scratch_bytes, 16u);
  EXPECT_EQ(emitted.delegates[0].scratch_lower_bound, 16u);
  EXPECT_EQ(emitted.delegates[0].nodes, 2u);
}

// One chain of calls: no scratch is needed at the same time as another, so all lie in the same bytes.
TEST(Delegates, ScratchLivesForOneStepSoConsecutiveCallsShareIt) {
  std::string delegates;
  std::string calls;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    delegates += filled(R"(
      delegate @d$n "berth.sim" {target_device = "sim:0"}
    )",
                        {{"n", n}});
    calls += filled(R"(
      %x$next: f32[64]@sim:0 = berth::delegate([%x$n]) @d$n { (%a$n: f32[64]@sim:0)
        %b$n: f32[64]@sim:0 = aten::exp(%a$n)
        %c$n: f32[64]@sim:0 = aten::relu(%b$n)
        yield %c$n
      }
    )",
                    {{"next", next}, {"n", n}});
  }
  const std::string text = filled(R"(
    $delegates
    method forward(%x0: f32[64]@sim:0) {
      $calls
      return %x4
    })",
                                  {{"delegates", delegates}, {"calls", calls}});
  const EmittedProgram emitted = program_of(text, testing::with_own_scratch());
  const format::MethodDesc& method = only_method(emitted);
  ASSERT_EQ(method.arenas.size(), 1u) << "nothing is on the host, so it has no arena";
  EXPECT_EQ(method.arenas[0].device, Device(DeviceType::kSim, 0));
  EXPECT_EQ(method.arenas[0].bytes, 3 * 256u) << "two neighbours of the chain and one scratch";
  EXPECT_EQ(emitted.program.payloads.size(), 1u) << "all do the same";
}

std::string region_text(const std::string& inputs, const std::string& outputs, const std::string& region,
                        const std::string& input = "f32[4]") {
  return filled(R"(
    const @w: f32[4] = dense<[1, 2, 3, 4]>
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: $type@sim:0) {
      %w: f32[4] = const @w
      $outputs = berth::delegate([$inputs]) @d0 {
        $region
      }
      return %y
    })",
                {{"type", input}, {"outputs", outputs}, {"inputs", inputs}, {"region", region}});
}

/// A delegate within which two intermediates of 16 bytes live at once.
std::string two_alive(const std::string& backend, const std::string& device) {
  return filled(R"(
    delegate @d0 "$backend" $specs
    method forward(%x: $type) {
      %y: $type = berth::delegate([%x]) @d0 { (%a: $type)
        %b: $type = aten::exp(%a)
        %c: $type = aten::relu(%a)
        %d: $type = aten::add.Tensor(%b, %c)
        yield %d
      }
      return %y
    })",
                {{"backend", backend},
                 {"specs", device.empty() ? "" : "{target_device = \"" + device + "\"}"},
                 {"type", "f32[4]" + (device.empty() ? "" : "@" + device)}});
}

TEST(Delegates, ScratchIsAlignedForTheDelegatesDevice) {
  const auto has_second_at = [](const std::string& text, const std::string& offset) {
    const std::string nested = nested_text(program_of(text, testing::with_own_scratch()), 0);
    EXPECT_NE(nested.find("f32[4] @ 1:" + offset + ".."), std::string::npos) << nested;
  };
  has_second_at(two_alive("berth.sim", "sim:0"), "256");
  has_second_at(two_alive("berth.cpu", ""), "64");
  has_second_at(two_alive("another", ""), "16");
}

TEST(Delegates, AnOperatorInsideWorksInPlaceUnlessSwitchedOff) {
  const std::string text = region_text("%x", "%y: f32[4]@sim:0", R"(
    (%a: f32[4]@sim:0)
    %b: f32[4]@sim:0 = aten::exp(%a)
    %c: f32[4]@sim:0 = aten::relu(%b)
    %d: f32[4]@sim:0 = aten::exp(%c)
    yield %d
  )");
  memory::MemoryOptions options = testing::as_written();
  EXPECT_EQ(program_of(text, options).delegates[0].scratch_bytes, 16u);
  options.in_place = false;
  EXPECT_EQ(program_of(text, options).delegates[0].scratch_bytes, 272u);
}

// Only its emission: nothing of this size is made.
TEST(Delegates, AScratchOverTwoGibibytesIsATensorOfTwoDimensions) {
  const EmittedProgram emitted = program_of(region_text("%x", "%y: f32[600000001]@sim:0", R"(
    (%a: f32[600000001]@sim:0)
    %b: f32[600000001]@sim:0 = aten::exp(%a)
    %c: f32[600000001]@sim:0 = aten::relu(%b)
    yield %c
  )",
                                                        "f32[600000001]"));
  EXPECT_EQ(arguments_of(only_method(emitted), 0)[2], "u8[2289,1048576]+0") << "2400000004 bytes, rounded up";
  EXPECT_EQ(emitted.delegates[0].scratch_bytes, 2289u * 1048576u);
}

TEST(Delegates, EachCallHasItsOwnDelegateInHostBranchesToo) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    delegate @d1 "berth.sim" {target_device = "sim:0"}
    method forward(%c: bool[], %x: f32[4]@sim:0) {
      %y: f32[4]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[4]@sim:0)
        %b: f32[4]@sim:0 = aten::relu(%a)
        yield %b
      }
      %r: f32[4]@sim:0 = berth::if(%c) { ()
        %u: f32[4]@sim:0 = berth::delegate([%y]) @d1 { (%p: f32[4]@sim:0)
          %q: f32[4]@sim:0 = aten::exp(%p)
          yield %q
        }
        yield %u
      } { ()
        yield %y
      }
      return %r
    })");
  const format::MethodDesc& method = only_method(emitted);
  std::vector<int32_t> called;
  for (const format::InstructionDesc& instruction : method.instructions) {
    const auto* call = std::get_if<format::DelegateCallDesc>(&instruction);
    if (call != nullptr) called.push_back(call->delegate_index);
  }
  EXPECT_EQ(called, (std::vector<int32_t>{0, 1}));
  ASSERT_EQ(method.delegates.size(), 2u);
  EXPECT_NE(nested_text(emitted, method.delegates[0].payload).find("aten::relu"), std::string::npos);
  EXPECT_NE(nested_text(emitted, method.delegates[1].payload).find("aten::exp"), std::string::npos);
}

TEST(Delegates, WithoutScratchThereIsNoArgumentForIt) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.cuda" {target_device = "cuda:0"}
    method forward(%x: f32[4]@cuda:0) {
      %y: f32[4]@cuda:0 = berth::delegate([%x]) @d0 { (%a: f32[4]@cuda:0)
        %b: f32[4]@cuda:0 = aten::relu(%a)
        yield %b
      }
      return %y
    })");
  EXPECT_EQ(arguments_of(only_method(emitted), 0), (std::vector<std::string>{"f32[4]?", "f32[4]?"}));
  EXPECT_EQ(emitted.delegates[0].scratch_bytes, 0u);
}

// Holds row 219.
TEST(Delegates, EqualDelegatesShareTheirPayloadWhateverTheirSpecs) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    delegate @d1 "berth.sim" {target_device = "sim:1", level = "3"}
    delegate @d2 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[4]@sim:0, %z: f32[4]@sim:1) {
      %y: f32[4]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[4]@sim:0)
        %b: f32[4]@sim:0 = aten::relu(%a)
        yield %b
      }
      %u: f32[4]@sim:1 = berth::delegate([%z]) @d1 { (%p: f32[4]@sim:1)
        %q: f32[4]@sim:1 = aten::relu(%p)
        yield %q
      }
      %v: f32[4]@sim:0 = berth::delegate([%y]) @d2 { (%r: f32[4]@sim:0)
        %s: f32[4]@sim:0 = aten::exp(%r)
        yield %s
      }
      return %v, %u
    })");
  const format::MethodDesc& method = only_method(emitted);
  ASSERT_EQ(method.delegates.size(), 3u);
  EXPECT_EQ(emitted.program.payloads.size(), 2u);
  EXPECT_EQ(method.delegates[0].payload, method.delegates[1].payload);
  EXPECT_NE(method.delegates[0].payload, method.delegates[2].payload);
  ASSERT_EQ(method.delegates[1].compile_specs.size(), 2u);
  EXPECT_EQ(method.delegates[1].compile_specs[0].key, "target_device");
  EXPECT_EQ(method.delegates[1].compile_specs[0].value, (std::vector<uint8_t>{'s', 'i', 'm', ':', '1'}));
  EXPECT_EQ(method.delegates[1].compile_specs[1].key, "level");
}

TEST(Delegates, ForeignPayloadsAreKeptByteForByte) {
  ir::Module module = module_of(R"(
    delegate @chip "Chip" {level = "3"}
    method forward(%x: f32[4]) {
      %y: f32[4] = berth::delegate([%x]) @chip { (%a: f32[4])
        %b: f32[4] = aten::relu(%a)
        yield %b
      }
      return %y
    })");
  module.delegates[{0}].payload = ir::Blob::owned({1, 2, 3});
  module.methods[0].node(module.methods[0].body.nodes[0]).regions.clear();
  auto emitted = testing::plan_and_emit(module);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  testing::expect_sound_file(emitted->program);
  ASSERT_EQ(emitted->program.payloads.size(), 1u);
  EXPECT_EQ(written(emitted->program.payloads[0]), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(arguments_of(only_method(*emitted), 0).size(), 2u);
  EXPECT_EQ(emitted->program.methods[0].delegates[0].id, "Chip");
}

// Each output is the caller's memory, so it is written by an instruction of its own.
TEST(Delegates, EveryOutputIsWrittenEvenAnInputAConstantOrAView) {
  const EmittedProgram emitted =
      program_of(region_text("%x",
                             "%y: f32[4]@sim:0, %y1: f32[4]@sim:0, %y2: f32[4], %y3: f32[2,2]@sim:0, "
                             "%y4: f32[4]@sim:0",
                             R"(
    (%a: f32[4]@sim:0)
    %b: f32[4]@sim:0 = aten::relu(%a)
    %v: f32[2,2]@sim:0 = aten::view_copy(%b, [2, 2])
    yield %b, %a, %w, %v, %b
  )"));
  const std::string text = nested_text(emitted, 0);
  EXPECT_NE(text.find("0: aten::relu.out(%0, %1, %1)\n"
                      "    1: aten::view_copy.out(%1, [2, 2], %2, %2)\n"
                      "    2: aten::clone.out(%0, none, %5, %5)\n"
                      "    3: aten::clone.out(%7, none, %8, %8)\n"
                      "    4: aten::clone.out(%1, none, %9, %9)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("out  %1: f32[4] of the caller\n  out  %5: f32[4] of the caller\n"
                      "  out  %8: f32[4] of the caller\n  out  %2: f32[2,2] of the caller\n"
                      "  out  %9: f32[4] of the caller\n"),
            std::string::npos)
      << text;
}

// Where the caller's memory is, is known when it runs: the view is set then, and costs no copy.
TEST(Delegates, ViewsOfTheCallersMemoryFollowItByAnInstruction) {
  const EmittedProgram emitted = program_of(region_text("%x", "%y: f32[2,2]@sim:0", R"(
    (%a: f32[4]@sim:0)
    %v: f32[2,2]@sim:0 = aten::view_copy(%a, [2, 2])
    %b: f32[2,2]@sim:0 = aten::relu(%v)
    yield %b
  )"));
  EXPECT_NE(nested_text(emitted, 0)
                .find("0: executorch_prim::et_view.default(%0, [2, 2], %1)\n"
                      "    1: aten::relu.out(%1, %4, %4)\n"),
            std::string::npos)
      << nested_text(emitted, 0);
}

TEST(Delegates, SizesInsideComeFromInputsThatHaveThem) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 8]
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[n,4]@sim:0) {
      %y: f32[(n * 4)]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[n,4]@sim:0)
        %b: f32[n,4]@sim:0 = aten::relu(%a)
        %c: f32[(n * 4)]@sim:0 = aten::view_copy(%b, [(n * 4)])
        yield %c
      }
      return %y
    })");
  const std::string text = nested_text(emitted, 0);
  EXPECT_NE(text.find("aten::sym_size.int(%0, 0, "), std::string::npos) << text;
  EXPECT_NE(text.find("f32[<=8,4] of the caller"), std::string::npos) << text;
  EXPECT_NE(text.find("aten::view_copy.out("), std::string::npos) << text;
  EXPECT_EQ(arguments_of(only_method(emitted), 0)[2], "u8[<=128]+0");
}

TEST(Delegates, UnsupportedContentsAreRefusedByName) {
  const auto refusal = [](void (*bend)(ir::Module&)) {
    ir::Module module = module_of(R"(
      state @s: f32[4]
      delegate @part "berth.sim"
      method forward(%x: f32[4]) {
        %z: f32[4] = aten::exp(%x)
        %r: f32[4] = berth::state_read() @s
        %y: f32[4] = berth::delegate([%x]) @part { (%a: f32[4])
          %b: f32[4] = aten::relu(%a)
          yield %b
        }
        return %y, %z, %r
      })");
    bend(module);
    return refusal_of(module);
  };
  EXPECT_EQ(refusal([](ir::Module&) {}), "it was emitted");
  EXPECT_NE(refusal([](ir::Module& m) {
              m.delegates[{0}].specs = {{"target_device", "tpu:0"}};
            }).find("target_device \"tpu:0\" is not a device"),
            std::string::npos);
  EXPECT_NE(refusal([](ir::Module& m) {
              m.delegates[{0}].specs = {{"target_device", "sim:0"}, {"target_device", "sim:1"}};
            }).find("target_device is both sim:0 and sim:1"),
            std::string::npos);
  const auto call = [](ir::Module& m) -> ir::Node& { return m.methods[0].node(m.methods[0].body.nodes[2]); };
  static const auto node_of = call;
  EXPECT_NE(refusal([](ir::Module& m) { node_of(m).regions.clear(); }).find("neither a payload nor a region"),
            std::string::npos);
  EXPECT_NE(refusal([](ir::Module& m) { node_of(m).delegate = {7}; }).find("names no delegate"), std::string::npos);
  EXPECT_NE(refusal([](ir::Module& m) {
              ir::Method& method = m.methods[0];
              method.node(node_of(m).regions[0].nodes[0]).args[0] = method.node(method.body.nodes[0]).results[0];
            }).find("%z is from outside of the region"),
            std::string::npos);
  EXPECT_NE(refusal([](ir::Module& m) {
              ir::Method& method = m.methods[0];
              node_of(m).regions[0].nodes.push_back(method.body.nodes[1]);
            }).find("neither state nor delegates nor copies"),
            std::string::npos);
}

TEST(Delegates, TheSameModuleGivesTheSameBytes) {
  const auto one = format::program_bytes(program_of(kShared).program);
  const auto two = format::program_bytes(program_of(kShared).program);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
}

// Holds row 136.
TEST(Delegates, XnnpackReadsPastItsTensorsSoArenasHavePadding) {
  const auto text = [](const std::string& backend) {
    return filled(R"(
      delegate @d "$backend" = hex"0102"
      state @s: f32[4] = splat<0>
      method forward(%x: f32[3,5]) {
        %s: f32[4] = berth::state_read() @s
        %h: f32[3,5] = aten::exp(%x)
        %p: f32[7] = berth::delegate([%h, %s]) @d
        return %p
      })",
                  {{"backend", backend}});
  };
  const EmittedProgram plain = program_of(text("Chip"));
  const EmittedProgram padded = program_of(text("XnnpackBackend"));
  ASSERT_EQ(only_method(padded).arenas.size(), 2u);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(only_method(padded).arenas[k].bytes, only_method(plain).arenas[k].bytes + 64);
    EXPECT_EQ(padded.arenas[k].bytes, plain.arenas[k].bytes + 64);
    EXPECT_EQ(padded.arenas[k].lower_bound, plain.arenas[k].lower_bound + 64);
    EXPECT_EQ(padded.arenas[k].optimal, plain.arenas[k].optimal);
  }
}

TEST(Delegates, XnnpackPaddingIsThereInABranchToo) {
  const auto bytes_of = [](const std::string& backend) {
    return program_of(filled(R"(
      delegate @d "$backend" = hex"0102"
      method forward(%c: bool[], %x: f32[4]) {
        %r: f32[4] = berth::if(%c) {
          ()
          %p: f32[4] = berth::delegate([%x]) @d
          yield %p
        } {
          ()
          %e: f32[4] = aten::exp(%x)
          yield %e
        }
        return %r
      })",
                             {{"backend", backend}}))
        .arenas[0]
        .bytes;
  };
  EXPECT_EQ(bytes_of("XnnpackBackend"), bytes_of("Chip") + 64);
}

TEST(Delegates, XnnpackPaddingIsThereInABankToo) {
  const ir::Module module = testing::module_of(R"(
    delegate @d "XnnpackBackend" = hex"01"
    method forward(%x: f32[64]) {
      %h: f32[64] = berth::delegate([%x]) @d
      return %h
    })");
  memory::MemoryOptions options = testing::as_written();
  options.bank_of = [](const ir::Method& method, ir::ValueId value) { return method.value(value).name == "h" ? 0 : 1; };
  options.banks = {{"fast", Device(), 256 + 64}, {"rest", Device()}};
  EXPECT_TRUE(testing::plan_and_emit(module, options).ok());
  options.banks[0].capacity = 256 + 63;
  const auto refused = testing::plan_and_emit(module, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Error::kOutOfResources);
}

TEST(Delegates, CallsOfOneForeignDelegateShareItsHandle) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d "Chip" = hex"0102"
    method forward(%x: f32[4]) {
      %p: f32[4] = berth::delegate([%x]) @d
      %q: f32[4] = berth::delegate([%p]) @d
      return %q
    })");
  ASSERT_EQ(only_method(emitted).delegates.size(), 1u);
  EXPECT_EQ(emitted.delegates.size(), 1u);
  for (const format::InstructionDesc& instruction : only_method(emitted).instructions) {
    EXPECT_EQ(std::get<format::DelegateCallDesc>(instruction).delegate_index, 0);
  }
}

}  // namespace
}  // namespace berth::emit
