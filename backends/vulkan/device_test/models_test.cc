// The models that the repository holds, compiled for vulkan:0 and run on what driver there is, with validation, against
// PyTorch's outputs; with weights of 16 bits too, and a model whose tensors have these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/vulkan/vulkan_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "tools/npy.h"

namespace berth {
namespace {

std::vector<uint8_t> compiled(ir::Module module, const std::string& target, const std::string& precision) {
  CompileOptions options;
  options.target = target;
  options.precision = precision;
  auto program = compile(std::move(module), options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
}

vulkan::VulkanOptions validated() {
  vulkan::VulkanOptions options;
  options.validation = true;
  return options;
}

class VulkanRun : public testing::Test {
 protected:
  void SetUp() override {
    if (allocator_.device_count() == 0) GTEST_SKIP() << allocator_.describe();
    ASSERT_EQ(registry_.register_allocator(&allocator_), Error::kOk);
  }

  // The output of one run, which is one submission.
  tool::Array run(const std::vector<uint8_t>& file, const tool::Array& input, bool on_device = true) {
    tool::Array output;
    run_into(file, input, on_device, &output);
    return output;
  }

  uint64_t dispatches_ = 0;  // of that run

 private:
  void run_into(const std::vector<uint8_t>& file, const tool::Array& input, bool on_device, tool::Array* output) {
    vulkan::VulkanBackend backend(&allocator_);
    Backend* const backends[] = {&backend};
    Report report;
    LoadOptions options;
    options.registry = &registry_;
    options.backends = backends;
    options.report = &report;
    const BufferLoader loader(file);
    const auto program = Program::load(loader, portable::kernels(), options);
    ASSERT_TRUE(program.ok()) << report.place << ": " << report.message;
    HostOptions host;
    host.resident = true;
    host.report = &report;
    auto loaded = HostMethod::load(*program, "forward", host);
    ASSERT_TRUE(loaded.ok()) << report.place << ": " << report.message;
    Method& method = loaded->method();
    const std::vector<int32_t> sizes(input.shape.begin(), input.shape.end());
    const vulkan::VulkanCounts before = allocator_.counts();
    ASSERT_EQ(method.set_input(0, input.bytes.data(), sizes, input.dtype), Error::kOk) << method.last_report().message;
    ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
    const vulkan::VulkanCounts after = allocator_.counts();
    EXPECT_EQ(after.submissions - before.submissions, on_device ? 1u : 0u);
    EXPECT_EQ(after.pipelines, before.pipelines);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(allocator_.messages(), 0u) << "the validation layers have something to say";
    dispatches_ = after.dispatches - before.dispatches;
    const Tensor& out = method.get_output(0).tensor();
    output->dtype = out.dtype();
    output->bytes.assign(out.data<uint8_t>(), out.data<uint8_t>() + out.nbytes());
  }

  vulkan::VulkanAllocator allocator_{validated()};
  DeviceAllocatorRegistry registry_;
};

std::vector<float> floats_of(const tool::Array& array) {
  std::vector<float> floats(array.bytes.size() / element_size(array.dtype));
  portable::convert_elements(array.dtype, array.bytes.data(), DType::kF32, floats.data(),
                             static_cast<int64_t>(floats.size()));
  return floats;
}

void expect_close(const tool::Array& found, const tool::Array& expected, float relative, float of_largest) {
  ASSERT_EQ(found.dtype, expected.dtype);
  const std::vector<float> have = floats_of(found), want = floats_of(expected);
  ASSERT_EQ(have.size(), want.size());
  float largest = 0;
  for (const float x : want) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(std::abs(have[i] - want[i]), relative * std::abs(want[i]) + of_largest * largest) << i;
  }
}

class VulkanModels : public VulkanRun, public testing::WithParamInterface<const char*> {
 protected:
  static std::string path_of(const std::string& file) {
    return std::string(BERTH_SOURCE_DIR) + "/models/" + GetParam() + "/" + file;
  }
  static tool::Array array_of(const std::string& file) {
    auto array = tool::read_npy(path_of(file));
    EXPECT_TRUE(array.ok()) << (array.ok() ? "" : array.error().text());
    return array.ok() ? std::move(array).value() : tool::Array();
  }
  static std::vector<uint8_t> model(const std::string& precision) {
    auto module = load_model(path_of("model.onnx"), {});
    EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
    if (!module.ok()) return {};
    return compiled(std::move(module).value(), "vulkan:0", precision);
  }
};

TEST_P(VulkanModels, MatchPyTorchInOneSubmission) {
  expect_close(run(model("f32"), array_of("in0.npy")), array_of("out0.npy"), 1e-4f, 1e-5f);
}

TEST_P(VulkanModels, WithWeightsOf16BitsAreCloseToIt) {
  const tool::Array input = array_of("in0.npy"), output = array_of("out0.npy");
  const size_t wide = model("f32").size();
  const std::vector<uint8_t> half = model("f16");
  EXPECT_LT(half.size(), wide) << "no weight is narrow";
  expect_close(run(half, input), output, 0, 1e-2f);
  expect_close(run(model("bf16"), input), output, 0, 6e-2f);
}

INSTANTIATE_TEST_SUITE_P(Repository, VulkanModels, testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

// All operators of these types are on the device.
TEST_F(VulkanRun, ModelsOf16BitsRunOnTheDevice) {
  const std::string text = R"(
    const @w: TYPE[8,6,3,3] = WEIGHT
    const @b: TYPE[8] = splat<0.25>
    const @m: TYPE[8,5] = splat<0.125>
    method forward(%x: TYPE[2,6,9,7]) {
      %wv: TYPE[8,6,3,3] = const @w
      %bv: TYPE[8] = const @b
      %mv: TYPE[8,5] = const @m
      %c: TYPE[2,8,9,7] = aten::convolution(%x, %wv, %bv, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
      %r: TYPE[2,8,9,7] = aten::relu(%c)
      %f: f32[2,8,9,7] = dim_order_ops::_to_dim_order_copy(%r, false, none, f32)
      %g: f32[2,8,9,7] = aten::gelu(%f)
      %h: TYPE[2,8,9,7] = dim_order_ops::_to_dim_order_copy(%g, false, none, TYPE)
      %a: TYPE[2,8] = aten::mean.dim(%h, [2, 3], false)
      %p: TYPE[2,5] = aten::mm(%a, %mv)
      %s: TYPE[2,5] = aten::_softmax(%p, 1, false)
      return %s
    }
  )";
  for (const DType type : {DType::kF16, DType::kBF16}) {
    std::string own = text;
    std::string weight = "dense<[";
    for (int i = 0; i < 8 * 6 * 9; ++i) weight += (i == 0 ? "" : ", ") + std::to_string((i * 37 % 64 - 32) / 64.0);
    own.replace(own.find("WEIGHT"), 6, weight + "]>");
    for (size_t at = own.find("TYPE"); at != std::string::npos; at = own.find("TYPE"))
      own.replace(at, 4, to_string(type));
    tool::Array input;
    input.dtype = type;
    input.shape = {2, 6, 9, 7};
    std::vector<float> numbers(2 * 6 * 9 * 7);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 29 % 97) / 64 - 0.75f;
    input.bytes.resize(2 * numbers.size());
    portable::convert_elements(DType::kF32, numbers.data(), type, input.bytes.data(),
                               static_cast<int64_t>(numbers.size()));
    const auto module = [&] {
      auto parsed = ir::parse(own);
      EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().text());
      return std::move(parsed).value();
    };
    const tool::Array expected = run(compiled(module(), "portable", "f32"), input, false);
    EXPECT_EQ(dispatches_, 0u);
    const tool::Array found = run(compiled(module(), "vulkan:0", "f32"), input);
    EXPECT_GE(dispatches_, 6u);
    expect_close(found, expected, 0, type == DType::kF16 ? 2e-3f : 1.6e-2f);
  }
}

}  // namespace
}  // namespace berth
