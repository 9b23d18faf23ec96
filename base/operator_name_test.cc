#include "base/operator_name.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(OwnOperatorName, NamesOfModelsAreTaken) {
  for (const char* name : {"my::gain", "my::gain.Tensor", "com.acme.ops::Gain", "_x::_", "a1::b2.c3"}) {
    EXPECT_EQ(own_operator_problem(name), "") << name;
  }
}

TEST(OwnOperatorName, WhatCannotBeANameIsRefused) {
  const std::string lone_zero("my::ga\0in", 9);
  for (const std::string& name :
       {std::string(), std::string("gain"), std::string("::gain"), std::string("my::"), std::string("my::gain."),
        std::string("my::gain.a.b"), std::string("my:gain"), std::string("my::ga in"), std::string("my::ga%sin"),
        std::string("my::a::b"), std::string("1my::gain"), std::string(".my::gain"), std::string("my::g\xc3\xa4in"),
        lone_zero, "my::" + std::string(200, 'x')}) {
    EXPECT_NE(own_operator_problem(name), "") << name;
  }
}

TEST(OwnOperatorName, OthersNameSpacesAreNotOnesOwn) {
  for (const char* name : {"aten::add", "berth::conv", "executorch_prim::et_view", "et_copy::_h2d_copy",
                           "ai.onnx::Relu", "prims::view_of", "dim_order_ops::_clone_dim_order"}) {
    EXPECT_NE(own_operator_problem(name).find("is not one's own"), std::string::npos) << name;
  }
  EXPECT_EQ(own_operator_problem("atenlike::add"), "");
}

}  // namespace
}  // namespace berth
