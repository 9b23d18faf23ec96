#include "tools/tune_programs.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/verify.h"
#include "compiler/placement/operator_work.h"

namespace berth::tool {
namespace {

// A rate is work by time, and the work of a model's operators is what the compiler says it is.
TEST(TunePrograms, SayTheWorkThatTheCompilerReckonsWith) {
  std::vector<TunedOperator> all = tuned_operators();
  all.push_back(launched_operator());
  for (const TunedOperator& op : all) {
    for (const int length : {1, 9}) {
      auto module = ir::parse(chain_of(op, length), "t");
      ASSERT_TRUE(module.ok()) << module.error().text() << chain_of(op, length);
      ASSERT_TRUE(ir::verify(*module).ok());
      const ir::Method& method = module->methods[0];
      int count = 0;
      for (const ir::NodeId id : method.body.nodes) {
        const placement::Work work = placement::work_at(*module, method, method.node(id));
        EXPECT_EQ(work.kind, op.kind);
        EXPECT_EQ(work.operations > 0 ? work.operations : work.bytes, op.work) << chain_of(op, length);
        ++count;
      }
      EXPECT_EQ(count, length);
    }
  }
}

TEST(TunePrograms, EachKindHasRisingSizes) {
  for (const placement::WorkKind kind : placement::work_kinds()) {
    double before = 0;
    int sizes = 0;
    for (const TunedOperator& op : tuned_operators()) {
      if (op.kind != kind) continue;
      EXPECT_GT(op.work, before);
      before = op.work;
      ++sizes;
    }
    EXPECT_GE(sizes, 2) << to_string(kind);
  }
}

}  // namespace
}  // namespace berth::tool
