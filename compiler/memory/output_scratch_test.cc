// Outputs of delegates used as scratch. The fears: a temporary that reaches out of the output, or is live when the
// output is first written; bytes that are not the call's own; a scratch that becomes larger than without.
#include "compiler/memory/output_scratch.h"

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "format/nested.h"
#include "format/tensor_facts.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

using testing::only_method;
using testing::program_of;
using testing::written;

/// A method of x, 64 floats, with one delegate on the host, whose region is `region` with %a for x, and then `rest`.
std::string delegate_text(const std::string& results, const std::string& region, const std::string& rest,
                          const std::string& before = "") {
  return filled(R"(
    $before
    delegate @d0 "berth.cpu"
    method forward(%x: f32[64]) {
      $results = berth::delegate([%x]) @d0 { (%a: f32[64])
        $region
      }
      $rest
    })",
                {{"before", before}, {"results", results}, {"region", region}, {"rest", rest}});
}

/// 2048 bytes that only a sum of 4 bytes is made of, which is alive while the result is made.
constexpr const char* kSum = R"(
%b: f32[512] = aten::repeat(%a, [8])
%c: f32[1] = aten::sum.dim_IntList(%b, [0], true, none)
)";

using Sizes = std::vector<int64_t>;

struct Payload {
  uint32_t version = 0;
  Sizes arenas;                     // scratch, then those of results
  std::vector<std::string> places;  // of planned values, "2:0..16"
};

/// A payload that is a sound nested program.
Payload payload_of(const EmittedProgram& emitted, size_t index = 0) {
  Payload out;
  const std::vector<uint8_t> bytes = written(emitted.program.payloads.at(index));
  format::Report report;
  const auto file = format::open_nested({bytes.data(), bytes.size()}, &report, &out.version);
  format::ProgramView view;
  if (!file.ok() || format::ProgramView::open(*file, &view, &report) != Error::kOk ||
      format::verify_program(view, &report) != Error::kOk) {
    ADD_FAILURE() << report.place << ": " << report.message;
    return out;
  }
  std::vector<uint8_t> scratch(format::plan_scratch_bytes(view, 0));
  EXPECT_EQ(format::verify_plan(view, 0, scratch, nullptr, &report), Error::kOk) << report.place << report.message;
  const fb::ExecutionPlan& plan = view.method(0);
  for (uint32_t a = 1; a < plan.non_const_buffer_sizes()->size(); ++a) {
    out.arenas.push_back(static_cast<int64_t>(plan.non_const_buffer_sizes()->Get(a)));
  }
  for (uint32_t v = 0; v < plan.values()->size(); ++v) {
    const fb::Tensor* tensor = format::tensor_at(plan, v);
    uint64_t size = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || !format::tensor_nbytes(*tensor, &size)) continue;
    const uint64_t offset = format::planned_offset(*tensor->allocation_info());
    out.places.push_back(std::to_string(tensor->allocation_info()->memory_id()) + ":" + std::to_string(offset) + ".." +
                         std::to_string(offset + size));
  }
  return out;
}

using Places = std::vector<std::string>;

TEST(OutputScratch, ResultsAreScratchUntilTheyAreWritten) {
  const std::string text = delegate_text("%y: f32[1024]", std::string(kSum) + R"(
    %d: f32[1024] = aten::repeat(%c, [1024])
    yield %d
  )",
                                         "return %y");
  const EmittedProgram own = program_of(text, testing::with_own_scratch());
  EXPECT_EQ(payload_of(own).version, format::kNestedVersion);
  EXPECT_EQ(own.delegates.at(0).scratch_bytes, 2048u + 4) << "the sum lies behind what it is made of";
  const EmittedProgram shared = program_of(text);
  const Payload payload = payload_of(shared);
  EXPECT_EQ(payload.version, format::kNestedOutputScratchVersion);
  EXPECT_EQ(payload.arenas, (Sizes{4, 4096}));
  EXPECT_EQ(payload.places, (Places{"2:0..2048", "1:0..4", "2:0..4096"}));
  const DelegateReport& report = shared.delegates.at(0);
  EXPECT_EQ(report.scratch_bytes, 4u);
  EXPECT_EQ(report.scratch_lower_bound, 4u);
  EXPECT_EQ(report.own_scratch_bytes, 2048u + 4);
  EXPECT_EQ(report.output_scratch_bytes, (Sizes{4096}));
  EXPECT_EQ(only_method(own).arenas[0].bytes - only_method(shared).arenas[0].bytes, 2048u + 4 - 4)
      << "the arena around it is smaller by as much";
}

