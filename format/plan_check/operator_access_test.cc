// What a name says about a call; the expected numbers are read off the operators' schemas.
#include "format/plan_check/operator_access.h"

#include <gtest/gtest.h>

namespace berth::format {
namespace {

OperatorAccess access(const char* name, const char* overload) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name_text = builder.CreateString(name);
  const auto overload_text = builder.CreateString(overload);
  builder.Finish(fb::CreateOperator(builder, name_text, overload_text));
  return operator_access(*flatbuffers::GetRoot<fb::Operator>(builder.GetBufferPointer()));
}

TEST(OperatorAccess, RowsAreFoundByTheirOutVariant) {
  const OperatorAccess add = access("aten::add", "out");
  EXPECT_TRUE(add.known);
  EXPECT_EQ(add.inputs, 3) << "self, other, alpha";
  EXPECT_EQ(add.in_place, 0b11u) << "either tensor";
  const OperatorAccess convolution = access("aten::convolution", "out");
  EXPECT_EQ(convolution.inputs, 9);
  EXPECT_EQ(convolution.in_place, 0u);
  EXPECT_EQ(access("aten::cat", "out").inputs, 2);
  EXPECT_EQ(access("aten::native_layer_norm", "out").inputs, 5);
}

TEST(OperatorAccess, ArgumentsThatTheOutVariantLacksAreNotCounted) {
  EXPECT_EQ(access("aten::full", "out").inputs, 2) << "size, fill_value; not dtype";
  EXPECT_EQ(access("dim_order_ops::_to_dim_order_copy", "out").inputs, 3);
}

TEST(OperatorAccess, FunctionalAndUnknownNamesAreNotFound) {
  EXPECT_FALSE(access("aten::add", "Tensor").known);
  EXPECT_FALSE(access("aten::add", "").known);
  EXPECT_FALSE(access("add", "out").known);
  const OperatorAccess stranger = access("vendor::thing", "out");
  EXPECT_FALSE(stranger.known);
  EXPECT_EQ(stranger.inputs, -1);
  EXPECT_EQ(stranger.in_place, 0u);
}

TEST(OperatorAccess, InputsThatAreWrittenBesideResultsAreChanged) {
  EXPECT_EQ(access("aten::_native_batch_norm_legit", "out").changed, 0b11000u) << "running mean and variance";
  EXPECT_EQ(access("aten::_native_batch_norm_legit", "no_stats_out").changed, 0u);
  EXPECT_EQ(access("aten::index_put_", "").changed, 0u) << "self is the result";
  EXPECT_EQ(access("aten::copy_", "").changed, 0u) << "self is the result";
}

TEST(OperatorAccess, CopiesOverwrite) {
  EXPECT_TRUE(overwrites_first("aten::copy_"));
  EXPECT_TRUE(overwrites_first("executorch_prim::et_copy_index.tensor"));
  EXPECT_TRUE(overwrites_first("berth::row.write"));
  for (const char* other :
       {"aten::copy.out", "aten::index_put_", "aten::add.out", "aten::copy_.out", "berth::row.read", ""}) {
    EXPECT_FALSE(overwrites_first(other)) << other;
  }
}

TEST(OperatorAccess, ExceptionsAreNamed) {
  EXPECT_EQ(access("executorch_prim::et_view", "default").kind, OperatorAccess::Kind::kView);
  EXPECT_EQ(access("executorch_prim::et_copy_index", "tensor").kind, OperatorAccess::Kind::kCopyIndex);
  EXPECT_EQ(access("berth::row", "read").kind, OperatorAccess::Kind::kView);
  EXPECT_EQ(access("berth::row", "write").kind, OperatorAccess::Kind::kRow);
  EXPECT_TRUE(access("berth::row", "write").known);
  EXPECT_TRUE(access("aten::copy_", "").replaces_self);
  EXPECT_TRUE(access("aten::sym_size", "int").known);
  EXPECT_EQ(access("llama::update_cache", "out").changed, 0b10u);
}

}  // namespace
}  // namespace berth::format
