// Recorded relations by value: found as by reading all of them, and soon enough for methods of many.
#include "format/plan_check/relations.h"

#include <algorithm>
#include <random>

#include "base/seeds_testing.h"
#include "format/plan_check/build_graph.h"
#include "format/plan_check/verify_plan_testing.h"

namespace berth::format {
namespace {

/// A program whose only method is `method`, and the graph of it.
struct Built {
  std::vector<uint8_t> file;
  ProgramView view;
  std::vector<uint8_t> memory;
  plan_check::PlanGraph graph;

  explicit Built(const Method& method) {
    MethodMetaDesc meta;
    meta.name = "forward";
    meta.relations = method.relations;
    ProgramDesc program;
    program.methods = {method.desc};
    program.named_data = {meta_blob({"berth test", {meta}})};
    file = bytes_of(program);
    EXPECT_EQ(ProgramView::open({file.data(), file.size()}, &view, nullptr), Error::kOk);
    EXPECT_EQ(verify_program(view, nullptr), Error::kOk);
    graph.program = &view;
    graph.plan = &view.method(0);
    graph.meta = view.meta()->methods()->Get(0);
    graph.size = plan_check::measure_plan(*graph.plan, graph.meta);
    graph.budget = 1 << 20;
    plan_check::Scratch measure;
    take_graph_memory(graph.size, &measure, &graph);
    memory.resize(measure.used());
    plan_check::Scratch scratch({memory.data(), memory.size()});
    EXPECT_TRUE(take_graph_memory(graph.size, &scratch, &graph));
    EXPECT_EQ(build_graph(&graph, 0, nullptr), Error::kOk);
  }
};

TEST(Relations, OfAValueAreThoseThatReadingAllFinds) {
  berth::testing::for_each_seed(200, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int32_t>(random() % static_cast<unsigned>(n)); };
    const int32_t values = 2 + below(8);
    std::vector<int64_t> offsets;
    for (int32_t v = 0; v < values; ++v) offsets.push_back(16 * below(4));
    Method m(offsets);
    // Empty ones are not items.
    for (int32_t v = 1; v < values; ++v) {
      if (below(8) == 0) m.value(v).sizes = {0};
    }
    const int32_t count = below(20);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t value = below(values);
      m.relation(value, (value + 1 + below(values - 1)) % values, static_cast<fb::RelationKind>(below(3)));
    }
    if (below(3) == 0) {
      std::stable_sort(m.relations.begin(), m.relations.end(),
                       [](const fb::Relation& a, const fb::Relation& b) { return a.value() < b.value(); });
    }
    Built built(m);
    plan_check::PlanGraph& graph = built.graph;
    for (int32_t v = 0; v < values; ++v) {
      std::vector<std::pair<int32_t, fb::RelationKind>> scanned, found;
      for (const fb::Relation& r : m.relations) {
        if (r.value() == v) scanned.emplace_back(r.base(), r.kind());
      }
      EXPECT_TRUE(for_each_relation(graph, v, [&](const fb::Relation& r) {
        found.emplace_back(r.base(), r.kind());
        return true;
      }));
      EXPECT_EQ(found, scanned) << "value " << v;
      const int32_t item = graph.item[v];
      if (item == plan_check::kNone) continue;
      int32_t successor = plan_check::kNone;
      for (const fb::Relation& r : m.relations) {
        if (r.kind() != fb::RelationKind::STATE || r.base() != v || successor != plan_check::kNone) continue;
        const int32_t next = graph.item[r.value()];
        if (next != plan_check::kNone && m.value(r.value()).planned->offset == m.value(v).planned->offset)
          successor = next;
      }
      EXPECT_EQ(graph.successor[item], successor) << "value " << v;
    }
  });
}

TEST(Relations, EndWhenTheVisitorOrTheBudgetSaysSo) {
  Method m({0, 0, 0});
  m.relation(1, 0, fb::RelationKind::VIEW).relation(2, 0, fb::RelationKind::VIEW);
  m.relation(1, 2, fb::RelationKind::IN_PLACE);
  Built built(m);
  int visits = 0;
  const auto count = [&](const fb::Relation&) { return ++visits < 1; };
  EXPECT_TRUE(for_each_relation(built.graph, 1, count));
  EXPECT_EQ(visits, 1);
  built.graph.budget = 1;
  EXPECT_FALSE(for_each_relation(built.graph, 1, [](const fb::Relation&) { return true; }));
}

/// Relus in place, one over the other; `order` of the relations as they are written.
Method chain_in_place(int32_t length, const std::vector<int32_t>& order) {
  Method m(std::vector<int64_t>(static_cast<size_t>(length) + 1, 0));
  for (int32_t i = 0; i < length; ++i) m.relu(i + 1, i);
  for (const int32_t i : order) m.relation(i + 1, i, fb::RelationKind::IN_PLACE);
  return m.recorded().outputs({length});
}

// Reading all relations for each result in place took so many steps that sound programs were refused.
TEST(Relations, ManyResultsInPlaceAreCheckedInLinearTime) {
  constexpr int32_t kLength = 20'000;
  std::vector<int32_t> order(kLength);
  for (int32_t i = 0; i < kLength; ++i) order[i] = i;
  EXPECT_EQ(judge(chain_in_place(kLength, order)), "sound");
  std::reverse(order.begin(), order.end());
  EXPECT_EQ(judge(chain_in_place(kLength, order)), "sound");
  order.erase(order.begin() + kLength / 2);
  EXPECT_EQ(
      gist(judge(chain_in_place(kLength, order))),
      "instructions[9999]: it writes value 10000 over bytes of value 9999, which it reads; the operator does not allow "
      "that");
}

// A cache to which each step adds a part: each whole is a part of the next.
TEST(Relations, GrowingWholesAreCheckedPartByPart) {
  constexpr int32_t kSteps = 1500;
  const auto method = [](int32_t spoilt) {
    Method m(std::vector<int64_t>{16 * kSteps});
    m.desc.arenas = {{16 * (kSteps + 2), Device()}};
    int32_t whole = -1;
    for (int32_t i = 0; i < kSteps; ++i) {
      const int32_t part = static_cast<int32_t>(m.desc.values.size());
      m.desc.values.emplace_back(tensor({4}, 16 * (i == spoilt ? i - 1 : i)));
      m.op(part, {0});
      m.desc.values.emplace_back(tensor({4 * (i + 1)}, 0));
      m.relation(part, part + 1, fb::RelationKind::VIEW);
      if (whole >= 0) m.relation(whole, part + 1, fb::RelationKind::VIEW);
      whole = part + 1;
      m.desc.values.emplace_back(tensor({4}, 16 * (kSteps + 1)));
      m.op(part + 2, {whole});
    }
    return m.outputs({whole});
  };
  EXPECT_EQ(judge(method(-1)), "sound");
  EXPECT_NE(judge(method(700)), "sound");
}

TEST(Relations, TooManyAreRefusedBeforeMemoryIsTaken) {
  plan_check::PlanSize size;
  size.relations = 60'000;
  EXPECT_TRUE(plan_check::too_many_relations(size, 1000));
  EXPECT_FALSE(plan_check::too_many_relations(size, 100'000));
}

}  // namespace
}  // namespace berth::format