// The guards between the outputs and the scratch are in every order: a proof that counts them on one side alone fails.
TEST(OutputScratch, TheScheduleIsProvenOptimalBesideGuards) {
  const std::string text = delegate_text("%y: f32[8,8]", R"(
    %v: f32[8,8] = aten::view_copy(%a, [8, 8])
    %w: f32[8,8] = aten::permute_copy(%v, [1, 0])
    %b: f32[8,8] = aten::permute_copy(%w, [1, 0])
    %c: f32[8,8] = aten::permute_copy(%b, [1, 0])
    %d: f32[8,8] = aten::permute_copy(%c, [1, 0])
    yield %d
  )",
                                         "return %y");
  const EmittedProgram program = program_of(text);
  EXPECT_EQ(program.delegates.at(0).own_scratch_bytes, 512u);
  EXPECT_EQ(program.delegates.at(0).scratch_bytes, 256u);
  EXPECT_TRUE(program.order_optimal);
}

TEST(OutputScratch, ResultsWrittenInPlaceLeaveNoScratch) {
  const EmittedProgram emitted = program_of(delegate_text("%y: f32[64]", R"(
    %b: f32[64] = aten::exp(%a)
    %c: f32[64] = aten::relu(%b)
    yield %c
  )",
                                                          "return %y"));
  EXPECT_EQ(payload_of(emitted).places, (Places{"2:0..256", "2:0..256"}));
  EXPECT_EQ(emitted.delegates.at(0).scratch_bytes, 0u);
  const auto& call = std::get<format::DelegateCallDesc>(only_method(emitted).instructions.at(0));
  EXPECT_EQ(call.args.size(), 2u) << "x and y, no scratch";
}

TEST(OutputScratch, PartsAreScratchToo) {
  const EmittedProgram emitted = program_of(delegate_text("%y: f32[128]", R"(
    %b: f32[64] = aten::exp(%a)
    %c: f32[64] = aten::neg(%a)
    %d: f32[128] = aten::cat([%b, %c], 0)
    yield %d
  )",
                                                          "return %y"));
  EXPECT_EQ(emitted.delegates.at(0).scratch_bytes, 0u);
  EXPECT_EQ(emitted.delegates.at(0).instructions, 2u) << "nothing is concatenated";
}

// A result of 1024 bytes does not hold 2048, and two beside each other do not either: they may be far from each other.
TEST(OutputScratch, NothingCrossesFromOneResultIntoTheNext) {
  const EmittedProgram small = program_of(delegate_text("%y: f32[256]", std::string(kSum) + R"(
    %d: f32[256] = aten::repeat(%c, [256])
    yield %d
  )",
                                                        "return %y"));
  EXPECT_EQ(small.delegates.at(0).scratch_bytes, 2052u) << "the sum is alive while the result is made";
  EXPECT_EQ(payload_of(small).version, format::kNestedVersion) << "an output is used only where that saves bytes";
  const EmittedProgram two = program_of(delegate_text("%y: f32[256], %z: f32[256]", R"(
%b: f32[512] = aten::repeat(%a, [8])
%p: f32[256] = aten::repeat(%a, [4])
%c: f32[1] = aten::sum.dim_IntList(%b, [0], true, none)
%q: f32[1] = aten::sum.dim_IntList(%p, [0], true, none)
%s: f32[1] = aten::add.Tensor(%c, %q)
%d: f32[256] = aten::repeat(%s, [256])
%e: f32[256] = aten::exp(%d)
yield %d, %e
)",
                                                      "return %y, %z"));
  EXPECT_EQ(payload_of(two).arenas, (Sizes{2048, 1024, 1024})) << "p lies in a result, b in the scratch";
  EXPECT_EQ(two.delegates.at(0).own_scratch_bytes, 3072u + 4);
}

