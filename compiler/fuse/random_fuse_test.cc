// Random graphs of what convolutional networks are made of, fused as in a delegate of the cpu target: outputs stay what
// the evaluator gave before. A failing graph is printed.
#include <cstdlib>
#include <map>
#include <sstream>

#include "compiler/fuse/fuse_testing.h"
#include "compiler/ir/random_networks_testing.h"

namespace berth::fuse {
namespace {

// How often each operator stood in what came out.
using Counts = std::map<std::string, int>;

void count(const std::string& operators, Counts* counts) {
  std::istringstream words(operators);
  for (std::string word; words >> word;) ++(*counts)[word];
}

// Odd seeds make odd graphs.
void check(unsigned seed, Counts* counts) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = ir::testing::RandomModule(seed, ir::testing::network(seed % 2 != 0)).make();
  const Status sound = ir::verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text();
  if (module.methods[0].body.outputs.empty()) return;
  count(fuse_module(std::move(module), seed, 1e-4).operators(), counts);
}

TEST(RandomFuse, KeepsTheOutputs) {
  Counts counts;
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)), &counts);
  for (unsigned seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed) check(seed, &counts);
  for (const char* fused : {"berth::conv", "berth::linear", "berth::elementwise"})
    EXPECT_GT(counts[fused], 100) << fused;
  for (const char* fused : {"berth::lstm", "berth::lstm_cell", "berth::attention"})
    EXPECT_GT(counts[fused], 3) << fused;
}

}  // namespace
}  // namespace berth::fuse
