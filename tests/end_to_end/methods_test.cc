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

constexpr int64_t kModelWidth = 64;

Floats weights() {
  Floats w;
  for (int64_t i = 0; i < kModelWidth * kModelWidth; ++i) w.push_back(static_cast<float>((i * 37) % 101 - 50) / 64);
  return w;
}

Floats numbers(int64_t count) {
  Floats x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>((i * 29) % 17 - 8) / 8);
  return x;
}

// relu(x · w), or tanh(x · w), of `rows` rows: what the models compute, with w by another name in each.
Floats expected(int64_t rows, const std::string& activation) {
  const Floats x = numbers(rows * kModelWidth);
  const Floats w = weights();
  Floats y;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kModelWidth; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kModelWidth; ++k) sum += x[i * kModelWidth + k] * w[k * kModelWidth + j];
      y.push_back(activation == "Relu" ? std::max(sum, 0.0f) : std::tanh(sum));
    }
  }
  return y;
}

class MethodsTest : public ::testing::Test {
 protected:
  ~MethodsTest() override {
    for (const std::string& path : files_) std::remove(path.c_str());
  }

  std::string path(const std::string& name) {
    files_.push_back(::testing::TempDir() + "berth_methods_" + name);
    return files_.back();
  }

  std::string model(const std::string& name, int64_t rows, const std::string& activation) {
    onnx::TestModel m;
    m.input("x", {rows, kModelWidth});
    m.floats("w_of_" + name, {kModelWidth, kModelWidth}, weights());
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
  expect_near(run(program, "prefill", numbers(8 * kModelWidth), {8, kModelWidth}), expected(8, "Relu"));
  expect_near(run(program, "decode", numbers(kModelWidth), {1, kModelWidth}), expected(1, "Tanh"));
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
  EXPECT_EQ(report.constant_bytes, kModelWidth * kModelWidth * 4);
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
  expect_near(run(bytes, "again", numbers(kModelWidth), {1, kModelWidth}), expected(1, "Tanh"));
}

int64_t arena_bytes(const CompileReport& report, const std::string& method) {
  int64_t bytes = 0;
  for (const ArenaReport& arena : report.arenas) bytes += arena.method == method ? arena.bytes : 0;
  return bytes;
}

TEST_F(MethodsTest, ATargetOfOneMethodLeavesTheOtherAlone) {
  CompileReport plain;
  compiled(both(), {}, &plain);
  CompileOptions options;
  options.methods["decode"].target = "sim:0";
  CompileReport report;
  const std::vector<uint8_t> program = compiled(both(), options, &report);
  expect_right(program);
  ASSERT_EQ(report.delegates.size(), 1u);
  EXPECT_EQ(report.delegates[0].method, "decode");
  for (const CopyReport& copy : report.copies) EXPECT_EQ(copy.method, "decode");
  EXPECT_EQ(arena_bytes(report, "prefill"), arena_bytes(plain, "prefill"));
  // The other way round: what holds for all does not hold for one.
  options.target = "sim:0,cpu";
  options.methods["decode"].target = "portable";
  const std::vector<uint8_t> other = compiled(both(), options, &report);
  expect_right(other);
  for (const DelegateReport& delegate : report.delegates) EXPECT_EQ(delegate.method, "prefill");
  EXPECT_EQ(report.delegates.size(), 1u);
}

TEST_F(MethodsTest, EachTargetFusesInItsOwnMethod) {
  CompileOptions options;
  options.methods["decode"].target = "cpu";
  CompileReport report;
  const std::vector<uint8_t> program = compiled(both(), options, &report);
  expect_right(program);
  ASSERT_EQ(report.delegates.size(), 1u);
  EXPECT_EQ(report.delegates[0].backend, "berth.cpu");
  EXPECT_EQ(report.delegates[0].nodes, 1) << "the product took in its activation";
}

TEST_F(MethodsTest, DevicesOfInputsAreOfOneMethod) {
  CompileOptions options;
  options.target = "sim:0";
  options.methods["decode"].device_io = {"x=sim:0"};
  CompileReport report;
  compiled(both(), options, &report);
  for (const CopyReport& copy : report.copies) {
    EXPECT_FALSE(copy.method == "decode" && copy.from.is_cpu()) << "decode's input is there already";
  }
  EXPECT_EQ(report.copies.size(), 3u);
  options.methods["decode"].device_io = {"w=sim:0"};
  const auto unknown = compile(both(), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("device-io \"decode:w\""), std::string::npos) << unknown.error().text();
}

TEST_F(MethodsTest, PlannersAndInPlaceAreOfOneMethod) {
  CompileReport best;
  compiled(both(), {}, &best);
  CompileOptions options;
  options.methods["prefill"].planner = Planner::kNaive;
  CompileReport naive;
  expect_right(compiled(both(), options, &naive));
  EXPECT_GT(arena_bytes(naive, "prefill"), arena_bytes(best, "prefill"));
  EXPECT_EQ(arena_bytes(naive, "decode"), arena_bytes(best, "decode"));
  EXPECT_LT(naive.in_place, best.in_place);
  options.methods["prefill"] = {};
  options.methods["prefill"].in_place = false;
  CompileReport in_place;
  expect_right(compiled(both(), options, &in_place));
  EXPECT_EQ(in_place.in_place, naive.in_place);
  // A list without effect is an error only where it has none.
  options.in_place_operators = {"aten::tanh"};
  EXPECT_TRUE(compile(both(), options).ok());
  options.methods["prefill"].in_place_operators = std::vector<std::string>{"aten::relu"};
  EXPECT_FALSE(compile(both(), options).ok());
}

TEST_F(MethodsTest, AlignmentsAreOfOneMethod) {
  CompileOptions options;
  options.planner = Planner::kNaive;
  options.methods["decode"].alignment = 4096;
  CompileReport report;
  const std::vector<uint8_t> program = compiled(both(), options, &report);
  expect_right(program);
  EXPECT_GT(arena_bytes(report, "decode"), 2 * 4096) << "three values, each at a multiple of it";
  EXPECT_LE(arena_bytes(report, "prefill"), 3 * 8 * kModelWidth * 4);
  BufferLoader loader(program);
  const auto loaded = Program::load(loader, portable::kernels());
  ASSERT_TRUE(loaded.ok());
  auto method = HostMethod::load(*loaded, "decode");
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(method->method().get_input(0).tensor().raw()) % 4096, 0u);
  for (const int64_t wrong : {0, 8, 24, -16}) {
    options.methods["decode"].alignment = wrong;
    EXPECT_FALSE(compile(both(), options).ok()) << wrong;
  }
}

