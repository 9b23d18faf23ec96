// Random modules through the emitter: the file's own checks, which share no code with lifetimes or planners, must
// accept every one, under every planner; and planning may change where values lie, never what runs.
#include <random>

#include "base/seeds_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/ir/verify.h"

namespace berth::emit {
namespace {

ir::Module random_module(unsigned seed) { return ir::testing::RandomModule(seed, ir::testing::any_module()).make(); }

TEST(RandomEmit, FilesAreSoundUnderEveryPlanner) {
  const unsigned first = berth::testing::new_seed();
  for (unsigned seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    ir::Module module = random_module(seed);
    const Status verified = ir::verify(module);
    ASSERT_TRUE(verified.ok()) << verified.error().text();
    std::string listing;
    for (const packing::Planner planner :
         {packing::Planner::kNaive, packing::Planner::kGreedy, packing::Planner::kBest}) {
      memory::MemoryOptions options;
      options.planner = planner;
      options.in_place = false;
      options.alias = false;
      options.reorder = false;
      auto emitted = testing::plan_and_emit(module, options);
      ASSERT_TRUE(emitted.ok()) << emitted.error().text();
      testing::expect_sound_file(emitted->program);
      const std::string now = testing::listing(emitted->program.methods[0]);
      EXPECT_TRUE(listing.empty() || now == listing) << listing << "became\n" << now;
      listing = now;
      options.in_place = true;
      options.alias = true;
      options.reorder = true;
      auto in_place = testing::plan_and_emit(module, options);
      ASSERT_TRUE(in_place.ok()) << in_place.error().text();
      testing::expect_sound_file(in_place->program);
      if (HasFailure()) std::puts(testing::listing(in_place->program.methods[0]).c_str());
      if (HasFailure()) std::puts(ir::print(module).c_str());
    }
    ASSERT_FALSE(HasFailure());
  }
}

// Limits 1.11.
TEST(RandomEmit, TheSameModuleGivesTheSameBytesEveryTime) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    const auto once = testing::plan_and_emit(random_module(seed));
    const auto again = testing::plan_and_emit(random_module(seed));
    ASSERT_TRUE(once.ok() && again.ok());
    const auto a = format::program_bytes(once->program);
    const auto b = format::program_bytes(again->program);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(*a, *b);
  }
}

}  // namespace
}  // namespace berth::emit
