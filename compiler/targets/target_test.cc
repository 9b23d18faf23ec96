#include "compiler/targets/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/parse.h"
#include "compiler/targets/own/cuda_target.h"

namespace berth::targets {
namespace {

TEST(Target, TargetsAreParsedInOrderOfPreference) {
  const auto targets = parse_targets("cuda:1,SIM,cpu,portable");
  ASSERT_TRUE(targets.ok()) << targets.error().text();
  ASSERT_EQ(targets->size(), 4u);
  EXPECT_EQ((*targets)[0].name, "cuda:1");
  EXPECT_EQ((*targets)[0].backend, "berth.cuda");
  EXPECT_EQ((*targets)[0].device, Device(DeviceType::kCuda, 1));
  EXPECT_EQ((*targets)[1].name, "sim:0");
  EXPECT_EQ((*targets)[1].backend, "berth.sim");
  EXPECT_EQ((*targets)[2].name, "cpu");
  EXPECT_EQ((*targets)[2].backend, "berth.cpu");
  EXPECT_TRUE((*targets)[3].is_portable());
}

TEST(Target, TargetsAreParsedStrictly) {
  const auto error = [](const char* list) {
    const auto targets = parse_targets(list);
    return targets.ok() ? std::string() : targets.error().text();
  };
  EXPECT_EQ(error("tpu:0"), "target \"tpu:0\": expected one of portable, cpu, cuda:N, vulkan:N, sim:N");
  for (const char* bad : {"", "cpu,", ",cpu", "cuda:-1", "cuda:300", "cpu:1", "cuda: 0", "portable:0", "cpu cuda"}) {
    EXPECT_NE(error(bad), "") << bad;
  }
  EXPECT_EQ(error("cuda,cpu,CUDA:0"), "target \"cuda:0\": stands twice in the list");
}

Answer answer(const std::string& target, const std::string& text) {
  auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  auto targets = parse_targets(target);
  if (!module.ok() || !targets.ok()) return {Support::kOperator, ""};
  const ir::Method& method = module->methods[0];
  return *supports((*targets)[0], *module, method, ir::count_uses(method), ir::NodeId{0});
}

Support support(const std::string& target, const std::string& text) { return answer(target, text).support; }

TEST(Target, EveryTargetHasItsOperators) {
  EXPECT_EQ(support("sim:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  EXPECT_EQ(support("sim:0", R"(
    symbol s in [0, 2]
    method f(%x: f32[2]) {
      %y: i64[s,1] = aten::nonzero(%x)
      return %y
    })"),
            Support::kDataDependentSize);
  EXPECT_EQ(support("cpu", R"(
    method f() {
      %y: f32[2] = aten::rand([2])
      return %y
    })"),
            Support::kRandom);
  EXPECT_EQ(support("sim:0", R"(
    state @k: f32[2]
    method f() {
      %y: f32[2] = berth::state_read() @k
      return %y
    })"),
            Support::kState);
  EXPECT_EQ(support("sim:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2]@sim:0 = et_copy::_h2d_copy(%x)
      return %y
    })"),
            Support::kCopy);
  EXPECT_EQ(support("sim:0", R"(
    method f(%c: bool, %x: f32[2]) {
      %y: f32[2] = berth::if(%c) {
        ()
        yield %x
      } {
        ()
        yield %x
      }
      return %y
    })"),
            Support::kControlFlow);
  // A symbol that an input has is not a surprise.
  EXPECT_EQ(support("sim:0", R"(
    symbol n in [1, 4]
    method f(%x: f32[n,6]) {
      %y: f32[(n * 2),3] = aten::view_copy(%x, [(n * 2), 3])
      return %y
    })"),
            Support::kSupported);
}

TEST(Target, CudaHasItsOperators) {
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: i64[2]) {
      %y: i64[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  const auto refused = [](const std::string& text) {
    const Answer said = answer("cuda:0", text);
    EXPECT_EQ(said.support, Support::kRefused);
    return said.reason;
  };
  EXPECT_EQ(refused(R"(
    method f(%x: c64[2]) {
      %y: c64[2] = aten::neg(%x)
      return %y
    })"),
            "not for tensors of c64");
  EXPECT_EQ(refused(R"(
    method f(%x: f32[4], %i: i64[2], %v: f32[2]) {
      %y: f32[4] = aten::index_put(%x, [%i], %v, false)
      return %y
    })"),
            "it has no aten::index_put");
  EXPECT_EQ(refused(R"(
    method f(%x: i64[2,2]) {
      %y: i64[2,2] = aten::mm(%x, %x)
      return %y
    })"),
            "not for tensors of i64");
}

// Constants of one repeated element have no bytes in the compiler.
TEST(Target, CudaIsAskedAboutConstantsOfOneElement) {
  EXPECT_EQ(support("cuda:0", R"(
    const @c: f32[3] = splat<2.5>
    method f(%x: f32[3]) {
      %c: f32[3] = const @c
      %y: f32[3] = aten::mul.Tensor(%x, %c)
      return %y
    })"),
            Support::kSupported);
}

TEST(Target, CudaTakesNoMasksAsIndices) {
  berth_value values[2] = {};
  values[0].dtype = BERTH_F32;
  const int32_t self[] = {0};
  const int32_t indices[] = {-1, 1};
  berth_argument arguments[2] = {};
  arguments[0].kind = BERTH_ARG_VALUE;
  arguments[0].count = 1;
  arguments[0].values = self;
  arguments[1].kind = BERTH_ARG_VALUES;
  arguments[1].count = 2;
  arguments[1].values = indices;
  berth_node node = {};
  node.op = "aten::index.Tensor";
  node.arguments = arguments;
  node.num_arguments = 2;
  berth_graph graph = {};
  graph.values = values;
  graph.num_values = 2;
  own::CudaTarget cuda;
  const auto said = [&](int32_t dtype) {
    values[1].dtype = dtype;
    return cuda.takes(plugin::Node(&graph, &node), plugin::Specs(nullptr, 0)).message;
  };
  EXPECT_EQ(said(BERTH_I64), "");
  EXPECT_EQ(said(BERTH_I32), "");
  EXPECT_EQ(said(BERTH_BOOL), "not for tensors of bool");
  EXPECT_EQ(said(BERTH_U8), "not for tensors of u8");
}

// The kernel refuses more at run time, where it is too late to take another device.
TEST(Target, CudaTakesNoMoreIndicesThanItsKernel) {
  const auto said = [](const std::string& sizes, const std::string& indices) {
    return answer("cuda:0", "method f(%x: f32[2,2,2,2,2,2,2], %i: i64[3]) {\n  %y: f32[" + sizes +
                                "] = aten::index.Tensor(%x, [" + indices + "])\n  return %y\n}");
  };
  EXPECT_EQ(said("2,3", "none, %i, %i, %i, %i, %i, %i").support, Support::kSupported);
  EXPECT_EQ(said("3", "%i, %i, %i, %i, %i, %i, %i").reason, "more than 6 tensors of indices");
}

// The kernels' list has identifiers, the target is asked by name.
TEST(Target, CudaTakesTheOperatorsOfItsList) {
#define KERNEL(identifier) ir::OpId::identifier,
  std::vector<ir::OpId> list = {
#include "backends/cuda/operators.def"
  };
#undef KERNEL
  own::CudaTarget cuda;
  std::vector<ir::OpId> taken;
  for (uint16_t id = 0; id < static_cast<uint16_t>(ir::OpId::kCount); ++id) {
    const ir::Operator& op = ir::operator_of(static_cast<ir::OpId>(id));
    berth_node node = {};
    node.op = op.functional_name.c_str();
    const berth_graph graph = {};
    if (cuda.takes(plugin::Node(&graph, &node), plugin::Specs(nullptr, 0)).ok()) taken.push_back(op.id);
  }
  std::sort(list.begin(), list.end());
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, list);
  EXPECT_GT(list.size(), 150u);
}

// A loop would wait for the device in every turn.
TEST(Target, VulkanLeavesSingleWholeNumbersToTheHost) {
  const auto said = [](const std::string& inputs, const std::string& result, const std::string& call) {
    return answer("vulkan:0", "method f(" + inputs + ") {\n  %y: " + result + " = " + call + "\n  return %y\n}");
  };
  for (const std::string sizes : {"[]", "[1]", "[1,1]"}) {
    const std::string x = "%x: i64" + sizes;
    const std::string refusal = "the host is sooner done with single whole numbers, such as a loop counts with";
    EXPECT_EQ(said(x, "i64" + sizes, "aten::add.Scalar(%x, 1, 1)").reason, refusal) << sizes;
    EXPECT_EQ(said(x, "bool" + sizes, "aten::lt.Scalar(%x, 7)").reason, refusal) << sizes;
    EXPECT_EQ(said("%x: bool" + sizes, "bool" + sizes, "aten::logical_not(%x)").reason, refusal) << sizes;
    // What is as large and of floats would be copied all the same.
    EXPECT_EQ(said("%x: f32" + sizes, "f32" + sizes, "aten::add.Scalar(%x, 1, 1)").support, Support::kSupported);
    EXPECT_EQ(said("%x: f32" + sizes, "bool" + sizes, "aten::lt.Scalar(%x, 7)").support, Support::kSupported);
  }
  EXPECT_EQ(said("%x: i64[2]", "i64[2]", "aten::add.Scalar(%x, 1, 1)").support, Support::kSupported);
  EXPECT_EQ(said("%x: i64[2]", "i64[]", "aten::select_copy.int(%x, 0, 1)").support, Support::kSupported);
  const std::string table = "%t: f32[3,2], %x: i64[1]";
  EXPECT_EQ(said(table, "f32[1,2]", "aten::embedding(%t, %x, -1, false, false)").support, Support::kSupported);
  EXPECT_EQ(said("%x: f64[1]", "f64[1]", "aten::neg(%x)").reason, "not for tensors of f64");
}

// It would be an error of the run, where the host can do it.
TEST(Target, VulkanTakesNothingWholeThatIsTooLargeForAKernel) {
  const auto said = [](const std::string& input, const std::string& result, const std::string& call) {
    return answer("vulkan:0", "method f(%x: " + input + ") {\n  %y: " + result + " = " + call + "\n  return %y\n}");
  };
  const std::string refusal = "not for tensors of more than 128 MiB";
  EXPECT_EQ(said("u8[140,1048576]", "u8[1048576,140]", "aten::transpose_copy.int(%x, 0, 1)").reason, refusal);
  EXPECT_EQ(said("u8[127,1048576]", "u8[1048576,127]", "aten::transpose_copy.int(%x, 0, 1)").support,
            Support::kSupported);
  EXPECT_EQ(said("i64[17,1048576]", "i64[17,1048576]", "aten::neg(%x)").reason, refusal);
  EXPECT_EQ(said("f32[33,1048576]", "bool[33,1048576]", "aten::lt.Scalar(%x, 7)").reason, refusal);
  EXPECT_EQ(said("u8[33,1048576]", "f32[33,1048576]", "dim_order_ops::_to_dim_order_copy(%x, false, none, f32)").reason,
            refusal);
  EXPECT_EQ(said("f32[33,1048576], %i: i64[2]", "f32[2,1048576]", "aten::embedding(%x, %i, -1, false, false)").reason,
            refusal);
  // Cards see more, and are the sooner for it.
  EXPECT_EQ(said("f32[33,1048576]", "f32[33,1048576]", "aten::neg(%x)").support, Support::kSupported);
}

// Its kernels would refuse these when the program runs, or go over them one by one.
TEST(Target, VulkanLeavesWhatItsKernelsWouldRefuseToTheHost) {
  const auto said = [](const std::string& inputs, const std::string& result, const std::string& call) {
    return answer("vulkan:0", "method f(" + inputs + ") {\n  %y: " + result + " = " + call + "\n  return %y\n}");
  };
  const std::string of_real = "not for whole numbers of real ones";
  EXPECT_EQ(said("%x: f32[4]", "i64[4]", "aten::cumsum(%x, 0, i64)").reason, of_real);
  EXPECT_EQ(said("%x: f32[4]", "i64[]", "aten::prod(%x, i64)").reason, of_real);
  EXPECT_EQ(said("%x: f32[4,2]", "i64[2]", "aten::prod.dim_int(%x, 0, false, i64)").reason, of_real);
  EXPECT_EQ(said("%x: f32[4]", "f32[4]", "aten::cumsum(%x, 0, none)").support, Support::kSupported);
  EXPECT_EQ(said("%x: i32[4]", "i64[4]", "aten::cumsum(%x, 0, none)").support, Support::kSupported);
  EXPECT_EQ(said("%x: f32[2,1048576]", "i64[2]", "aten::argmax(%x, 1, false)").reason,
            "not for rows of more than 2^20 elements");
  EXPECT_EQ(
      said("%x: f32[9,70000], %i: i64[2,70000], %s: f32[2,70000]", "f32[9,70000]", "aten::scatter.src(%x, 1, %i, %s)")
          .reason,
      "not for so many places, which are one after the other");
  EXPECT_EQ(said("%x: f32[4]", "f32[4]", "aten::bitwise_and.Scalar(%x, 3)").reason, "not for tensors of f32");
  const std::string nine = "[1,1,1,1,1,1,1,1,2]";
  EXPECT_EQ(said("%x: f32" + nine, "f32[1,1,1,1,1,1,1,1,4]", "aten::repeat(%x, [1, 1, 1, 1, 1, 1, 1, 1, 2])").reason,
            "not for more than 8 dimensions");
  EXPECT_EQ(said("%x: f32[4]", "f32[5]", "aten::full([5], 1.5)").reason, "none of its tensors is on the device before");
}

TEST(Target, EachSaysWhatItIs) {
  const auto all = parse_targets("cpu,cuda:0,sim:0,portable,vulkan:0");
  ASSERT_TRUE(all.ok()) << all.error().text();
  const auto facts = [&](int i) {
    const Target& t = (*all)[i];
    return std::string(t.fuses ? "fuses " : "") + (t.channels_last ? "channels " : "") +
           (t.depth_last ? "depth " : "") + (t.isa.empty() ? "" : "packs ") + (t.narrow_weights ? "weights " : "") +
           (t.narrow_tensors ? "narrow " : "") + (t.takes ? "chooses" : "takes all");
  };
  EXPECT_EQ(facts(0), "fuses channels packs weights takes all");
  EXPECT_EQ(facts(1), "fuses chooses");
  EXPECT_EQ(facts(2), "fuses takes all");
  EXPECT_EQ(facts(3), "takes all");
  EXPECT_EQ(facts(4), "fuses channels depth weights narrow chooses");
  for (const Target& target : *all) {
    EXPECT_FALSE(target.compile);
    // Of these, Vulkan's alone have an alignment that their backend's name does not say.
    EXPECT_EQ(target.specs.size(), target.device.type == DeviceType::kVulkan ? 1u : 0u)
        << target.name << ": what its programs have anyway is not said again";
  }
}

}  // namespace
}  // namespace berth::targets
