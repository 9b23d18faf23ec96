// Fears about elements that kernels do not compute with: that a program is made which cannot run, or one refused that
// can.
#include "compiler/passes/check_elements.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

// One operator a line, of elements T: what PyTorch has such operators for, and a few of each family that computes.
constexpr const char* kCalls[] = {
    "%y: T[2,3] = aten::add.Tensor(%x, %x)",
    "%y: T[2,3] = aten::sub.Tensor(%x, %x)",
    "%y: T[2,3] = aten::mul.Tensor(%x, %x)",
    "%y: T[2,3] = aten::div.Tensor(%x, %x)",
    "%y: T[2,3] = aten::add.Scalar(%x, 1.0)",
    "%y: T[2,3] = aten::mul.Scalar(%x, 2.0)",
    "%y: T[2,3] = aten::neg(%x)",
    "%y: T[2,3] = aten::relu(%x)",
    "%y: T[2,3] = aten::exp(%x)",
    "%y: T[2,3] = aten::tanh(%x)",
    "%y: T[2,2] = aten::mm(%x, %t)",
    "%y: T[1,2,2] = aten::bmm(%b, %bt)",
    "%y: T[2,2] = aten::addmm(%s, %x, %t)",
    "%y: T[2] = aten::sum.dim_IntList(%x, [1], false)",
    "%y: T[2] = aten::mean.dim(%x, [1], false)",
    "%y: T[2,3] = aten::cumsum(%x, 1)",
    "%y: T[2,3] = aten::_softmax(%x, 1, false)",
    "%y: bool[2,3] = aten::eq.Tensor(%x, %x)",
    "%y: bool[2,3] = aten::isnan(%x)",
    "%y: bool[2,3] = aten::logical_not(%x)",
    "%y: T[2,3] = aten::where.self(%m, %x, %x)",
    "%y: T[2,3] = aten::masked_fill.Scalar(%x, %m, 0.0)",
    "%y: T[2,3] = aten::full([2, 3], 1.0, T)",
    "%y: T[2,3] = aten::zeros([2, 3], T)",
    "%y: T[2,3] = aten::ones([2, 3], T)",
    "%y: T[] = aten::scalar_tensor(1.0, T)",
    "%y: T[2,3] = aten::full_like(%x, 1.0)",
    "%y: T[2,3] = aten::fill.Scalar(%x, 1.0)",
    "%y: T[2,3] = aten::fill.Tensor(%x, %s)",
    "%y: T[2,5] = aten::constant_pad_nd(%x, [1, 1])",
    "%y: T[2,3] = aten::scatter.value(%x, 1, %i, 1.0)",
    "%y: T[2,3] = aten::scatter.src(%x, 1, %i, %x)",
    "%y: T[2,3] = aten::scatter_add(%x, 1, %i, %x)",
    "%y: f32[2,3] = aten::_to_copy(%x, false, none, f32)",
    "%y: T[2,3] = aten::_to_copy(%f, false, none, T)",
    "%y: T[2,3] = aten::_to_copy(%x, false, none, T)",
    "%y: T[2,3] = aten::clone(%x)",
    "%y: T[2,3] = aten::alias_copy(%x)",
    "%y: T[2,3] = aten::detach_copy(%x)",
    "%y: T[2,3] = aten::lift_fresh_copy(%x)",
    "%y: T[3,2] = aten::view_copy(%x, [3, 2])",
    "%y: T[2,3,1] = aten::unsqueeze_copy(%x, -1)",
    "%y: T[2,3] = aten::squeeze_copy.dim(%b, 0)",
    "%y: T[4,2,3] = aten::expand_copy(%b, [4, 2, 3])",
    "%y: T[4,3] = aten::repeat(%x, [2, 1])",
    "%y: T[3,2] = aten::permute_copy(%x, [1, 0])",
    "%y: T[3,2] = aten::t_copy(%x)",
    "%y: T[3,2] = aten::transpose_copy.int(%x, 0, 1)",
    "%y: T[2,2] = aten::as_strided_copy(%x, [2, 2], [1, 2], 1)",
    "%y: T[2,2,2] = aten::unfold_copy(%x, 1, 2, 1)",
    "%y: T[2] = aten::diagonal_copy(%x)",
    "%y: T[2,2] = aten::narrow_copy(%x, 1, 1, 2)",
    "%y: T[2] = aten::select_copy.int(%x, 1, -1)",
    "%y: T[2,2] = aten::slice_copy.Tensor(%x, 1, 1, 3, 1)",
    "%y: T[2,3] = aten::slice_scatter(%x, %x, 0, 0, 2, 1)",
    "%y: T[1,3], %z: T[1,3] = aten::split_copy.Tensor(%x, 1)",
    "%y: T[3], %z: T[3] = aten::unbind_copy.int(%x, 0)",
    "%y: T[4,3] = aten::cat([%x, %x])",
    "%y: T[2,2,3] = aten::stack([%x, %x])",
    "%y: T[2,3] = aten::flip(%x, [0])",
    "%y: T[2,3] = aten::roll(%x, [1], [1])",
    "%y: T[2,3] = aten::tril(%x, 0)",
    "%y: T[2,5] = aten::reflection_pad1d(%x, [1, 1])",
    "%y: T[2,5] = aten::replication_pad1d(%x, [1, 1])",
    "%y: T[2,3,3] = aten::embedding(%x, %i)",
    "%y: T[2,3] = aten::gather(%x, 1, %i)",
    "%y: T[2,2] = aten::index_select(%x, 1, %i1)",
    "%y: T[2,3] = aten::index.Tensor(%x, [%i1])",
    "%y: T[2,3] = aten::index_put(%x, [%i1], %x)",
    "%y: T[2,3] = aten::masked_scatter(%x, %m, %x)",
};

