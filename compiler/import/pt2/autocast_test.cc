// What operators give within a region of torch.autocast("cpu", dtype=torch.bfloat16). The types are PyTorch 2.15's.
#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

constexpr int kSchemaI32 = 4;
constexpr int kSchemaF16 = 6;
constexpr int kSchemaF64 = 8;
constexpr int kSchemaBF16 = 13;

using Arguments = std::vector<std::pair<std::string, json>>;
using Sizes = std::vector<std::vector<json>>;

/// A region with one node, whose tensors "a", "b" and so on are of `dtype`.
TestProgram region_of(const std::string& target, const Arguments& arguments, const Sizes& inputs, int dtype,
                      const json& type = element_type(kSchemaBF16)) {
  TestGraph region;
  TestProgram p;
  Arguments outer = {{"", text("cpu")}, {"", type}, {"", truth(true)}, {"", truth(false)}, {"", {}}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    region.placeholder(name, inputs[i], dtype);
    p.input(name + "_outer", inputs[i], dtype);
    outer.emplace_back("", tensor(name + "_outer"));
  }
  region.node(target, arguments, "r", {}, dtype);
  region.result(tensor("r"));
  outer[4].second = region.as_argument();
  p.node("higher_order.wrap_with_autocast", outer, json::array({tensor("y")}));
  p.output("y");
  return p;
}

/// The type of the region's result.
DType gives(const std::string& target, const Arguments& arguments, const Sizes& inputs, int dtype = kF32) {
  const auto module = region_of(target, arguments, inputs, dtype).import();
  EXPECT_TRUE(module.ok()) << target << ": " << module.error().text();
  if (!module.ok()) return DType::kBool;
  const ir::Method& method = module->methods[0];
  const ir::ValueId* result = std::get_if<ir::ValueId>(&method.body.outputs[0]);
  const ir::TensorType* type = result != nullptr ? method.value(*result).tensor() : nullptr;
  return type != nullptr ? type->dtype : DType::kBool;
}

const Arguments kSelfOther = {{"self", tensor("a")}, {"other", tensor("b")}};

TEST(Autocast, ProductsByOtherNamesAreNarrow) {
  EXPECT_EQ(gives("aten.prelu.default", {{"self", tensor("a")}, {"weight", tensor("b")}}, {{2, 3}, {1}}), DType::kBF16);
  EXPECT_EQ(gives("aten.linalg_matmul.default", kSelfOther, {{3, 3}, {3, 3}}), DType::kBF16);
  const Arguments contract = {
      {"self", tensor("a")}, {"other", tensor("b")}, {"dims_self", integers({1})}, {"dims_other", integers({0})}};
  EXPECT_EQ(gives("aten.tensordot.default", contract, {{3, 3}, {3, 3}}), DType::kBF16);
}

// The fear: what PyTorch computes by a dot product or by no product at all is rounded.
TEST(Autocast, InnerProductsOfVectorsAndFirstPowersStay) {
  EXPECT_EQ(gives("aten.inner.default", kSelfOther, {{3, 3}, {3, 3}}), DType::kBF16);
  EXPECT_EQ(gives("aten.inner.default", kSelfOther, {{3, 3}, {3}}), DType::kBF16);
  EXPECT_EQ(gives("aten.inner.default", kSelfOther, {{3}, {3}}), DType::kF32);
  EXPECT_EQ(gives("aten.inner.default", kSelfOther, {{3, 3}, {}}), DType::kF32);
  for (const char* name : {"aten.matrix_power.default", "aten.linalg_matrix_power.default"}) {
    EXPECT_EQ(gives(name, {{"self", tensor("a")}, {"n", integer(3)}}, {{3, 3}}), DType::kBF16);
    EXPECT_EQ(gives(name, {{"self", tensor("a")}, {"n", integer(1)}}, {{3, 3}}), DType::kF32);
  }
}

TEST(Autocast, EinsumIsNarrowWhereItContracts) {
  const auto einsum = [](const std::string& equation, const Sizes& inputs) {
    const json all = inputs.size() == 1 ? tensor_list({"a"}) : tensor_list({"a", "b"});
    return gives("aten.einsum.default", {{"equation", text(equation)}, {"tensors", all}}, inputs);
  };
  for (const char* equation : {"ij,jk->ik", "ij,ij->i", "ij,ij->", "ij,jk", "...j,jk->...k"}) {
    EXPECT_EQ(einsum(equation, {{3, 3}, {3, 3}}), DType::kBF16) << equation;
  }
  for (const char* equation : {"ij,ij->ij", "ij,kl->ik", "ii,ij->ij"}) {
    EXPECT_EQ(einsum(equation, {{3, 3}, {3, 3}}), DType::kF32) << equation;
  }
  EXPECT_EQ(einsum("i,j->ij", {{3}, {3}}), DType::kF32);
  for (const char* equation : {"ij->ji", "ii->i", "ij->i"}) {
    EXPECT_EQ(einsum(equation, {{3, 3}}), DType::kF32) << equation;
  }
  EXPECT_EQ(einsum("ij,jk->ik", {{3, 1}, {1, 3}}), DType::kF32);  // a sum over one element is a product
}

