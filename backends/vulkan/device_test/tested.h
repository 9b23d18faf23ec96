// For tests of kernels: a kernel of this room and the portable one of the same name on the same arguments.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/vulkan/device_test/on_device_testing.h"
#include "backends/vulkan/kernels/kernels.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::vulkan {

using berth::testing::Arg;
using berth::testing::Array;
using berth::testing::Kernel;

/// What the tensors of a test are of, where it does not say.
inline DType elements = DType::kF32;

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
  /// Random elements, in a random order of the dimensions where `any_order`.
  Array array(const std::vector<int32_t>& sizes, bool any_order = false) {
    size_t count = 1;
    for (const int32_t one : sizes) count *= one;
    std::vector<double> values(count);
    for (double& value : values) value = real();
    return Array(elements, sizes, values, any_order ? order(sizes.size()) : std::vector<uint8_t>());
  }
  std::vector<uint8_t> order(size_t rank) {
    std::vector<uint8_t> made(rank);
    std::iota(made.begin(), made.end(), uint8_t{0});
    if (coin()) std::shuffle(made.begin(), made.end(), random_);
    return made;
  }
  /// The same in this order of the dimensions.
  Array ordered(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order) {
    return Array(elements, sizes, array(sizes).values(), order);
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
    return Array(elements, sizes, made.values(), image_order(static_cast<int>(sizes.size())));
  }

 private:
  std::mt19937 random_;
  ::testing::ScopedTrace trace_;
};

/// Which kernels a device has: those that it chooses, those for cards, and the latter with the dot product of four
/// bytes, which lavapipe has and says is not faster.
enum class Form { kChosen, kForCards, kWithDotProducts };
constexpr Form kForms[] = {Form::kChosen, Form::kForCards, Form::kWithDotProducts};
constexpr const char* kFormNames[] = {"kernels that the device chooses", "kernels for cards", "with dot products"};

/// The device, with validation, once with each form; closed before the layers' own objects end.
class TestedDevice final : public ::testing::Environment {
 public:
  static VulkanAllocator& get(Form form = Form::kChosen) {
    std::unique_ptr<VulkanAllocator>& one = opened(form);
    if (one == nullptr) {
      VulkanOptions options;
      options.validation = true;
      options.for_cards = form != Form::kChosen;
      options.with_dot_products = form == Form::kWithDotProducts;
      options.without_dot_products = form != Form::kWithDotProducts;
      one = std::make_unique<VulkanAllocator>(options);
    }
    return *one;
  }
  void TearDown() override {
    for (const Form form : kForms) opened(form).reset();
  }

 private:
  friend class VulkanKernels;
  static std::unique_ptr<VulkanAllocator>& opened(Form form) {
    static std::unique_ptr<VulkanAllocator> all[3];
    return all[static_cast<int>(form)];
  }
};

/// A tensor of whole numbers as they are; doubles would lose low bits of 64.
inline Array integers(DType dtype, const std::vector<int32_t>& sizes, const std::vector<int64_t>& values,
                      const std::vector<uint8_t>& order = {}) {
  const Array made(dtype, sizes, {}, order);
  made.set_integers(values);
  return made;
}

/// A result of the sizes and the order of `like`, or of others.
inline Array room(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order = {}) {
  return Array(elements, sizes, {}, order);
}

/// The same elements, rounded to `dtype`, in the same order of dimensions.
inline Array rounded(const Array& array, DType dtype) {
  const Span<const uint8_t> order = array.tensor().dim_order();
  return Array(dtype, array.sizes(), array.values(), {order.begin(), order.end()});
}

class VulkanKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device().device_count() == 0) GTEST_SKIP() << device().describe();
  }
  void TearDown() override {
    elements = DType::kF32;
    for (const Form form : kForms) {
      if (TestedDevice::opened(form) == nullptr) continue;
      EXPECT_EQ(device(form).live_blocks(), 0u);
      EXPECT_EQ(device(form).messages(), 0u) << "the validation layers have something to say";
    }
  }
  static VulkanAllocator& device(Form form = Form::kChosen) { return TestedDevice::get(form); }

  bool exact = false;     // whether the results must be the same bytes, as long as they are numbers
  bool one_form = false;  // of kernels that cards and others share
  bool of_bytes = false;  // kernels for cards have a form with dot products
  bool one_step = false;  // integers may differ by one

  /// Runs the host's, and the device's in both forms, on `args` and compares what they write to `results`, which are
  /// among them, as are `inputs`.
  void expect_same(Kernel host, Kernel kernel, std::vector<Arg> args, const std::vector<Array>& inputs,
                   const std::vector<Array>& results) {
    const berth::testing::Outcome outcome = berth::testing::run_with(host, args, 1, size_t{1} << 22);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    std::vector<Wanted> expected;
    for (const Array& result : results) expected.push_back({result.values(), bytes_of(result)});
    std::vector<Array> all = inputs;
    all.insert(all.end(), results.begin(), results.end());
    for (const Form form : kForms) {
      if (form != Form::kChosen && one_form) continue;
      if (form == Form::kWithDotProducts && !of_bytes) continue;
      SCOPED_TRACE(kFormNames[static_cast<int>(form)]);
      for (const Array& result : results) std::memset(result.tensor().raw(), 0xCD, result.tensor().nbytes());
      run_on_device(device(form), kernel, args, all);
      for (size_t i = 0; i < results.size(); ++i) compare(results[i], expected[i]);
    }
  }

 private:
  struct Wanted {
    std::vector<double> values;
    std::vector<uint8_t> bytes;  // as they lie in memory
  };

  static std::vector<uint8_t> bytes_of(const Array& array) {
    const uint8_t* const first = array.tensor().data<uint8_t>();
    return {first, first + array.tensor().nbytes()};
  }

  static void run_on_device(VulkanAllocator& device, Kernel kernel, const std::vector<Arg>& args,
                            const std::vector<Array>& all) {
    OnDevice on(device, all);
    EXPECT_EQ(on.ask(kernel, args), Error::kOk) << on.message;
    EXPECT_EQ(on.session.run_steps(), Error::kOk);
    for (const Array& array : all) on.read(array);
  }

  void compare(const Array& result, const Wanted& expected) const {
    exact ? compare_bytes(result, expected.bytes) : compare_values(result, expected.values);
  }

  // Doubles would neither tell apart 2^53 and 2^53 + 1 nor 0 and -0.
  static void compare_bytes(const Array& result, const std::vector<uint8_t>& expected) {
    const std::vector<uint8_t> found = bytes_of(result);
    const DType dtype = result.tensor().dtype();
    const size_t size = element_size(dtype);
    const auto number = [&](const std::vector<uint8_t>& bytes, size_t at) {
      double value = 0;
      portable::convert_elements(dtype, bytes.data() + at, DType::kF64, &value, 1);
      return value;
    };
    const auto words = [&](const std::vector<uint8_t>& bytes, size_t at) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, size);
      return value;
    };
    ASSERT_EQ(found.size(), expected.size());
    for (size_t at = 0; at < found.size(); at += size) {
      if (std::memcmp(found.data() + at, expected.data() + at, size) == 0) continue;
      if (std::isnan(number(found, at)) && std::isnan(number(expected, at))) continue;
      FAIL() << "element " << at / size << " in memory is " << number(found, at) << ", not " << number(expected, at)
             << std::hex << " (0x" << words(found, at) << ", not 0x" << words(expected, at) << ")";
    }
  }

  void compare_values(const Array& result, const std::vector<double>& expected) const {
    const std::vector<double> found = result.values();
    ASSERT_EQ(found.size(), expected.size());
    // Of f32 sums in another order; of 16 bits some steps, as what is rounded twice differs.
    const DType dtype = result.tensor().dtype();
    const double step = dtype == DType::kF16 ? 1e-3 : dtype == DType::kBF16 ? 8e-3 : 5e-5;
    const double of_most = dtype == DType::kF32 ? 1e-5 : step;
    double most = 0;
    for (const double value : expected) most = std::isfinite(value) ? std::max(most, std::fabs(value)) : most;
    for (size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
      if (expected[i] == found[i]) continue;
      if (one_step && std::fabs(expected[i] - found[i]) <= 1) continue;
      ASSERT_LE(std::fabs(found[i] - expected[i]), of_most * most + 2 * step * std::fabs(expected[i]))
          << "element " << i;
    }
  }
};

/// For tensors of each type that kernels take.
class VulkanKernelsOfTypes : public VulkanKernels, public ::testing::WithParamInterface<DType> {
 protected:
  void SetUp() override {
    VulkanKernels::SetUp();
    elements = GetParam();
  }
  /// So many of f32; of other types, fewer.
  static uint32_t cases(uint32_t of_f32) { return GetParam() == DType::kF32 ? of_f32 : of_f32 / 3; }
};

}  // namespace berth::vulkan

#define FOR_ALL_TYPES() \
  INSTANTIATE_TEST_SUITE_P(Of, VulkanKernelsOfTypes, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16), \
                           [](const auto& type) { return std::string(to_string(type.param)); })

/// The kernels of one name on these arguments.
#define EXPECT_SAME(identifier, ...) \
  do { \
    SCOPED_TRACE(#identifier); \
    expect_same(Kernel(portable::identifier), Kernel(vulkan::identifier), __VA_ARGS__); \
  } while (false)
