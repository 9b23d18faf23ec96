// The file of compiled kernels. The fears: bytes of another device or driver, or damaged ones, given to a driver; a
// file of another kind overwritten; what another device has kept lost.
#include "backends/vulkan/pipeline_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace berth::vulkan {
namespace {

VkPhysicalDeviceProperties device_of(uint32_t vendor, uint32_t device, uint8_t driver) {
  VkPhysicalDeviceProperties properties = {};
  properties.vendorID = vendor;
  properties.deviceID = device;
  std::memset(properties.pipelineCacheUUID, driver, VK_UUID_SIZE);
  return properties;
}

// As a driver gives them: Vulkan's header, then some of its own.
PipelineBytes kernels_of(const VkPhysicalDeviceProperties& device, size_t more) {
  VkPipelineCacheHeaderVersionOne header = {};
  header.headerSize = sizeof header;
  header.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE;
  header.vendorID = device.vendorID;
  header.deviceID = device.deviceID;
  std::memcpy(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE);
  PipelineBytes bytes(sizeof header + more);
  std::memcpy(bytes.data(), &header, sizeof header);
  for (size_t i = 0; i < more; ++i) bytes[sizeof header + i] = static_cast<uint8_t>(i * 31 + more);
  return bytes;
}

class PipelineFile : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  PipelineBytes bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set(const PipelineBytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  const std::string path_ = ::testing::TempDir() + "/kernels_" + std::to_string(getpid());
  const VkPhysicalDeviceProperties one_ = device_of(1, 7, 3), other_ = device_of(1, 8, 3);
};

TEST_F(PipelineFile, KeepsWhatEachDeviceHas) {
  EXPECT_TRUE(read_pipelines(path_, one_).empty());
  write_pipelines(path_, one_, kernels_of(one_, 100));
  write_pipelines(path_, other_, kernels_of(other_, 9));
  write_pipelines(path_, one_, kernels_of(one_, 55));
  EXPECT_EQ(read_pipelines(path_, one_), kernels_of(one_, 55));
  EXPECT_EQ(read_pipelines(path_, other_), kernels_of(other_, 9));
}

TEST_F(PipelineFile, GivesNothingOfAnotherDriverAndForgetsIt) {
  const VkPhysicalDeviceProperties later = device_of(1, 7, 4);
  write_pipelines(path_, one_, kernels_of(one_, 100));
  EXPECT_TRUE(read_pipelines(path_, later).empty());
  EXPECT_TRUE(read_pipelines(path_, device_of(2, 7, 3)).empty());
  write_pipelines(path_, later, kernels_of(later, 10));
  EXPECT_EQ(read_pipelines(path_, later), kernels_of(later, 10));
  EXPECT_LT(bytes().size(), 100u) << "what the old driver had is still there";
}

// Each bit turned, and each end cut off.
TEST_F(PipelineFile, DamagedIsIgnoredAndReplaced) {
  write_pipelines(path_, one_, kernels_of(one_, 20));
  const PipelineBytes whole = bytes();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    PipelineBytes damaged = whole;
    damaged[bit / 8] = static_cast<uint8_t>(damaged[bit / 8] ^ 1 << bit % 8);
    set(damaged);
    ASSERT_TRUE(read_pipelines(path_, one_).empty()) << "bit " << bit;
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    set({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_TRUE(read_pipelines(path_, one_).empty()) << size << " bytes";
  }
  write_pipelines(path_, one_, kernels_of(one_, 20));
  EXPECT_EQ(bytes(), whole);
}

TEST_F(PipelineFile, OfAnotherKindIsLeftAlone) {
  const PipelineBytes letter = {'D', 'e', 'a', 'r', ' ', 'f', 'r', 'i', 'e', 'n', 'd', ',', '\n'};
  set(letter);
  EXPECT_TRUE(read_pipelines(path_, one_).empty());
  write_pipelines(path_, one_, kernels_of(one_, 20));
  EXPECT_EQ(bytes(), letter);
}

TEST_F(PipelineFile, ThatCannotBeWrittenIsNoError) {
  const std::string nowhere = path_ + "/nowhere";
  write_pipelines(nowhere, one_, kernels_of(one_, 20));
  EXPECT_TRUE(read_pipelines(nowhere, one_).empty());
  EXPECT_TRUE(read_pipelines(::testing::TempDir(), one_).empty()) << "a folder";
}

// A pipe without a writer would be waited for, for ever.
TEST_F(PipelineFile, WhatIsNotARegularFileIsNeitherReadNorReplaced) {
  const std::string path = ::testing::TempDir() + "/pipe." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const VkPhysicalDeviceProperties device = device_of(1, 2, 3);
  EXPECT_TRUE(read_pipelines(path, device).empty());
  const std::vector<uint8_t> bytes(64, 7);
  write_pipelines(path, device, bytes);
  struct stat status = {};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace berth::vulkan
