// The models that the repository holds, compiled for cuda:0 and run by this room's kernels as plain C++, against
// PyTorch's outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/kernels_test/emulated_backend.h"
#include "compiler/compile.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "tools/npy.h"

namespace berth {
namespace {

class CudaModels : public testing::TestWithParam<const char*> {
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
    options.target = "cuda:0";
    auto program = compile(std::move(module).value(), options);
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
    return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
  }
};

TEST_P(CudaModels, MatchPyTorch) {
  const std::vector<uint8_t> file = compiled();
  SimAllocator sim;
  cuda::EmulatedBackend backend(&sim);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(DeviceType::kCuda, &sim), Error::kOk);
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
  host.report = &report;
  auto loaded = HostMethod::load(*program, "forward", host);
  ASSERT_TRUE(loaded.ok()) << report.place << ": " << report.message;
  Method& method = loaded->method();
  const tool::Array input = array_of("in0.npy");
  const tool::Array want = array_of("out0.npy");
  const std::vector<int32_t> sizes(input.shape.begin(), input.shape.end());
  ASSERT_EQ(method.set_input(0, input.bytes.data(), sizes, input.dtype), Error::kOk) << method.last_report().message;
  ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
  EXPECT_EQ(backend.fault(), cuda::kNoFault);
  EXPECT_GE(sim.counts().host_to_device.count, 1u) << "nothing ran on the device";
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

INSTANTIATE_TEST_SUITE_P(Repository, CudaModels, testing::Values("digits", "dscnn_kws", "lstm_tagger", "randwire"));

}  // namespace
}  // namespace berth