std::string model_of(const std::string& call, const std::string& type) {
  return filled(R"(
    method f(
      %x: $type[2,3], %t: $type[3,2], %b: $type[1,2,3], %bt: $type[1,3,2], %s: $type[],
      %f: f32[2,3], %m: bool[2,3], %i: i64[2,3], %i1: i64[2]) {
      $call
      return %y
    })",
                {{"call", std::regex_replace(call, std::regex("\\bT\\b"), type)}, {"type", type}});
}

std::vector<eval::Item> zeros(const ir::Module& module, const ir::Method& method) {
  std::vector<eval::Item> inputs;
  for (ir::ValueId id : method.body.inputs) {
    const ir::TensorType& type = method.tensor(id);
    eval::Array array;
    array.dtype = type.dtype;
    for (const ir::Dim& dim : type.shape) array.sizes.push_back(static_cast<int32_t>(module.symbols.upper(dim)));
    array.bytes.resize(array.numel() * element_size(type.dtype));
    inputs.emplace_back(std::move(array));
  }
  return inputs;
}

class CheckElementsTest : public testing::TestWithParam<const char*> {};

TEST_P(CheckElementsTest, AreRefusedExactlyWhereNoKernelTakesThem) {
  int refused = 0;
  int taken = 0;
  for (const std::string call : kCalls) {
    auto module = ir::parse(model_of(call, GetParam()), "test");
    // A shape rule that gives another type: there is no such call.
    if (!module.ok()) {
      EXPECT_NE(module.error().message.find("expected"), std::string::npos) << module.error().text();
      continue;
    }
    const auto checked = check_elements(*module, {});
    const auto run = eval::evaluate(*module, module->methods[0], zeros(*module, module->methods[0]));
    EXPECT_EQ(checked.ok(), run.ok()) << call << "\n" << (run.ok() ? "runs" : run.error().text());
    ++(run.ok() ? taken : refused);
    EXPECT_TRUE(checked.ok() || checked.error().code == Error::kNotSupported);
  }
  const bool real = std::string(GetParam()) == "f16" || std::string(GetParam()) == "f64";
  EXPECT_GT(taken, 30);
  EXPECT_TRUE(real ? refused == 0 : refused > 10) << refused;
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, CheckElementsTest,
                         testing::Values("f16", "f64", "c64", "c128", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1", "i4",
                                         "u2", "bits16"));

TEST(CheckElements, ErrorsNameValueAndNode) {
  ir::Module module = parsed(R"(
method forward(%x: f32[2,3]) {
  %small: f8e4m3[2,3] = aten::_to_copy(%x, false, none, f8e4m3)
  %y: f8e4m3[2,3] = aten::neg(%small) "neg_1"
  return %y
}
)");
  const auto checked = check_elements(module, {});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Error::kNotSupported);
  EXPECT_EQ(checked.error().text(),
            "method forward: \"neg_1\" aten::neg: has no kernel for elements of f8e4m3, which %small has; Berth only "
            "moves and converts them: convert to f16, bf16 or f32 before");
}

TEST(CheckElements, BranchesAreChecked) {
  ir::Module module = parsed(R"(
method forward(%p: bool, %x: c64[2]) {
  %y: c64[2] = berth::if(%p) {
    ()
    %e: c64[2] = aten::neg(%x)
    yield %e
  } {
    ()
    yield %x
  }
  return %y
}
)");
  const auto checked = check_elements(module, {});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text(),
            "method forward: aten::neg: has no kernel for elements of c64, which %x has; write it with real and "
            "imaginary parts in the model");
}

}  // namespace
}  // namespace berth::passes
