#include "compiler/ir/operators.h"

#include <gtest/gtest.h>

namespace berth::ir {
namespace {

template <typename F>
void for_each_operator(F&& f) {
  for (uint16_t id = 0; id < static_cast<uint16_t>(OpId::kCount); ++id) f(operator_of(static_cast<OpId>(id)));
}

bool is_named(const Operator& op, std::string_view prefix) { return op.name.substr(0, prefix.size()) == prefix; }

TEST(OperatorTable, RowsAreFoundById) {
  for_each_operator([](const Operator& op) {
    EXPECT_EQ(operator_of(op.id).functional_name, op.functional_name);
    EXPECT_EQ(find_operator(op.functional_name), &op) << op.functional_name;
  });
}

TEST(OperatorTable, FusedOperatorsAreBerthsOwn) {
  int fused = 0;
  for_each_operator([&](const Operator& op) {
    if (!op.is_fused()) return;
    ++fused;
    EXPECT_TRUE(is_named(op, "berth::")) << op.functional_name;
    EXPECT_NE(op.infer, nullptr) << op.functional_name;
  });
  EXPECT_GE(fused, 7);
}

TEST(OperatorTable, OnlyDeviceCopiesAndFusedOperatorsOfBerthHaveAKernel) {
  for_each_operator([](const Operator& op) {
    if (is_named(op, "et_copy::")) {
      EXPECT_TRUE(op.is_device_copy()) << op.functional_name;
    }
    if (is_named(op, "berth::") && op.infer != nullptr) {
      EXPECT_TRUE(op.is_fused() || op.is_device_copy()) << op.functional_name << " needs a role";
    }
  });
}

// What only moves elements takes those of any type; what is a view moves them.
TEST(OperatorTable, ViewsMoveElements) {
  for_each_operator([](const Operator& op) {
    if (op.view == ViewKind::kNone) return;
    EXPECT_EQ(op.elements, ElementUse::kMoves) << op.functional_name;
  });
}

TEST(OperatorTable, TheOperatorsOfTheIrAloneArePlain) {
  for (OpId id : {OpId::if_, OpId::while_, OpId::scan, OpId::delegate, OpId::state_read, OpId::state_write}) {
    const Operator& op = operator_of(id);
    EXPECT_EQ(op.role, OperatorRole::kPlain) << op.functional_name;
    EXPECT_EQ(op.elements, ElementUse::kMoves) << op.functional_name;
    EXPECT_FALSE(op.layout_agnostic || op.sized_by_contents) << op.functional_name;
  }
}

}  // namespace
}  // namespace berth::ir
