// The models that the repository holds, compiled for vulkan:0 and run on what driver there is, with validation, against
// PyTorch's outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/vulkan/vulkan_backend.h"
#include "compiler/compile.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "tools/npy.h"

namespace berth {
namespace {

class VulkanModels : public testing::TestWithParam<const char*> {
 protected:
  static std::string path_of(const std::string& file) {
    return std::string(BERTH_SOURCE_DIR) + "/models/" + GetParam() + "/" + file;
  }
  static tool::Array array_of(const std::string& file) {
    auto array = tool::read_npy(path_of(file));
    EXPECT_TRUE(array.ok()) << (array.ok() ? "" : array.error().text());
    return array.ok() ? std::move(array).value() : tool::Array();
  }
  static std::vector<uint8_t> compiled() {
    auto module = load_model(path_of("model.onnx"), {});
    EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
    if (!module.ok()) return {};
    CompileOptions options;
    options.target = "vulkan:0";
    auto program = compile(std::move(module).value(), options);
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
    return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
  }
};

TEST_P(VulkanModels, MatchPyTorchInOneSubmission) {
  vulkan::VulkanOptions validated;
  validated.validation = true;
  vulkan::VulkanAllocator allocator(validated);
  if (allocator.device_count() == 0) GTEST_SKIP() << allocator.describe();
  const std::vector<uint8_t> file = compiled();
  vulkan::VulkanBackend backend(&allocator);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&allocator), Error::kOk);
  Backend* const backends[] = {&backend};
  Report report;
  LoadOptions options;
  options.registry = &registry;
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
  const tool::Array input = array_of("in0.npy");
  const tool::Array want = array_of("out0.npy");
  const std::vector<int32_t> sizes(input.shape.begin(), input.shape.end());
  const vulkan::VulkanCounts before = allocator.counts();
  ASSERT_EQ(method.set_input(0, input.bytes.data(), sizes, input.dtype), Error::kOk) << method.last_report().message;
  ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
  const vulkan::VulkanCounts after = allocator.counts();
  EXPECT_EQ(after.submissions - before.submissions, 1u);
  EXPECT_EQ(after.pipelines, before.pipelines);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(allocator.messages(), 0u) << "the validation layers have something to say";
  const Tensor& out = method.get_output(0).tensor();
  ASSERT_EQ(out.nbytes(), want.bytes.size());
  std::vector<float> expected(out.numel());
  std::memcpy(expected.data(), want.bytes.data(), want.bytes.size());
  float largest = 0;
  for (const float x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(std::abs(out.data<float>()[i] - expected[i]), 1e-4f * std::abs(expected[i]) + 1e-5f * largest) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Repository, VulkanModels, testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

}  // namespace
}  // namespace berth
