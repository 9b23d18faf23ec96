#include "compiler/ir/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>

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
  EXPECT_GE(fused, 9);
}

// What neither ATen nor another operator's lowering has, models of ONNX bring.
TEST(OperatorTable, OnlyDeviceCopiesFusedOperatorsAndThoseOfOnnxOfBerthHaveAKernel) {
  constexpr OpId kOfOnnx[] = {OpId::bit_cast_out, OpId::non_max_suppression_out, OpId::refuse_out, OpId::roi_align_out,
                              OpId::unique_out};
  for_each_operator([&](const Operator& op) {
    if (std::find(std::begin(kOfOnnx), std::end(kOfOnnx), op.id) != std::end(kOfOnnx)) return;
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

TEST(OperatorTable, ArgumentsThatAViewNamesAreWhatItSays) {
  for_each_operator([](const Operator& op) {
    if (op.view == ViewKind::kNone) return;
    ASSERT_FALSE(op.parameters.empty()) << op.functional_name;
    const bool joins = op.view == ViewKind::kConcat;
    EXPECT_EQ(op.parameters[0].type, joins ? ParameterType::kTensorList : ParameterType::kTensor) << op.functional_name;
    EXPECT_EQ(op.outputs.size(), 1u) << op.functional_name;
    if (op.may_be_view() || joins) {
      EXPECT_FALSE(op.output_is_list) << op.functional_name;
    }
    if (!op.joins_or_cuts()) return;
    ASSERT_LT(op.dim_argument, op.parameters.size()) << op.functional_name;
    EXPECT_EQ(op.parameters[op.dim_argument].name, "dim") << op.functional_name;
    EXPECT_EQ(op.parameters[op.dim_argument].type, ParameterType::kInt) << op.functional_name;
  });
}

// What a name or a shape rule says and a column does not was left open when the row was copied from another.
TEST(OperatorTable, NamesAndShapeRulesAgreeWithTheColumns) {
  const ShapeRule dequantize = find_operator("quantized_decomposed::dequantize_per_tensor")->infer;
  const ShapeRule split = find_operator("aten::split_copy.Tensor")->infer;
  const ShapeRule slice = find_operator("aten::slice_copy.Tensor")->infer;
  const ShapeRule cat = find_operator("aten::cat")->infer;
  const ShapeRule permute = find_operator("aten::permute_copy")->infer;
  const ShapeRule view = find_operator("aten::view_copy")->infer;
  for_each_operator([&](const Operator& op) {
    EXPECT_EQ(op.is_dequantization(), op.infer == dequantize && op.infer != nullptr) << op.functional_name;
    if (op.infer == split || op.infer == slice) {
      EXPECT_EQ(op.view, ViewKind::kPart) << op.functional_name;
    }
    if (op.infer == cat) {
      EXPECT_EQ(op.view, ViewKind::kConcat) << op.functional_name;
    }
    if (op.infer == permute) {
      EXPECT_EQ(op.view, ViewKind::kReorder) << op.functional_name;
    }
    if (op.infer == view) {
      EXPECT_TRUE(op.is_reshape()) << op.functional_name;
    }
    EXPECT_EQ(op.role == OperatorRole::kOverwrites, op.writes_self && op.infer == find_operator("aten::copy")->infer)
        << op.functional_name;
  });
}

TEST(OperatorTable, EachDirectionHasACopy) {
  const auto ends = [](const char* name) {
    const Operator& op = *find_operator(name);
    return std::make_pair(op.copies_from_device(), op.copies_to_device());
  };
  EXPECT_EQ(ends("et_copy::_h2d_copy"), std::make_pair(false, true));
  EXPECT_EQ(ends("et_copy::_d2h_copy"), std::make_pair(true, false));
  EXPECT_EQ(ends("berth::_d2d_copy"), std::make_pair(true, true));
  EXPECT_EQ(ends("aten::copy"), std::make_pair(false, false));
}

TEST(OperatorTable, TheOperatorsOfTheIrAloneArePlain) {
  for (OpId id : {OpId::if_, OpId::while_, OpId::scan, OpId::delegate, OpId::state_read, OpId::state_write}) {
    const Operator& op = operator_of(id);
    EXPECT_EQ(op.role, OperatorRole::kPlain) << op.functional_name;
    EXPECT_EQ(op.elements, ElementUse::kMoves) << op.functional_name;
    EXPECT_EQ(op.view, ViewKind::kNone) << op.functional_name;
    EXPECT_FALSE(op.layout_agnostic || op.sized_by_contents) << op.functional_name;
  }
}

}  // namespace
}  // namespace berth::ir
