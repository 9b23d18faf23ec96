// Random graphs through the whole list of passes: outputs stay what the evaluator gave before. A failing graph is
// printed, so that it can become a test of the pass that broke it.
#include <cstdlib>

#include "compiler/ir/random_steps_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

void check(unsigned seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = ir::testing::RandomModule(seed, ir::testing::simplifiable()).make();
  const Status sound = ir::verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text();
  const std::string text = ir::print(module);
  const std::vector<eval::Item> inputs = random_inputs(module, module.methods[0], seed);
  const auto expected = eval::evaluate(module, module.methods[0], inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().text() << "\n" << text;
  Options options;
  options.verify = true;
  const Status done = run(pipeline(), module, options);
  ASSERT_TRUE(done.ok()) << done.error().text() << "\n" << text;
  const auto found = eval::evaluate(module, module.methods[0], inputs);
  ASSERT_TRUE(found.ok()) << found.error().text() << "\n" << text;
  for (size_t i = 0; i < expected->size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close((*expected)[i], (*found)[i], 1e-4);
    if (::testing::Test::HasFailure()) FAIL() << text << "\nafter\n" << ir::print(module);
  }
}

TEST(RandomPasses, KeepTheOutputs) {
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)));
  for (unsigned seed = 0; seed < 400 && !::testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace berth::passes