// The fear: products of three, of which PyTorch rounds what some of them read, are rounded elsewhere.
TEST(Autocast, EinsumOfThreeIsRefused) {
  const Arguments three = {{"equation", text("ij,jk,k->i")}, {"tensors", tensor_list({"a", "b", "c"})}};
  EXPECT_TRUE(says(failure_of(region_of("aten.einsum.default", three, {{3, 3}, {3, 3}, {3}}, kF32).import()),
                   "run_decompositions()"));
  const Arguments none = {{"equation", text("i,j,k->ijk")}, {"tensors", tensor_list({"a", "b", "c"})}};
  EXPECT_EQ(gives("aten.einsum.default", none, {{3}, {3}, {3}}), DType::kF32);
}

TEST(Autocast, RecurrentLayersAreRefused) {
  for (const char* name : {"lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input", "lstm_cell.default",
                           "gru_cell.default", "rnn_tanh_cell.default", "rnn_relu_cell.default"}) {
    const TestProgram p = region_of(std::string("aten.") + name, {{"input", tensor("a")}}, {{2, 3}}, kF32);
    EXPECT_TRUE(says(failure_of(p.import()), "run_decompositions()")) << name;
  }
}

TEST(Autocast, WhatNeedsF32GivesIt) {
  const auto of = [](const std::string& target, Arguments more, std::vector<json> sizes) {
    more.insert(more.begin(), {"self", tensor("a")});
    return gives("aten." + target, more, {std::move(sizes)}, kSchemaBF16);
  };
  const std::vector<json> volume = {1, 2, 4, 4, 4};
  EXPECT_EQ(of("max_pool3d.default", {{"kernel_size", integers({2, 2, 2})}}, volume), DType::kF32);
  EXPECT_EQ(of("max_pool2d.default", {{"kernel_size", integers({2, 2})}}, {1, 2, 4, 4}), DType::kBF16);
  EXPECT_EQ(of("adaptive_avg_pool3d.default", {{"output_size", integers({2, 2, 2})}}, volume), DType::kF32);
  EXPECT_EQ(of("reflection_pad1d.default", {{"padding", integers({1, 1})}}, {1, 2, 4}), DType::kF32);
  EXPECT_EQ(of("replication_pad3d.default", {{"padding", integers({1, 1, 1, 1, 1, 1})}}, volume), DType::kF32);
  EXPECT_EQ(of("inverse.default", {}, {2, 2}), DType::kF32);
  EXPECT_EQ(gives("aten.linalg_inv.default", {{"A", tensor("a")}}, {{2, 2}}, kSchemaBF16), DType::kF32);
}

// F.pad() with a mode; the reflection of volumes alone is not among PyTorch's.
TEST(Autocast, PaddingByItsModeAndRank) {
  const auto pad = [](const char* mode, const std::vector<int64_t>& sides, std::vector<json> sizes) {
    return gives("aten.pad.default", {{"self", tensor("a")}, {"pad", integers(sides)}, {"mode", text(mode)}},
                 {std::move(sizes)}, kSchemaBF16);
  };
  for (const char* mode : {"reflect", "replicate"}) {
    EXPECT_EQ(pad(mode, {1, 1}, {1, 2, 4}), DType::kF32);
    EXPECT_EQ(pad(mode, {1, 1, 1, 1}, {1, 2, 4, 4}), DType::kF32);
  }
  EXPECT_EQ(pad("replicate", {1, 1, 1, 1, 1, 1}, {1, 2, 4, 4, 4}), DType::kF32);
  EXPECT_EQ(pad("reflect", {1, 1, 1, 1, 1, 1}, {1, 2, 4, 4, 4}), DType::kBF16);
  EXPECT_EQ(pad("constant", {1, 1}, {1, 2, 4}), DType::kBF16);
  EXPECT_EQ(pad("circular", {1, 1}, {1, 2, 4}), DType::kBF16);
}

// convolution is what conv2d becomes below autocast; vectors have products of their own.
TEST(Autocast, WhatPyTorchDoesNotListStays) {
  const Arguments convolution = {{"input", tensor("a")},        {"weight", tensor("b")},
                                 {"bias", nothing()},           {"stride", integers({1, 1})},
                                 {"padding", integers({0, 0})}, {"dilation", integers({1, 1})},
                                 {"transposed", truth(false)},  {"output_padding", integers({0, 0})},
                                 {"groups", integer(1)}};
  EXPECT_EQ(gives("aten.convolution.default", convolution, {{1, 2, 4, 4}, {2, 2, 3, 3}}), DType::kF32);
  EXPECT_EQ(gives("aten.mv.default", {{"self", tensor("a")}, {"vec", tensor("b")}}, {{3, 3}, {3}}), DType::kF32);
}

TEST(Autocast, RegionsAreOf16Bits) {
  const Arguments product = {{"self", tensor("a")}, {"mat2", tensor("b")}};
  const auto of = [&](const json& type) { return region_of("aten.mm.default", product, {{2, 2}, {2, 2}}, kF32, type); };
  for (const json& type : {element_type(kSchemaI32), element_type(kSchemaF64), element_type(kF32), integer(15),
                           sym_int("s77"), text("bfloat16")}) {
    EXPECT_TRUE(says(failure_of(of(type).import()), "torch.bfloat16 or torch.float16")) << type.dump();
  }
  EXPECT_TRUE(of(element_type(kSchemaF16)).import().ok());
  EXPECT_TRUE(of(nothing()).import().ok());
}

}  // namespace
}  // namespace berth::pt2
