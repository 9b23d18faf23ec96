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
#include "tests/device/loaded_model.h"
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

ir::Module parsed(const std::string& text) {
  auto module = ir::parse(text);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  return std::move(module).value();
}

// The text of a constant's elements: "dense<[0, 0.5, 1]>".
template <typename Element>
std::string dense(int count, Element element) {
  std::string text = "dense<[";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(element(i));
  return text + "]>";
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

// Numbers that repeat after 97 elements, from `least` on and 1 / `parts` apart.
tool::Array numbers_of(DType type, std::vector<int64_t> shape, int parts, float least) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 29 % 97) / static_cast<float>(parts) + least;
  tool::Array array;
  array.dtype = type;
  array.shape = std::move(shape);
  array.bytes.resize(count * element_size(type));
  portable::convert_elements(DType::kF32, numbers.data(), type, array.bytes.data(), count);
  return array;
}

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

vulkan::VulkanOptions validated(bool for_cards) {
  vulkan::VulkanOptions options;
  options.validation = true;
  options.for_cards = for_cards;
  return options;
}

class VulkanRun : public testing::Test {
 protected:
  explicit VulkanRun(bool for_cards = false) : allocator_(validated(for_cards)) {}

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

  // The model's output on the device is the portable kernels', as near as expect_close() says.
  void expect_as_portable(const std::string& text, const tool::Array& input, float relative, float of_largest) {
    const tool::Array expected = run(compiled(parsed(text), "portable", "f32"), input, false);
    EXPECT_EQ(dispatches_, 0u);
    expect_close(run(compiled(parsed(text), "vulkan:0", "f32"), input), expected, relative, of_largest);
  }

  uint64_t dispatches_ = 0;  // of the last run

 private:
  void run_into(const std::vector<uint8_t>& file, const tool::Array& input, bool on_device, tool::Array* output) {
    vulkan::VulkanBackend backend(&allocator_);
    device_tests::LoadedModel loaded(file, backend, registry_, true);
    ASSERT_TRUE(loaded.ok());
    Method& method = loaded.method();
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

  vulkan::VulkanAllocator allocator_;
  DeviceAllocatorRegistry registry_;
};

class VulkanModels : public VulkanRun, public testing::WithParamInterface<const char*> {
 protected:
  using VulkanRun::VulkanRun;

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

// With the kernels that cards have.
class VulkanModelsOfCards : public VulkanModels {
 protected:
  VulkanModelsOfCards() : VulkanModels(true) {}
};

TEST_P(VulkanModelsOfCards, MatchPyTorchInOneSubmission) {
  expect_close(run(model("f32"), array_of("in0.npy")), array_of("out0.npy"), 1e-4f, 1e-5f);
}

INSTANTIATE_TEST_SUITE_P(Repository, VulkanModelsOfCards,
                         testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

// Ids, comparisons, choices and quantised numbers are on the device too, in one delegate.
TEST_F(VulkanRun, ModelsOfWholeNumbersRunOnTheDevice) {
  const std::string text = R"(
    method forward(%x: i64[2,5]) {
      %table: f32[7,6] = const @t
      %below: bool[2,5] = aten::lt.Scalar(%x, 0)
      %moved: i64[2,5] = aten::add.Scalar(%x, 7, 1)
      %ids: i64[2,5] = aten::where.self(%below, %moved, %x)
      %rows: f32[2,5,6] = aten::embedding(%table, %ids, -1, false, false)
      %keep: bool[2,5] = aten::ne.Scalar(%ids, 3)
      %kept: f32[2,5] = dim_order_ops::_to_dim_order_copy(%keep, false, none, f32)
      %each: f32[2,5,1] = aten::unsqueeze_copy(%kept, 2)
      %masked: f32[2,5,6] = aten::mul.Tensor(%rows, %each)
      %q: i8[2,5,6] = quantized_decomposed::quantize_per_tensor(%masked, 0.01, 2, -128, 127, i8)
      %turned: i8[2,6,5] = aten::permute_copy(%q, [0, 2, 1])
      %y: f32[2,6,5] = quantized_decomposed::dequantize_per_tensor(%turned, 0.01, 2, -128, 127, i8)
      return %y
    }
  )";
  tool::Array input;
  input.dtype = DType::kI64;
  input.shape = {2, 5};
  const int64_t ids[] = {0, 6, -1, 3, 2, -7, 5, -4, 1, 4};
  input.bytes.resize(sizeof ids);
  std::memcpy(input.bytes.data(), ids, sizeof ids);
  const std::string table = dense(42, [](int i) { return (i * 37 % 64 - 32) / 32.0; });
  expect_as_portable("const @t: f32[7,6] = " + table + text, input, 0, 0);
  EXPECT_GE(dispatches_, 8u);
}

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
    const std::string weight = dense(8 * 6 * 9, [](int i) { return (i * 37 % 64 - 32) / 64.0; });
    const std::string own = replaced(replaced(text, "WEIGHT", weight), "TYPE", to_string(type));
    const tool::Array input = numbers_of(type, {2, 6, 9, 7}, 64, -0.75f);
    expect_as_portable(own, input, 0, type == DType::kF16 ? 2e-3f : 1.6e-2f);
    EXPECT_GE(dispatches_, 6u);
  }
}

