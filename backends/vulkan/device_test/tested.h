// For tests of kernels: a kernel of this room and the portable one of the same name on the same arguments.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/session.h"
#include "backends/vulkan/vulkan_allocator.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::vulkan {

using berth::testing::Arg;
using berth::testing::Array;
using berth::testing::Kernel;

/// Random numbers of one test case, which prints its seed when something is wrong.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed), trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)) {}

  /// from <= n <= to
  int64_t number(int64_t from, int64_t to) { return from + static_cast<int64_t>(random_() % (to - from + 1)); }
  int32_t size(int32_t most) { return static_cast<int32_t>(number(1, most)); }
  bool coin() { return random_() % 2 == 0; }
  float real() { return std::uniform_real_distribution<float>(-2, 2)(random_); }
  std::vector<int32_t> sizes(int rank, int32_t most) {
    std::vector<int32_t> made(rank);
    for (int32_t& one : made) one = size(most);
    return made;
  }
  /// f32 with random elements, in a random order of its dimensions where `any_order`.
  Array array(const std::vector<int32_t>& sizes, bool any_order = false) {
    size_t count = 1;
    for (const int32_t one : sizes) count *= one;
    std::vector<double> values(count);
    for (double& value : values) value = real();
    return Array(DType::kF32, sizes, values, any_order ? order(sizes.size()) : std::vector<uint8_t>());
  }
  std::vector<uint8_t> order(size_t rank) {
    std::vector<uint8_t> made(rank);
    std::iota(made.begin(), made.end(), uint8_t{0});
    if (coin()) std::shuffle(made.begin(), made.end(), random_);
    return made;
  }
  /// The order that images have: row-major, or channels last.
  std::vector<uint8_t> image_order(int rank) {
    std::vector<uint8_t> made(rank);
    std::iota(made.begin(), made.end(), uint8_t{0});
    if (coin() || rank < 3) return made;
    std::rotate(made.begin() + rank - 3, made.begin() + rank - 2, made.end());
    return made;
  }
  Array image(const std::vector<int32_t>& sizes) {
    Array made = array(sizes);
    return Array(DType::kF32, sizes, made.values(), image_order(static_cast<int>(sizes.size())));
  }

 private:
  std::mt19937 random_;
  ::testing::ScopedTrace trace_;
};

/// The device, with validation; closed before the layers' own objects end.
class TestedDevice final : public ::testing::Environment {
 public:
  static VulkanAllocator& get() {
    if (opened() == nullptr) {
      VulkanOptions options;
      options.validation = true;
      opened() = std::make_unique<VulkanAllocator>(options);
    }
    return *opened();
  }
  void TearDown() override { opened().reset(); }

 private:
  static std::unique_ptr<VulkanAllocator>& opened() {
    static std::unique_ptr<VulkanAllocator> one;
    return one;
  }
};

/// A result of the sizes and the order of `like`, or of others.
inline Array room(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order = {}) {
  return Array(DType::kF32, sizes, {}, order);
}

class VulkanKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device().device_count() == 0) GTEST_SKIP() << device().describe();
  }
  void TearDown() override {
    EXPECT_EQ(device().live_blocks(), 0u);
    EXPECT_EQ(device().messages(), 0u) << "the validation layers have something to say";
  }
  static VulkanAllocator& device() { return TestedDevice::get(); }

  /// Runs both on `args` and compares what they write to `results`, which are among them, as are `inputs`.
  void expect_same(Kernel host, Kernel kernel, std::vector<Arg> args, const std::vector<Array>& inputs,
                   const std::vector<Array>& results) {
    const berth::testing::Outcome outcome = berth::testing::run_with(host, args, 1, size_t{1} << 22);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    std::vector<std::vector<double>> expected;
    for (const Array& result : results) {
      expected.push_back(result.values());
      std::memset(result.tensor().raw(), 0xCD, result.tensor().nbytes());
    }
    std::vector<Array> all = inputs;
    all.insert(all.end(), results.begin(), results.end());
    const Result<DeviceStream*> stream = device().create_stream(0);
    ASSERT_TRUE(stream.ok());
    run_on_device(kernel, args, all, *stream);
    device().destroy_stream(*stream, 0);
    for (size_t i = 0; i < results.size(); ++i) compare(results[i], expected[i]);
  }

 private:
  void run_on_device(Kernel kernel, std::vector<Arg>& args, const std::vector<Array>& all, DeviceStream* stream) {
    std::vector<void*> host;
    for (const Array& array : all) {
      Tensor& tensor = array.tensor();
      host.push_back(tensor.raw());
      const Result<void*> memory = device().allocate(tensor.nbytes(), 0);
      ASSERT_TRUE(memory.ok());
      EXPECT_EQ(device().copy_host_to_device(*memory, tensor.raw(), tensor.nbytes(), 0, stream), Error::kOk);
      tensor.set_data(*memory);
    }
    Session session;
    session.gpu = device().gpu(0);
    session.blocks = &device().blocks();
    session.stream = device().stream(stream);
    std::vector<EValue*> values;
    for (Arg& arg : args) values.push_back(arg.value());
    KernelContext context({}, nullptr, {}, &session);
    EXPECT_EQ(kernel(context, values), Error::kOk) << (context.message() == nullptr ? "" : context.message());
    EXPECT_EQ(session.run_steps(), Error::kOk);
    for (size_t i = 0; i < all.size(); ++i) {
      Tensor& tensor = all[i].tensor();
      EXPECT_EQ(device().copy_device_to_host(host[i], tensor.raw(), tensor.nbytes(), 0, stream), Error::kOk);
      device().deallocate(tensor.raw(), 0);
      tensor.set_data(host[i]);
    }
  }

  static void compare(const Array& result, const std::vector<double>& expected) {
    const std::vector<double> found = result.values();
    ASSERT_EQ(found.size(), expected.size());
    double most = 0;
    for (const double value : expected) most = std::isfinite(value) ? std::max(most, std::fabs(value)) : most;
    for (size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
      if (expected[i] == found[i]) continue;
      ASSERT_LE(std::fabs(found[i] - expected[i]), 1e-5 * most + 1e-4 * std::fabs(expected[i])) << "element " << i;
    }
  }
};

}  // namespace berth::vulkan

/// The kernels of one name on these arguments.
#define EXPECT_SAME(identifier, ...) \
  do { \
    SCOPED_TRACE(#identifier); \
    expect_same(Kernel(portable::identifier), Kernel(vulkan::identifier), __VA_ARGS__); \
  } while (false)
