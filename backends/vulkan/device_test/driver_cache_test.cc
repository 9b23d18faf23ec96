// The fear: a driver that compiles kernels while a program runs. Mesa's lavapipe does where it finds that a kernel's
// branches and loops go by numbers of a uniform buffer at known places (shaders/common.glsl): a run took 600 ms for 2.
// It counts nothing, but keeps what it compiles in files.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "backends/vulkan/vulkan_backend.h"
#include "compiler/compile.h"
#include "tests/device/loaded_model.h"
#include "tools/npy.h"

namespace berth {
namespace {

const std::string kModel = std::string(BERTH_SOURCE_DIR) + "/models/dscnn_kws/";

std::vector<uint8_t> compiled_model() {
  auto module = load_model(kModel + "model.onnx", {});
  CompileOptions options;
  options.target = "vulkan:0";
  auto program =
      module.ok() ? compile(std::move(module).value(), options) : Expected<std::vector<uint8_t>>(module.error());
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
}

/// Loads the program and runs it so often, on a device that is opened for it and closed again: drivers write files
/// behind.
void load_and_run(const std::vector<uint8_t>& file, int runs) {
  vulkan::VulkanAllocator allocator{vulkan::VulkanOptions()};
  if (allocator.device_count() == 0) GTEST_SKIP() << allocator.describe();
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&allocator), Error::kOk);
  vulkan::VulkanBackend backend(&allocator);
  device_tests::LoadedModel loaded(file, backend, registry, true);
  ASSERT_TRUE(loaded.ok());
  const auto input = tool::read_npy(kModel + "in0.npy");
  ASSERT_TRUE(input.ok()) << input.error().text();
  const std::vector<int32_t> sizes(input->shape.begin(), input->shape.end());
  ASSERT_EQ(loaded.method().set_input(0, input->bytes.data(), sizes, input->dtype), Error::kOk);
  for (int i = 0; i < runs; ++i) ASSERT_EQ(loaded.method().execute(), Error::kOk);
}

/// Files that the driver has kept in an empty folder.
size_t files_kept(const std::vector<uint8_t>& file, int runs) {
  const std::filesystem::path folder = testing::TempDir() + "berth_driver_cache";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ::setenv("MESA_SHADER_CACHE_DIR", folder.c_str(), 1);
  load_and_run(file, runs);
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files += entry.is_regular_file() ? 1 : 0;
  std::filesystem::remove_all(folder);
  return files;
}

TEST(VulkanDriverCache, ARunCompilesNoKernel) {
  ::setenv("MESA_SHADER_CACHE_DISABLE", "false", 1);
  const std::vector<uint8_t> file = compiled_model();
  const size_t by_loading = files_kept(file, 0);
  if (IsSkipped() || HasFatalFailure()) return;
  if (by_loading == 0) GTEST_SKIP() << "this driver keeps no files in MESA_SHADER_CACHE_DIR";
  EXPECT_EQ(files_kept(file, 2), by_loading);
}

}  // namespace
}  // namespace berth
