// For tests of one engine of convolutions: against the portable kernel, on every instruction set that the processor
// has, on one thread and on three. Not part of any library.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "format/activation_names.h"
#include "kernels/cpu/compare_testing.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_testing.h"

namespace berth::cpu {

inline const char* any_activation(std::mt19937& random) {
  return kActivationNames[std::uniform_int_distribution<size_t>(0, std::size(kActivationNames) - 1)(random)];
}

/// Our own engines are preferred while a test runs. A seed is said where a test fails that draws with it.
class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { set_preferred_engine(Prefer::kTiles); }
  ~EngineTest() override { set_preferred_engine(Prefer::kFaster); }

  /// A number from `low` to `high`.
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool truth() { return whole(0, 1) == 0; }

  const Seed seed_;
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_.text()};
  std::mt19937 random_{seed_.value};
};

/// Sizes as tensors have them.
inline std::vector<int32_t> narrow(std::initializer_list<int64_t> sizes) { return {sizes.begin(), sizes.end()}; }

/// fused_conv's arguments with the given array as its last, the result.
using ConvArguments = std::function<std::vector<testing::Arg>(const testing::Array& out)>;

/// What the portable kernel gives in `expected`, each run gives too, to within `tolerance` of 1 plus the element.
/// Returns how many runs there were: where another engine than `engine` is chosen, none is made.
inline int expect_engine_is_portable(const std::string& engine, const ConvArguments& arguments,
                                     const testing::Array& expected, double tolerance) {
  int runs = 0;
  EXPECT_EQ(testing::run(portable::fused_conv_out, arguments(expected), 4 << 20), Error::kOk);
  for_each_simd_target([&](const char* target) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(target) + " on " + std::to_string(threads) + " threads");
      const testing::Array out = array_like(expected);
      testing::Prepared call(testing::kConv, arguments(out), threads);
      ASSERT_EQ(call.error(), Error::kOk) << call.message();
      if (conv_engine(call.state()) != engine) continue;
      ++runs;
      for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(call.run(), Error::kOk) << call.message();
        expect_close(expected, out, tolerance);
      }
    }
  });
  return runs;
}

/// The runs where the engine is always chosen.
inline int all_runs() {
  int runs = 0;
  for_each_simd_target([&](const char*) { runs += 2; });
  return runs;
}

}  // namespace berth::cpu
