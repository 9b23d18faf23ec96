// The repository's models, from ONNX through the program to the outputs, compared with PyTorch's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"
#include "tools/npy.h"

namespace berth {
namespace {

std::string path_of(const std::string& model, const std::string& file) {
  return std::string(BERTH_SOURCE_DIR) + "/models/" + model + "/" + file;
}

tool::Array array_of(const std::string& model, const std::string& file) {
  auto array = tool::read_npy(path_of(model, file));
  EXPECT_TRUE(array.ok()) << (array.ok() ? "" : array.error().text());
  return array.ok() ? std::move(array).value() : tool::Array();
}

std::vector<uint8_t> compiled(const std::string& model, Planner planner = Planner::kBest) {
  auto module = load_model(path_of(model, "model.onnx"), {});
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  if (!module.ok()) return {};
  CompileOptions options;
  options.planner = planner;
  options.verify_ir = true;
  auto program = compile(std::move(module).value(), options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
}

std::vector<float> run(const std::vector<uint8_t>& file, const tool::Array& input, int threads = 1) {
  BufferLoader loader(file);
  HostThreadPool pool(threads);
  auto program = Program::load(loader, portable::kernels());
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return {};
  HostOptions options;
  options.pool = &pool;
  auto loaded = HostMethod::load(*program, "forward", options);
  EXPECT_TRUE(loaded.ok());
  if (!loaded.ok()) return {};
  Method& method = loaded->method();
  const std::vector<int32_t> sizes(input.shape.begin(), input.shape.end());
  EXPECT_EQ(method.set_input(0, input.bytes.data(), sizes, input.dtype), Error::kOk) << method.last_report().message;
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  const Tensor& out = method.get_output(0).tensor();
  return std::vector<float>(out.data<float>(), out.data<float>() + out.numel());
}

// Within rtol 1e-4 and atol 1e-5 times the largest magnitude.
void expect_close_to(const std::vector<float>& got, const tool::Array& want) {
  ASSERT_EQ(got.size() * sizeof(float), want.bytes.size());
  std::vector<float> expected(got.size());
  std::memcpy(expected.data(), want.bytes.data(), want.bytes.size());
  float largest = 0;
  for (float x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - expected[i]), 1e-4f * std::abs(expected[i]) + 1e-5f * largest) << "element " << i;
  }
}

class Models : public ::testing::TestWithParam<const char*> {};

TEST_P(Models, MatchPyTorch) {
  const std::string model = GetParam();
  const std::vector<uint8_t> program = compiled(model);
  expect_close_to(run(program, array_of(model, "in0.npy")), array_of(model, "out0.npy"));
}

TEST_P(Models, GiveTheSameOutputsForEveryPlannerAndThreadCount) {
  const std::string model = GetParam();
  const tool::Array input = array_of(model, "in0.npy");
  const std::vector<float> outputs = run(compiled(model), input);
  EXPECT_EQ(run(compiled(model, Planner::kNaive), input), outputs);
  EXPECT_EQ(run(compiled(model, Planner::kGreedy), input), outputs);
  EXPECT_EQ(run(compiled(model), input, 2), outputs);
}

TEST_P(Models, CompileToTheSameBytesEveryTime) {
  const std::string model = GetParam();
  EXPECT_EQ(compiled(model), compiled(model));
}

TEST_P(Models, SurviveTheTextForm) {
  const std::string model = GetParam();
  auto module = load_model(path_of(model, "model.onnx"), {});
  ASSERT_TRUE(module.ok());
  const std::string text = ir::print(*module);
  auto again = ir::parse(text, "text", std::string(BERTH_SOURCE_DIR) + "/models");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(ir::print(*again), text);
  auto program = compile(std::move(again).value(), {});
  ASSERT_TRUE(program.ok()) << program.error().text();
  EXPECT_EQ(run(*program, array_of(model, "in0.npy")), run(compiled(model), array_of(model, "in0.npy")));
}

INSTANTIATE_TEST_SUITE_P(All, Models, ::testing::Values("digits", "dscnn_kws", "randwire", "lstm_tagger"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace berth
