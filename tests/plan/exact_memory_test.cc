// What a method needs is what it takes, to the byte: models of the repository, programs of every kind, random ones; and
// what delegates of the cpu target need in a method's stead.
#include "tests/plan/exact_memory.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/random_steps_testing.h"
#include "format/write/write_program.h"
#include "runtime/host/thread_pool.h"

namespace berth::plan_test {
namespace {

std::string problem_of(ir::Module module) {
  const auto program = compile(std::move(module), {});
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return program.ok() ? check_exact_memory(*program).problem : "";
}

class ExactMemoryOfModels : public testing::TestWithParam<const char*> {};

TEST_P(ExactMemoryOfModels, MemoryNeededIsWhatIsTaken) {
  auto module = load_model(std::string(BERTH_SOURCE_DIR) + "/models/" + GetParam() + "/model.onnx", {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(problem_of(std::move(module).value()), "");
}

TEST_P(ExactMemoryOfModels, ACpuDelegateToo) {
  for (const int threads : {1, 3}) {
    auto module = load_model(std::string(BERTH_SOURCE_DIR) + "/models/" + GetParam() + "/model.onnx", {});
    ASSERT_TRUE(module.ok()) << module.error().text();
    CompileOptions options;
    options.target = "cpu";
    const auto program = compile(std::move(module).value(), options);
    ASSERT_TRUE(program.ok()) << program.error().text();
    CpuBackend cpu;
    Backend* const backends[] = {&cpu};
    HostThreadPool pool(threads);
    const ExactMemory exact = check_exact_memory(*program, backends, &pool);
    EXPECT_EQ(exact.problem, "") << threads << " threads";
    EXPECT_EQ(cpu.constants().blobs(), 0u) << "loads that fail give back what they took";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExactMemoryOfModels, testing::Values("digits", "dscnn_kws", "randwire", "lstm_tagger"),
                         [](const auto& info) { return std::string(info.param); });

struct Text {
  const char* name;
  const char* text;
};

const Text kTexts[] = {
    {"State", R"(
state @count: f32[8]
method forward(%x: f32[8]) {
  %old: f32[8] = berth::state_read() @count
  %new: f32[8] = aten::add.Tensor(%old, %x)
  berth::state_write(%new) @count
  return %new
})"},
    {"Symbols", R"(
symbol n in [1, 64]
method forward(%x: f32[n,3], %w: f32[3,5]) {
  %y: f32[n,5] = aten::mm(%x, %w)
  %z: f32[(n * 5)] = aten::view_copy(%y, [-1])
  return %z
})"},
    {"Branches", R"(
method forward(%c: bool[], %x: f32[4,4], %y: f32[4,4]) {
  %r: f32[4,4] = berth::if(%c) {
    ()
    %a: f32[4,4] = aten::mm(%x, %y)
    yield %a
  } {
    ()
    yield %x
  }
  %z: f32[4,4] = aten::_softmax(%r, 1, false)
  return %z
})"},
    {"SeveralMethods", R"(
const @w: f32[16,16] = splat<0.5>
method again(%x: f32[2,16]) {
  %w: f32[16,16] = const @w
  %y: f32[2,16] = aten::mm(%x, %w)
  return %y
}
method forward(%x: f32[7,16]) {
  %w: f32[16,16] = const @w
  %y: f32[7,16] = aten::mm(%x, %w)
  %z: f32[7,16] = aten::exp(%y)
  return %z
})"},
};

class ExactMemoryOfPrograms : public testing::TestWithParam<Text> {};

TEST_P(ExactMemoryOfPrograms, MemoryNeededIsWhatIsTaken) {
  auto module = ir::parse(GetParam().text, GetParam().name);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(problem_of(std::move(module).value()), "");
}

INSTANTIATE_TEST_SUITE_P(All, ExactMemoryOfPrograms, testing::ValuesIn(kTexts),
                         [](const auto& info) { return std::string(info.param.name); });

// They may fail when they run, as their sizes need not fit; what is asked here are the bounds.
TEST(ExactMemory, OfRandomPrograms) {
  int checked = 0;
  for (unsigned seed = 1; seed <= 80; ++seed) {
    const auto emitted =
        emit::testing::plan_and_emit(ir::testing::RandomModule(seed, ir::testing::any_module()).make(1 + seed % 2));
    ASSERT_TRUE(emitted.ok()) << emitted.error().text();
    uint64_t bytes = 0;
    for (const ArenaReport& arena : emitted->arenas) bytes += arena.bytes;
    if (bytes > (1 << 20)) continue;
    const auto file = format::program_bytes(emitted->program);
    ASSERT_TRUE(file.ok());
    const std::string problem = check_exact_memory(*file).problem;
    const bool too_small = problem.find("one byte less") != std::string::npos ||
                           problem.find("bytes are needed") != std::string::npos ||
                           problem.find("bytes outside") != std::string::npos;
    EXPECT_FALSE(too_small) << "seed " << seed << ": " << problem;
    checked += problem.empty() ? 1 : 0;
  }
  EXPECT_GT(checked, 40);
}

}  // namespace
}  // namespace berth::plan_test
