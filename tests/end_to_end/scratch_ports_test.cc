// Programs whose delegates have inputs in their scratch, run and compiled again. The fears: a run leaves the input of
// the next one overwritten, or a warm-up does; a program that is made of such a program overwrites what others read, or
// cannot be made.
#include <numeric>

#include "compiler/import/pte/import_pte.h"
#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

constexpr char kCallOfOneInput[] = R"(
  delegate @d0 "berth.cpu"
  method forward(%x: f32[64]) {
    %y: f32[1] = berth::delegate([%x]) @d0 { (%a: f32[64])
      %b: f32[32] = aten::slice_copy.Tensor(%a, 0, 0, 64, 2)
      %c: f32[32] = aten::exp(%b)
      %d: f32[64] = aten::repeat(%c, [2])
      %e: f32[1] = aten::sum.dim_IntList(%d, [0], true, none)
      yield %e
    }
    return %y
  })";

constexpr int32_t kSizes[] = {64};

CompileOptions on_cpu() {
  CompileOptions options;
  options.target = "cpu";
  return options;
}

ir::Module read_again(const std::vector<uint8_t>& bytes) {
  auto module = import_pte(Span<const uint8_t>(bytes.data(), bytes.size()), {});
  EXPECT_TRUE(module.ok()) << module.error().text();
  return std::move(module).value();
}

uint64_t arena_bytes(const testing::Compiled& compiled) {
  return compiled.program->method_meta("forward")->memory_planned_buffer_size(0).value();
}

float result_of(Method& method, float last) {
  std::vector<float> x(64, 0);
  x[62] = last;
  EXPECT_EQ(method.set_input(0, x.data(), kSizes, DType::kF32), Error::kOk);
  method.warm_up();
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  return method.get_output(0).tensor().data<float>()[0];
}

void expect_right(const testing::Compiled& compiled) {
  for (int run = 0; run < 3; ++run) {
    EXPECT_FLOAT_EQ(result_of(compiled.method(), 0), 64);
    EXPECT_FLOAT_EQ(result_of(compiled.method(), 1), 62 + 2 * std::exp(1.f)) << run;
  }
}

TEST(ProgramsWithScratchPorts, TakeNoMemoryBesideIt) {
  const testing::Compiled compiled(kCallOfOneInput, on_cpu());
  EXPECT_LE(arena_bytes(compiled), 384u + 64) << "x and b, then b and d; and y";
  expect_right(compiled);
}

TEST(ProgramsWithScratchPorts, AreThereWhenTheProgramIsCompiledAgain) {
  const testing::Compiled first(kCallOfOneInput, on_cpu());
  const testing::Compiled second(read_again(first.bytes), on_cpu());
  EXPECT_EQ(arena_bytes(second), arena_bytes(first));
  EXPECT_EQ(second.method().num_instructions(), 1u) << "nothing is copied";
  expect_right(second);
}

TEST(ProgramsWithScratchPorts, AreCopiedForACallThatIsNoLongerAlone) {
  const testing::Compiled first(kCallOfOneInput, on_cpu());
  ir::Module module = read_again(first.bytes);
  module.methods.front().body.outputs.emplace_back(module.methods.front().body.inputs.front());
  const testing::Compiled second(std::move(module), on_cpu());
  expect_right(second);
  const float* x = second.method().get_output(1).tensor().data<float>();
  EXPECT_EQ(std::accumulate(x, x + 64, 0.f), 1.f) << "of the last run";
}

TEST(ProgramsWithScratchPorts, AreCopiedFromTheCallersMemory) {
  const testing::Compiled first(kCallOfOneInput, on_cpu());
  CompileOptions options = on_cpu();
  options.device_io = {"x=cpu"};
  const testing::Compiled second(read_again(first.bytes), options);
  expect_right(second);
}

constexpr char kCallOfOneOutput[] = R"(
  delegate @d0 "berth.cpu"
  method forward(%x: f32[64]) {
    %y: f32[64] = berth::delegate([%x]) @d0 { (%a: f32[64])
      %b: f32[256] = aten::repeat(%a, [4])
      %c: f32[64] = aten::slice_copy.Tensor(%b, 0, 0, 256, 4)
      %d: f32[64] = aten::flip(%c, [0])
      yield %d
    }
    return %y
  })";

TEST(ProgramsWithScratchPorts, GiveOutputsOfTheScratchToTheCaller) {
  const testing::Compiled first(kCallOfOneOutput, on_cpu());
  EXPECT_EQ(arena_bytes(first), 1280u) << "b and c; y lies where b was";
  CompileOptions options = on_cpu();
  options.device_io = {"x=cpu", "y=cpu"};
  const testing::Compiled second(read_again(first.bytes), options);
  std::vector<float> given(64, -1);
  ASSERT_EQ(second.method().set_output_data_ptr(0, given.data(), 256), Error::kOk);
  for (const testing::Compiled* compiled : {&first, &second}) {
    std::vector<float> x(64);
    std::iota(x.begin(), x.end(), 0.f);
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(compiled->method().set_input(0, x.data(), kSizes, DType::kF32), Error::kOk);
      ASSERT_EQ(compiled->method().execute(), Error::kOk) << compiled->method().last_report().message;
      const float* y = compiled->method().get_output(0).tensor().data<float>();
      // Every fourth of 0, 1, ... 63, four times, from behind.
      for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], static_cast<float>((63 - i) % 16 * 4)) << i;
    }
  }
}

}  // namespace
}  // namespace berth