// Numbers that are rounded to bytes on their way are so in one kernel, which writes no bytes that are read by no other.
TEST_F(VulkanRun, RoundingToBytesIsAStepOfAChain) {
  const std::string text = R"(
    method forward(%x: f32[3,40]) {
      %d: f32[3,40] = aten::div.Scalar(%x, 0.05)
      %r: f32[3,40] = aten::round(%d)
      %a: f32[3,40] = aten::add.Scalar(%r, 3, 1)
      %c: f32[3,40] = aten::clamp(%a, -128, 127)
      %q: i8[3,40] = dim_order_ops::_to_dim_order_copy(%c, false, none, i8)
      %f: f32[3,40] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
      %z: f32[3,40] = aten::sub.Scalar(%f, 3, 1)
      %m: f32[3,40] = aten::mul.Scalar(%z, 0.05)
      %y: f32[3,40] = aten::relu(%m)
      return %y
    }
  )";
  expect_as_portable(text, numbers_of(DType::kF32, {3, 40}, 6, -7.5f), 0, 1e-6f);
  EXPECT_EQ(dispatches_, 1u);
}

// Bytes between convolutions stay bytes: a step of rounding apart where the portable kernels' floats are close to half.
class VulkanBytes : public VulkanRun, public testing::WithParamInterface<bool> {
 protected:
  VulkanBytes() : VulkanRun(GetParam()) {}
};

TEST_P(VulkanBytes, ConvolutionsMultiplyThemAsTheyAre) {
  const std::string text = R"(
    const @w: i8[16,8,3,3] = WEIGHT
    const @d: i8[16,1,3,3] = WINDOW
    const @s: f32[16] = splat<0.004>
    const @z: i64[16] = splat<0>
    const @b: f32[16] = splat<0.25>
    method forward(%x: f32[1,8,9,9]) {
      %w: i8[16,8,3,3] = const @w
      %d: i8[16,1,3,3] = const @d
      %s: f32[16] = const @s
      %z: i64[16] = const @z
      %b: f32[16] = const @b
      %xq: u8[1,8,9,9] = quantized_decomposed::quantize_per_tensor(%x, 0.05, 120, 0, 255, u8)
      %xf: f32[1,8,9,9] = quantized_decomposed::dequantize_per_tensor(%xq, 0.05, 120, 0, 255, u8)
      %wf: f32[16,8,3,3] = quantized_decomposed::dequantize_per_channel(%w, %s, %z, 0, -127, 127, i8)
      %df: f32[16,1,3,3] = quantized_decomposed::dequantize_per_channel(%d, %s, %z, 0, -127, 127, i8)
      %c: f32[1,16,9,9] = aten::convolution(%xf, %wf, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
      %r: f32[1,16,9,9] = aten::relu(%c)
      %rq: u8[1,16,9,9] = quantized_decomposed::quantize_per_tensor(%r, 0.04, 0, 0, 255, u8)
      %rf: f32[1,16,9,9] = quantized_decomposed::dequantize_per_tensor(%rq, 0.04, 0, 0, 255, u8)
      %p: f32[1,16,4,4], %i: i64[1,16,4,4] =
        aten::max_pool2d_with_indices(%rf, [3, 3], [2, 2], [0, 0], [1, 1], false)
      %e: f32[1,16,4,4] = aten::convolution(%p, %df, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 16)
      %eq: i8[1,16,4,4] = quantized_decomposed::quantize_per_tensor(%e, 0.02, 0, -128, 127, i8)
      %y: f32[1,16,4,4] = quantized_decomposed::dequantize_per_tensor(%eq, 0.02, 0, -128, 127, i8)
      return %y
    }
  )";
  const std::string weight = dense(16 * 8 * 9, [](int i) { return i * 37 % 255 - 127; });
  const std::string window = dense(16 * 9, [](int i) { return i * 91 % 255 - 127; });
  const std::string own = replaced(replaced(text, "WEIGHT", weight), "WINDOW", window);
  expect_as_portable(own, numbers_of(DType::kF32, {1, 8, 9, 9}, 128, -6.0f), 0, 1.01f / 127);
  // The image in another order, its bytes, the convolutions, the pooling between them, the numbers, the order before.
  EXPECT_LE(dispatches_, 8u);
}

INSTANTIATE_TEST_SUITE_P(Forms, VulkanBytes, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "ForCards" : "Chosen"; });

// A weight of bytes that is too large to be folded to floats is widened on the device, where no product takes bytes.
TEST_F(VulkanRun, LargeWeightsOfBytesAreWidenedOnTheDevice) {
  const std::string weight = dense(640 * 512, [](int i) { return i * 37 % 255 - 127; });
  const std::string text = "const @w: i8[640,512] = " + weight + R"(
    method forward(%x: f32[2,640]) {
      %b: i8[640,512] = const @w
      %f: f32[640,512] = dim_order_ops::_to_dim_order_copy(%b, false, none, f32)
      %m: f32[640,512] = aten::mul.Scalar(%f, 0.01)
      %y: f32[2,512] = aten::mm(%x, %m)
      return %y
    }
  )";
  EXPECT_LT(compiled(parsed(text), "vulkan:0", "f32").size(), size_t{500000}) << "the weight has been folded";
  expect_as_portable(text, numbers_of(DType::kF32, {2, 640}, 64, -0.75f), 1e-4f, 1e-5f);
}

}  // namespace
}  // namespace berth