TEST_F(MethodsTest, BanksAreOfOneMethod) {
  CompileOptions options;
  options.methods["decode"].banks = std::vector<std::string>{"fast=256", "large"};
  options.pins = {"y=large"};
  CompileReport report;
  expect_right(compiled(both(), options, &report));
  for (const ArenaReport& arena : report.arenas) EXPECT_EQ(arena.bank.empty(), arena.method == "prefill");
  options.pins = {"y=other"};
  const auto unknown = compile(both(), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("there is no bank of this name"), std::string::npos) << unknown.error().text();
}

TEST_F(MethodsTest, SettingsOfNoMethodAreRefused) {
  CompileOptions options;
  options.methods["decod"].planner = Planner::kNaive;
  const auto program = compile(both(), options);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().text().find("there are: prefill, decode"), std::string::npos) << program.error().text();
}

// What one method writes the other reads, although they are planned in other ways.
TEST_F(MethodsTest, SharedStateLiesAtOnePlaceWhateverTheOptions) {
  const auto text = [&](const std::string& name, const std::string& body) {
    const std::string file = path(name);
    std::ofstream(file) << "state @small: f32[5]\nstate @large: f32[40]\n" << body;
    return file;
  };
  const std::string write = text("write.ir", R"(
    method forward(%x: f32[5], %y: f32[40]) {
      %small: f32[5] = berth::state_read() @small
      %large: f32[40] = berth::state_read() @large
      %a: f32[5] = aten::add.Tensor(%x, %small, 1)
      %b: f32[40] = aten::add.Tensor(%y, %large, 1)
      berth::state_write(%a) @small
      berth::state_write(%b) @large
      return 1
    })");
  const std::string read = text("read.ir", R"(
    method forward() {
      %small: f32[5] = berth::state_read() @small
      %large: f32[40] = berth::state_read() @large
      %a: f32[5] = aten::relu(%small)
      %b: f32[40] = aten::relu(%large)
      return %a, %b
    })");
  ir::MergeOptions share;
  share.share_state = true;
  const auto module = load_models({{write, "write"}, {read, "read"}}, ImportOptions(), share);
  ASSERT_TRUE(module.ok()) << module.error().text();
  for (const Planner planner : {Planner::kNaive, Planner::kGreedy, Planner::kBest}) {
    for (const int64_t alignment : {16, 64, 1024}) {
      CompileOptions options;
      options.methods["read"].planner = planner;
      options.methods["read"].alignment = alignment;
      const std::vector<uint8_t> file = compiled(*module, options);
      BufferLoader loader(file);
      const auto program = Program::load(loader, portable::kernels());
      ASSERT_TRUE(program.ok());
      const auto arenas = HostArenas::make(*program);
      ASSERT_TRUE(arenas.ok());
      HostOptions host;
      host.arenas = &*arenas;
      auto writer = HostMethod::load(*program, "write", host);
      auto reader = HostMethod::load(*program, "read", host);
      ASSERT_TRUE(writer.ok() && reader.ok());
      const Floats x = numbers(5);
      const Floats y = numbers(40);
      for (int run = 1; run <= 2; ++run) {
        ASSERT_EQ(writer->method().set_input(0, x.data(), std::vector<int32_t>{5}, DType::kF32), Error::kOk);
        ASSERT_EQ(writer->method().set_input(1, y.data(), std::vector<int32_t>{40}, DType::kF32), Error::kOk);
        ASSERT_EQ(writer->method().execute(), Error::kOk);
        ASSERT_EQ(reader->method().execute(), Error::kOk);
        const float* small = reader->method().get_output(0).tensor().data<float>();
        const float* large = reader->method().get_output(1).tensor().data<float>();
        for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(small[i], std::max(0.0f, x[i] * static_cast<float>(run)));
        for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(large[i], std::max(0.0f, y[i] * static_cast<float>(run)));
      }
    }
  }
}

}  // namespace
}  // namespace berth