// Four bytes of 2052 could be saved.
TEST(OutputScratch, ResultsAreUsedOnlyWhereThatSavesEnough) {
  const EmittedProgram emitted = program_of(delegate_text("%y: f32[256], %z: f32[256]", std::string(kSum) + R"(
    %d: f32[256] = aten::repeat(%c, [256])
    %e: f32[256] = aten::exp(%d)
    yield %d, %e
  )",
                                                          "return %y, %z"));
  EXPECT_EQ(payload_of(emitted).version, format::kNestedVersion);
  EXPECT_EQ(emitted.delegates.at(0).scratch_bytes, 2052u);
}

TEST(OutputScratch, SeveralResultsAreEachScratchUntilTheyAreWritten) {
  // b dies when d is made, and lies in e, which is made later; c in the scratch, or in e.
  const EmittedProgram emitted = program_of(delegate_text("%y: f32[16], %z: f32[1024]", std::string(kSum) + R"(
    %d: f32[16] = aten::repeat(%c, [16])
    %e: f32[1024] = aten::repeat(%d, [64])
    yield %d, %e
  )",
                                                          "return %y, %z"));
  const Payload payload = payload_of(emitted);
  EXPECT_EQ(payload.arenas, (Sizes{0, 64, 4096}));
  EXPECT_EQ(emitted.delegates.at(0).output_scratch_bytes, (Sizes{64, 4096}));
}

TEST(OutputScratch, SharedAndCallersValuesAreNotUsed) {
  const std::string region = std::string(kSum) + R"(
    %d: f32[1024] = aten::repeat(%c, [1024])
    yield %d
  )";
  const auto scratch_of = [&](const std::string& rest, const std::string& before = "") {
    return program_of(delegate_text("%y: f32[1024]", region, rest, before)).delegates.at(0).scratch_bytes;
  };
  EXPECT_EQ(scratch_of(R"(
    %r: f32[1024] = aten::relu(%y)
    return %r
  )"),
            4u);
  EXPECT_EQ(scratch_of(R"(
    %r: f32[2048] = aten::cat([%y, %y], 0)
    return %r
  )"),
            2052u);
  EXPECT_EQ(scratch_of(R"(
    %v: f32[32,32] = aten::view_copy(%y, [32, 32])
    %e: f32[32,32] = aten::relu(%v)
    %r: f32[64,32] = aten::cat([%e, %e], 0)
    return %r
  )"),
            2052u)
      << "part of a concatenation through a view and in place";
  EXPECT_EQ(scratch_of(R"(
    berth::state_write(%y) @s
    return %y
  )",
                       "state @s: f32[1024] = splat<0>"),
            2052u);
}

TEST(OutputScratch, TheCallersDeviceMemoryIsNotUsed) {
  const std::string region = R"(
    %b: f32[512]@sim:0 = aten::repeat(%a, [8])
    %c: f32[1]@sim:0 = aten::sum.dim_IntList(%b, [0], true, none)
    %d: f32[1024]@sim:0 = aten::repeat(%c, [1024])
    yield %d
  )";
  const auto scratch_of = [&](const std::string& rest) {
    const std::string text = filled(R"(
      delegate @d0 "berth.sim" {target_device = "sim:0"}
      method forward(%x: f32[64]@sim:0) {
        %y: f32[1024]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[64]@sim:0)
          $region
        }
        $rest
      })",
                                    {{"region", region}, {"rest", rest}});
    return program_of(text).delegates.at(0).scratch_bytes;
  };
  EXPECT_EQ(scratch_of("return %y"), 2052u);
  EXPECT_EQ(scratch_of(R"(
    %h: f32[1024] = et_copy::_d2h_copy(%y)
    return %h
  )"),
            4u);
}

