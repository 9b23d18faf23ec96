// Several models in one program: each method gives what its model gives alone, and what they share is there once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/import/onnx/model_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "tools/machine.h"
#include "tools/npy.h"

namespace berth {
namespace {

using Floats = std::vector<float>;

constexpr int64_t kWidth = 64;

Floats weights() {
  Floats w;
  for (int64_t i = 0; i < kWidth * kWidth; ++i) w.push_back(static_cast<float>((i * 37) % 101 - 50) / 64);
  return w;
}

Floats numbers(int64_t count) {
  Floats x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>((i * 29) % 17 - 8) / 8);
  return x;
}

// relu(x · w), or tanh(x · w), of `rows` rows: what the models compute, with w by another name in each.
Floats expected(int64_t rows, const std::string& activation) {
  const Floats x = numbers(rows * kWidth);
  const Floats w = weights();
  Floats y;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kWidth; ++k) sum += x[i * kWidth + k] * w[k * kWidth + j];
      y.push_back(activation == "Relu" ? std::max(sum, 0.0f) : std::tanh(sum));
    }
  }
  return y;
}

class MethodsTest : public testing::Test {
 protected:
  ~MethodsTest() override {
    for (const std::string& path : files_) std::remove(path.c_str());
  }

  std::string path(const std::string& name) {
    files_.push_back(testing::TempDir() + "berth_methods_" + name);
    return files_.back();
  }

  std::string model(const std::string& name, int64_t rows, const std::string& activation) {
    onnx::TestModel m;
    m.input("x", {rows, kWidth});
    m.floats("w_of_" + name, {kWidth, kWidth}, weights());
    m.node("MatMul", {"x", "w_of_" + name}, {"product"});
    m.node(activation, {"product"}, {"y"});
    m.output("y");
    const std::string file = path(name);
    std::ofstream(file, std::ios::binary) << m.bytes();
    return file;
  }

  /// "prefill" of 8 rows, and "decode" of one.
  ir::Module both() {
    auto module =
        load_models({{model("a.onnx", 8, "Relu"), "prefill"}, {model("b.onnx", 1, "Tanh"), "decode"}}, ImportOptions());
    EXPECT_TRUE(module.ok()) << module.error().text();
    return module.ok() ? std::move(*module) : ir::Module();
  }

 private:
  std::vector<std::string> files_;
};

std::vector<uint8_t> compiled(ir::Module module, const CompileOptions& options, CompileReport* report = nullptr) {
  auto program = compile(std::move(module), options, report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return program.ok() ? std::move(*program) : std::vector<uint8_t>();
}

Floats run(const std::vector<uint8_t>& file, const char* name, const Floats& x, const std::vector<int32_t>& sizes) {
  BufferLoader loader(file);
  tool::Machine machine;
  LoadOptions load;
  load.backends = machine.backends();
  load.registry = &machine.registry();
  auto program = Program::load(loader, portable::kernels(), load);
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return {};
  auto loaded = HostMethod::load(*program, name);
  EXPECT_TRUE(loaded.ok());
  if (!loaded.ok()) return {};
  Method& method = loaded->method();
  EXPECT_EQ(method.set_input(0, x.data(), sizes, DType::kF32), Error::kOk) << method.last_report().message;
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  const Tensor& out = method.get_output(0).tensor();
  return Floats(out.data<float>(), out.data<float>() + out.numel());
}

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4f * (1 + std::abs(want[i]))) << i;
}

void expect_right(const std::vector<uint8_t>& program) {
  expect_near(run(program, "prefill", numbers(8 * kWidth), {8, kWidth}), expected(8, "Relu"));
  expect_near(run(program, "decode", numbers(kWidth), {1, kWidth}), expected(1, "Tanh"));
}

TEST_F(MethodsTest, WeightsOfTwoModelsAreInTheFileOnce) {
  const std::vector<uint8_t> program = compiled(both(), {});
  expect_right(program);
  const Floats w = weights();
  const auto* bytes = reinterpret_cast<const uint8_t*>(w.data());
  const size_t size = w.size() * sizeof(float);
  int found = 0;
  for (auto at = program.begin();; ++at, ++found) {
    at = std::search(at, program.end(), bytes, bytes + size);
    if (at == program.end()) break;
  }
  EXPECT_EQ(found, 1);
  EXPECT_LT(program.size(), size + 8192);
}

TEST_F(MethodsTest, WeightsOfDelegatesAreInTheFileOnceToo) {
  CompileOptions options;
  options.target = "sim:0";
  CompileReport report;
  const std::vector<uint8_t> program = compiled(both(), options, &report);
  expect_right(program);
  EXPECT_EQ(report.constant_bytes, kWidth * kWidth * 4);
}

