#include "compiler/memory/plan_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "compiler/emit/emit_testing.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/ir/verify.h"
#include "format/write/write_program.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using testing::plan_and_emit;

std::vector<uint8_t> bytes_of(unsigned seed) {
  const auto emitted = plan_and_emit(ir::testing::RandomModule(seed, ir::testing::any_module()).make());
  if (!emitted.ok()) return {};
  const auto bytes = format::program_bytes(emitted->program);
  return bytes.ok() ? *bytes : std::vector<uint8_t>{};
}

TEST(PlanMemory, TheSameModuleGivesTheSameBytesInEveryThread) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr unsigned kModules = 12;
  std::vector<std::vector<uint8_t>> alone;
  for (unsigned i = 0; i < kModules; ++i) alone.push_back(bytes_of(seed + i));
  std::vector<std::vector<std::vector<uint8_t>>> together(3);
  std::vector<std::thread> threads;
  for (auto& own : together) {
    threads.emplace_back([&own, seed] {
      for (unsigned i = 0; i < kModules; ++i) own.push_back(bytes_of(seed + i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : together) {
    for (unsigned i = 0; i < kModules; ++i) {
      EXPECT_FALSE(own[i].empty());
      EXPECT_TRUE(own[i] == alone[i]) << "module " << i;
    }
  }
}

using testing::kTwoBranches;

TEST(PlanMemory, ATimeLimitCutsShortAndSaysSo) {
  const EmittedProgram whole = testing::program_of(kTwoBranches, MemoryOptions{});
  EXPECT_FALSE(whole.truncated);
  EXPECT_TRUE(whole.order_optimal);
  MemoryOptions options;
  options.time_limit = 1e-9;
  const EmittedProgram cut = testing::program_of(kTwoBranches, options);
  EXPECT_TRUE(cut.truncated);
  EXPECT_FALSE(cut.order_optimal);
  EXPECT_GT(cut.arenas[0].bytes, whole.arenas[0].bytes);
}

TEST(PlanMemory, ATimeLimitThatIsNotReachedChangesNothing) {
  MemoryOptions options;
  options.time_limit = 1000;
  const EmittedProgram limited = testing::program_of(kTwoBranches, options);
  EXPECT_FALSE(limited.truncated);
  EXPECT_EQ(testing::listing(limited.program.methods[0]),
            testing::listing(testing::program_of(kTwoBranches, MemoryOptions{}).program.methods[0]));
}

bool is_state(const ir::Module& module, ir::NodeId id) { return module.methods[0].node(id).state.valid(); }

// An order that is called best is held against all others, by the arenas that they get.
TEST(PlanMemory, AProvenScheduleHasNoLowerPlanInAnyOther) {
  const char* given = std::getenv("BERTH_SEED");
  const unsigned seed =
      given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int proven = 0;
  // One seed in some hundred has five proofs or fewer among its first 60.
  for (unsigned round = 0; round < 60 || (proven <= 5 && round < 600); ++round) {
    const ir::Module module = ir::testing::RandomModule(seed + round, ir::testing::any_module(4, false)).make();
    const auto best = plan_and_emit(module);
    ASSERT_TRUE(best.ok()) << best.error().text();
    if (!best->order_optimal) continue;
    ++proven;
    for (int other = 0; other < 20; ++other) {
      ir::Module changed = module;
      std::vector<ir::NodeId>& nodes = changed.methods[0].body.nodes;
      for (int swap = 0; swap < 60 && nodes.size() > 1; ++swap) {
        const size_t i = random() % (nodes.size() - 1);
        if (is_state(changed, nodes[i]) && is_state(changed, nodes[i + 1])) continue;  // they keep their order
        std::swap(nodes[i], nodes[i + 1]);
        if (!ir::verify(changed).ok()) std::swap(nodes[i], nodes[i + 1]);
      }
      MemoryOptions options;
      options.reorder = false;
      const auto emitted = plan_and_emit(changed, options);
      ASSERT_TRUE(emitted.ok()) << emitted.error().text();
      uint64_t lowest = 0;
      uint64_t bytes = 0;
      for (const ArenaReport& arena : best->arenas) lowest += arena.bytes;
      for (const ArenaReport& arena : emitted->arenas) bytes += arena.bytes;
      ASSERT_LE(lowest, bytes) << "round " << round << "\n"
                               << ir::print(module) << "\nlower in this order:\n"
                               << ir::print(changed);
    }
  }
  EXPECT_GT(proven, 5);
}

}  // namespace
}  // namespace berth::memory
