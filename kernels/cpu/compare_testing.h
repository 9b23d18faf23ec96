// For tests: a kernel of this room against the portable one of the same name, on every instruction set that the
// processor has, on one thread and on three. Not part of any library.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "base/seeds_testing.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/simd_testing.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::cpu {

/// The order of channels last.
inline const std::vector<uint8_t> kLast = {0, 2, 3, 1};

inline const KernelEntry& kernel_of(KernelTable table, const std::string& name) {
  for (const KernelEntry& entry : table) {
    if (name == entry.name) return entry;
  }
  ADD_FAILURE() << "no kernel " << name;
  return table[0];
}

/// An array of floats around 0 in the given order; now and then one that is infinite or NaN where `special`.
inline testing::Array random_array(std::mt19937& random, std::vector<int32_t> sizes, std::vector<uint8_t> order = {},
                                   bool special = false) {
  const testing::Array array(DType::kF32, std::move(sizes), {}, std::move(order));
  std::normal_distribution<float> normal(0, 2);
  float* x = array.tensor().data<float>();
  const float specials[] = {INFINITY, -INFINITY, NAN, -0.0f, 0.0f};
  for (int64_t i = 0; i < array.tensor().numel(); ++i) {
    x[i] = special && random() % 16 == 0 ? specials[random() % 5] : normal(random);
  }
  return array;
}

/// An array of the same type and order as `array`, its elements not set.
inline testing::Array array_like(const testing::Array& array) {
  const Tensor& t = array.tensor();
  return testing::Array(t.dtype(), array.sizes(), {}, {t.dim_order().begin(), t.dim_order().end()}, t.dynamism());
}

inline testing::Outcome call(const KernelEntry& entry, std::vector<testing::Arg> args,
                             const std::vector<testing::Array>& outs, int threads) {
  for (const testing::Array& out : outs) args.emplace_back(out);
  std::vector<EValue*> values;
  for (testing::Arg& arg : args) values.push_back(arg.value());
  const Span<EValue* const> span(values.data(), values.size());
  const size_t bytes = entry.temp_bytes == nullptr ? 0 : entry.temp_bytes(span, threads);
  return testing::run_with(entry.call, args, threads, bytes);
}

inline void expect_close(const testing::Array& expected, const testing::Array& found, double tolerance) {
  ASSERT_EQ(expected.sizes(), found.sizes());
  EXPECT_TRUE(found.intact());
  const std::vector<double> a = expected.values();
  const std::vector<double> b = found.values();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::fabs(a[i] - b[i]) <= tolerance * (1 + std::fabs(a[i]));
    ASSERT_TRUE(same) << "element " << i << ": expected " << a[i] << ", found " << b[i];
  }
}

/// Calls both kernels with `args` and, behind them, `outs` (for ours, others like them) and compares what they give.
inline void expect_same_as_portable(const std::string& name, const std::vector<testing::Arg>& args,
                                    const std::vector<testing::Array>& outs, double tolerance = 1e-5) {
  const testing::Outcome expected = call(kernel_of(portable::kernels(), name), args, outs, 1);
  for (const int threads : {1, 3}) {
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(name + " on " + std::to_string(threads) + " threads, " + target);
      std::vector<testing::Array> ours;
      for (const testing::Array& out : outs) {
        ours.push_back(array_like(out));
        if (out.tensor().raw() == nullptr) ours.back().tensor().set_data(nullptr);
      }
      const testing::Outcome outcome = call(kernel_of(kernels(), name), args, ours, threads);
      ASSERT_EQ(outcome.error, expected.error) << outcome.message;
      for (size_t i = 0; i < outs.size() && expected.error == Error::kOk; ++i) {
        if (outs[i].tensor().raw() != nullptr) expect_close(outs[i], ours[i], tolerance);
      }
    });
  }
}

/// A pool may run its ranges one after the other, on one thread, in any order.
class OneAfterAnother final : public ThreadPool {
 public:
  explicit OneAfterAnother(bool backwards) : backwards_(backwards) {}
  int size() const override { return 4; }
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    for (int64_t i = 0; i < count; i += grain) {
      const int64_t begin = backwards_ ? std::max<int64_t>(0, count - i - grain) : i;
      body.call(body.context, begin, backwards_ ? count - i : std::min(count, i + grain));
    }
  }

 private:
  bool backwards_;
};

/// A seed for a test's random numbers, printed when the test fails: SCOPED_TRACE(seed.text()).
struct Seed {
  unsigned value = testing::new_seed();
  std::string text() const { return "repeat with BERTH_SEED=" + std::to_string(value); }
};

}  // namespace berth::cpu
