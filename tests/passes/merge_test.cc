// Random modules as one: each method gives what it gave alone, call after call, with symbols of other ranges, states,
// branches and loops; and so it does from a text that was printed and parsed.
#include "compiler/ir/merge.h"

#include <gtest/gtest.h>

#include "base/seeds_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes_testing.h"

namespace berth {
namespace {

using States = std::map<ir::StateId, eval::Array>;

ir::Module random_module(unsigned seed, const std::string& suffix) {
  ir::Module module = ir::testing::RandomModule(seed, ir::testing::any_module()).make(1 + seed % 2);
  for (ir::Method& method : module.methods) method.name += suffix;
  if (seed % 3 != 0) return module;
  // Its symbol n gets another range.
  std::string text = ir::print(module);
  const std::string old = "symbol n in [1, 5]";
  const size_t place = text.find(old);
  if (place == std::string::npos) return module;
  auto other = ir::parse(text.replace(place, old.size(), "symbol n in [1, 3]"), "t");
  EXPECT_TRUE(other.ok()) << other.error().text();
  return other.ok() ? std::move(*other) : std::move(module);
}

// What a call gives, or why it fails: some views hold for one size of their input alone.
struct Given {
  std::vector<eval::Item> outputs;
  std::string failure;
};

Given called(const ir::Module& module, const std::string& name, unsigned seed, States* states) {
  const ir::Method* method = module.find_method(name);
  EXPECT_NE(method, nullptr);
  if (method == nullptr) return {};
  eval::EvaluateOptions options;
  options.states = states;
  const auto found = eval::evaluate(module, *method, passes::random_inputs(module, *method, seed), options);
  if (found.ok()) return {*found, ""};
  return {{}, found.error().text()};
}

int ran = 0;

void check(unsigned seed) {
  std::vector<ir::Module> modules;
  for (unsigned i = 0; i < 3; ++i) modules.push_back(random_module(3 * seed + i, "_" + std::to_string(i)));
  auto merged = ir::merge(modules);
  ASSERT_TRUE(merged.ok()) << merged.error().text();
  const Status sound = ir::verify(*merged);
  ASSERT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(*merged);
  const auto again = ir::parse(ir::print(*merged), "t");
  ASSERT_TRUE(again.ok()) << again.error().text();
  States of_all;
  States of_again;
  std::vector<States> alone(modules.size());
  for (unsigned round = 0; round < 2; ++round) {
    for (size_t i = 0; i < modules.size(); ++i) {
      for (const ir::Method& method : modules[i].methods) {
        const Given want = called(modules[i], method.name, round, &alone[i]);
        ran += want.failure.empty() ? 1 : 0;
        for (const Given& got :
             {called(*merged, method.name, round, &of_all), called(*again, method.name, round, &of_again)}) {
          EXPECT_EQ(got.failure, want.failure);
          ASSERT_EQ(got.outputs.size(), want.outputs.size());
          for (size_t k = 0; k < want.outputs.size(); ++k) passes::expect_close(want.outputs[k], got.outputs[k], 0);
        }
        if (::testing::Test::HasFailure()) FAIL() << method.name << "\n" << ir::print(*merged);
      }
    }
  }
}

TEST(RandomMerge, EachMethodGivesWhatItGaveAlone) {
  testing::for_each_seed(100, check);
  EXPECT_GT(ran, 100) << "of some 900 calls";
}

}  // namespace
}  // namespace berth
