// Sets of nodes that a target wants in one delegate or in none (targets::Target::marks): on random graphs with random
// sets and limits each is so, nothing that the target leaves is in a delegate, and what the graph gives stays the same,
// bit for bit.
#include <cstdlib>
#include <map>
#include <random>

#include "compiler/ir/random_steps_testing.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

// Of each node in the region of a delegate: the call. Calls hold no calls.
std::map<int32_t, int32_t> calls_of(const ir::Method& method) {
  std::map<int32_t, int32_t> calls;
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) {
      if (!is_delegate(method.node(id)) || method.node(id).regions.empty()) continue;
      for (const ir::NodeId inner : method.node(id).regions[0].nodes) calls[inner.index] = id.index;
    }
  });
  return calls;
}

struct Seen {
  int whole = 0;
  int outside = 0;
};

void check(unsigned seed, Seen* seen) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = ir::testing::RandomModule(seed, ir::testing::vectors(seed)).make();
  const std::string text = ir::print(module);
  const std::vector<eval::Item> inputs = passes::random_inputs(module, module.methods[0], seed);
  std::map<ir::StateId, eval::Array> states;
  eval::EvaluateOptions how;
  how.states = &states;
  const auto expected = eval::evaluate(module, module.methods[0], inputs, how);
  ASSERT_TRUE(expected.ok()) << expected.error().text() << "\n" << text;

  std::mt19937 random(seed);
  Options options = options_of("sim:0");
  targets::Target& target = options.targets[0];
  if (random() % 2 == 0) target.limits.nodes = 1 + random() % 6;
  if (random() % 3 == 0) target.limits.outputs = 1 + random() % 3;
  // So that regions are cut by what the target does not take as well.
  const unsigned refused = random() % 4;
  target.takes = [refused](const targets::AskedNode& asked) {
    const bool no = refused != 0 && static_cast<unsigned>(asked.id.index) % 5 == refused;
    return Expected<targets::Answer>(
        targets::Answer{no ? targets::Support::kRefused : targets::Support::kSupported, ""});
  };
  targets::NodeSets all;
  target.marks = [&](const ir::Module&, const ir::Method&, const IdVector<ir::ValueId, int>&,
                     const std::vector<ir::NodeId>& nodes, const std::vector<ir::CompileSpec>&) {
    targets::NodeSets sets;
    std::map<unsigned, std::vector<ir::NodeId>> chosen;
    for (const ir::NodeId id : nodes) {
      const unsigned which = random() % 8;
      if (which < 3) chosen[which].push_back(id);
      if (which == 7) sets.left.push_back(id);
    }
    for (auto& [which, set] : chosen) sets.together.push_back(set);
    all.together.insert(all.together.end(), sets.together.begin(), sets.together.end());
    all.left.insert(all.left.end(), sets.left.begin(), sets.left.end());
    return Expected<targets::NodeSets>(sets);
  };
  const Status done = place(module, options);
  ASSERT_TRUE(done.ok()) << done.error().text() << "\n" << text;

  const ir::Method& method = module.methods[0];
  const std::map<int32_t, int32_t> calls = calls_of(method);
  const auto call_of = [&](ir::NodeId id) { return calls.count(id.index) == 0 ? -1 : calls.at(id.index); };
  for (const std::vector<ir::NodeId>& set : all.together) {
    for (const ir::NodeId id : set)
      EXPECT_EQ(call_of(id), call_of(set[0])) << "nodes " << set[0].index << ", " << id.index;
    if (set.size() > 1) ++(call_of(set[0]) < 0 ? seen->outside : seen->whole);
  }
  for (const ir::NodeId id : all.left) EXPECT_EQ(call_of(id), -1);
  std::map<int32_t, size_t> sizes;
  for (const auto& [node, call] : calls) ++sizes[call];
  for (const auto& [call, size] : sizes) EXPECT_LE(size, target.limits.nodes);

  std::map<ir::StateId, eval::Array> states_after;
  how.states = &states_after;
  const auto found = eval::evaluate(module, method, inputs, how);
  ASSERT_TRUE(found.ok()) << found.error().text() << "\n" << ir::print(module);
  for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 0);
  if (::testing::Test::HasFailure()) FAIL() << text << "\nplaced\n" << ir::print(module);
}

TEST(Sets, AreInOneDelegateOrInNoneInRandomGraphs) {
  Seen seen;
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)), &seen);
  for (unsigned seed = 0; seed < 400 && !::testing::Test::HasFailure(); ++seed) check(seed, &seen);
  EXPECT_GT(seen.whole, 100);
  EXPECT_GT(seen.outside, 100);
}

}  // namespace
}  // namespace berth::placement