// What is not a value of its own is copied to its output at the end, as without that use.
TEST(OutputScratch, AliasedResultsAreCopiedAtTheEnd) {
  const EmittedProgram emitted =
      program_of(delegate_text("%y: f32[1024], %z: f32[64], %w: f32[1024]", std::string(kSum) + R"(
    %d: f32[1024] = aten::repeat(%c, [1024])
    yield %d, %a, %d
  )",
                               "return %y, %z, %w"));
  const Payload payload = payload_of(emitted);
  EXPECT_EQ(payload.arenas, (Sizes{4, 4096}));
  EXPECT_EQ(emitted.delegates.at(0).output_scratch_bytes, (Sizes{4096, 0, 0}));
}

TEST(OutputScratch, ResultsOfManySizesAreScratchUpToTheirLargest) {
  const EmittedProgram emitted = program_of(R"(
symbol n in [1, 16]
delegate @d0 "berth.cpu"
method forward(%x: f32[n,4]) {
  %y: f32[n,16] = berth::delegate([%x]) @d0 { (%a: f32[n,4])
    %b: f32[n,8] = aten::repeat(%a, [1, 2])
    %c: f32[n,1] = aten::sum.dim_IntList(%b, [1], true, none)
    %d: f32[n,16] = aten::repeat(%c, [1, 16])
    yield %d
  }
  return %y
})");
  EXPECT_EQ(payload_of(emitted).arenas, (Sizes{64, 1024}));
  EXPECT_EQ(payload_of(emitted).places, (Places{"2:0..512", "1:0..64", "2:0..1024"}));
}

// With symbols a view may be larger, at the upper end, than what it is a view of: it would reach out of the result.
TEST(OutputScratch, ResultsOfManySizesHaveNoLargerViews) {
  const EmittedProgram emitted = program_of(R"(
symbol m in [1, 16]
delegate @d0 "berth.cpu"
method forward(%x: f32[8], %k: f32[m]) {
  %y: f32[8], %z: f32[m] = berth::delegate([%x, %k]) @d0 { (%a: f32[8], %b: f32[m])
    %t: f32[8] = aten::neg(%a)
    %c: f32[8] = aten::exp(%t)
    %v: f32[m] = aten::view_copy(%c, [m])
    %w: f32[m] = aten::add.Tensor(%v, %b)
    yield %c, %w
  }
  return %y, %z
})");
  const Payload payload = payload_of(emitted);
  EXPECT_EQ(payload.arenas, (Sizes{0, 32, 64}));
  EXPECT_EQ(payload.places, (Places{"2:0..32", "2:0..32", "3:0..64", "3:0..64"})) << "the view is a copy";
}

TEST(OutputScratch, ResultsOfBranchesAreScratchForDelegatesInThem) {
  const EmittedProgram emitted = program_of(R"(
delegate @d0 "berth.cpu"
method forward(%k: bool[], %x: f32[64], %o: f32[1024]) {
  %r: f32[1024] = berth::if(%k) {
    ()
    %y: f32[1024] = berth::delegate([%x]) @d0 { (%a: f32[64])
      %b: f32[512] = aten::repeat(%a, [8])
      %c: f32[1] = aten::sum.dim_IntList(%b, [0], true, none)
      %d: f32[1024] = aten::repeat(%c, [1024])
      yield %d
    }
    yield %y
  } {
    ()
    %e: f32[1024] = aten::exp(%o)
    yield %e
  }
  return %r
})");
  EXPECT_EQ(emitted.delegates.at(0).scratch_bytes, 4u);
}

}  // namespace
}  // namespace berth::memory