TEST_F(MethodsTest, WeightsStayInTheirMappedFiles) {
  const ir::Module module = both();
  ASSERT_EQ(module.constants.size(), 1u);
  EXPECT_TRUE(module.constants[{0}].blob.is_mapped());
}

TEST_F(MethodsTest, ModelsOfTheRepositoryMatchPyTorchSideBySide) {
  const std::string models = std::string(BERTH_SOURCE_DIR) + "/models/";
  auto module = load_models({{models + "digits/model.onnx", "digits"}, {models + "dscnn_kws/model.onnx", "dscnn_kws"}},
                            ImportOptions());
  ASSERT_TRUE(module.ok()) << module.error().text();
  for (const char* target : {"portable", "cpu"}) {
    CompileOptions options;
    options.target = target;
    const std::vector<uint8_t> program = compiled(*module, options);
    for (const std::string name : {"digits", "dscnn_kws"}) {
      const auto in = tool::read_npy(models + name + "/in0.npy");
      const auto out = tool::read_npy(models + name + "/out0.npy");
      ASSERT_TRUE(in.ok() && out.ok());
      Floats x(in->bytes.size() / sizeof(float));
      Floats want(out->bytes.size() / sizeof(float));
      std::memcpy(x.data(), in->bytes.data(), in->bytes.size());
      std::memcpy(want.data(), out->bytes.data(), out->bytes.size());
      expect_near(run(program, name.c_str(), x, {in->shape.begin(), in->shape.end()}), want);
    }
  }
}

TEST_F(MethodsTest, AFileThatExistsWinsOverAName) {
  const std::string file = path("x=y.onnx");
  std::ofstream(file) << "method m() {\n  return 1\n}\n";
  const auto whole = parse_model_file(file);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->path, file);
  EXPECT_EQ(whole->method, "");
  const auto named = parse_model_file("a=" + file);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->path, file);
  EXPECT_EQ(named->method, "a");
  EXPECT_EQ(parse_model_file("dir/a=b.onnx")->path, "dir/a=b.onnx");
  EXPECT_EQ(parse_model_file("a.onnx")->method, "");
  EXPECT_FALSE(parse_model_file("=a.onnx").ok());
  EXPECT_FALSE(parse_model_file("a=").ok());
}

TEST_F(MethodsTest, ShapesAreOfTheModelThatTheyName) {
  onnx::TestModel m;
  m.symbolic_input("x", {"n", "4"});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  const std::string file = path("open.onnx");
  std::ofstream(file, std::ios::binary) << m.bytes();
  const std::vector<ModelFile> models = {{file, "a"}, {file, "b"}};
  ImportOptions import;
  import.input_shapes = {{"a:x", "1..8x4"}, { "b:x", "1x4" }};
  const auto module = load_models(models, import);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_FALSE(module->methods[0].tensor(module->methods[0].body.inputs[0]).is_static());
  EXPECT_TRUE(module->methods[1].tensor(module->methods[1].body.inputs[0]).is_static());
  import.input_shapes = {{ "x", "1x4" }};
  const auto which = load_models(models, import);
  ASSERT_FALSE(which.ok());
  EXPECT_NE(which.error().text().find("with METHOD among those that were given: a, b"), std::string::npos)
      << which.error().text();
  EXPECT_TRUE(load_models({{file, ""}}, import).ok());
  EXPECT_TRUE(load_models({{file, "a"}}, import).ok());
}

TEST_F(MethodsTest, AFileWithSeveralMethodsKeepsTheirNames) {
  const std::string program = path("both.pte");
  const Status written = compile_to_file(both(), {}, program);
  ASSERT_TRUE(written.ok()) << written.error().text();
  const auto named = load_models({{program, "one"}}, ImportOptions());
  ASSERT_FALSE(named.ok());
  EXPECT_NE(named.error().text().find("has 2 methods (decode, prefill)"), std::string::npos) << named.error().text();
  const std::string third = model("c.onnx", 1, "Tanh");
  auto module = load_models({{program, ""}, {third, "again"}}, ImportOptions());
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->methods.size(), 3u);
  EXPECT_EQ(module->constants.size(), 1u);
  const std::vector<uint8_t> bytes = compiled(std::move(*module), {});
  expect_right(bytes);
  expect_near(run(bytes, "again", numbers(kWidth), {1, kWidth}), expected(1, "Tanh"));
}

}  // namespace
}  // namespace berth
