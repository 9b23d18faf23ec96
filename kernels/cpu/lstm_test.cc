// One step of a long short-term memory against its definition in double. The fears: gates in another order, units
// beyond the last register, one row of a batch with another's state.

#include "kernels/cpu/lstm.h"

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

using testing::Array;
using testing::f32;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct LstmProblem {
  Array gates, hidden, cell, weight;
  int64_t batch, size;

  double gate(int64_t row, int64_t which, int64_t unit) const {
    const int64_t column = which * size + unit;
    double sum = static_cast<double>(gates.tensor().data<float>()[row * 4 * size + column]);
    for (int64_t k = 0; k < size; ++k) {
      sum += static_cast<double>(hidden.tensor().data<float>()[row * size + k]) *
             static_cast<double>(weight.tensor().data<float>()[k * 4 * size + column]);
    }
    return sum;
  }
  double next_cell(int64_t row, int64_t unit) const {
    const auto before = static_cast<double>(cell.tensor().data<float>()[row * size + unit]);
    return sigmoid(gate(row, 1, unit)) * before + sigmoid(gate(row, 0, unit)) * std::tanh(gate(row, 2, unit));
  }
};

void check(int32_t batch, int32_t size, int threads) {
  std::mt19937 random(static_cast<unsigned>(size));
  const LstmProblem p = {random_array(random, {batch, 4 * size}),
                         random_array(random, {batch, size}),
                         random_array(random, {batch, size}),
                         random_array(random, {size, 4 * size}),
                         batch,
                         size};
  float* w = p.weight.tensor().data<float>();
  for (int64_t i = 0; i < p.weight.tensor().numel(); ++i) w[i] /= static_cast<float>(size);
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(std::to_string(batch) + " x " + std::to_string(size) + ", " + target);
    const Array hidden = f32({batch, size});
    const Array cell = f32({batch, size});
    const testing::Outcome outcome =
        testing::run_with(lstm_cell_out, {p.gates, p.hidden, p.cell, p.weight, "", hidden, cell}, threads);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    EXPECT_TRUE(hidden.intact() && cell.intact());
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t unit = 0; unit < size; ++unit) {
        const double next = p.next_cell(row, unit);
        const auto at = static_cast<size_t>(row * size + unit);
        ASSERT_NEAR(cell.values()[at], next, 1e-5) << row << ", " << unit;
        ASSERT_NEAR(hidden.values()[at], sigmoid(p.gate(row, 3, unit)) * std::tanh(next), 1e-5) << row << ", " << unit;
      }
    }
  });
}

TEST(LstmCell, MatchesItsDefinition) {
  for (const int32_t size : {1, 5, 16, 63, 64, 65, 128}) check(1, size, 1);
  check(3, 40, 1);
}

TEST(LstmCell, SaturatedGatesAndNaN) {
  const std::vector<double> gates = {200, -200, 200,       NAN, 200, -200, INFINITY, 0,
                                     200, 200,  -INFINITY, 0,   200, 200,  200,      0};
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Array hidden = f32({1, 4});
    const Array cell = f32({1, 4});
    ASSERT_EQ(testing::run(lstm_cell_out, {f32({1, 16}, gates), f32({1, 4}, {0, 0, 0, 0}), f32({1, 4}, {5, 7, 3, 1}),
                                           f32({4, 16}, std::vector<double>(64, 0)), "", hidden, cell}),
              Error::kOk);
    EXPECT_NEAR(cell.values()[0], 6, 1e-5);
    EXPECT_NEAR(cell.values()[1], 0, 1e-5);
    EXPECT_NEAR(cell.values()[2], 2, 1e-5);
    EXPECT_NEAR(hidden.values()[0], std::tanh(6.0), 1e-6);
    EXPECT_NEAR(hidden.values()[2], std::tanh(2.0), 1e-6);
    EXPECT_TRUE(std::isnan(cell.values()[3]) && std::isnan(hidden.values()[3]));
  });
}

TEST(LstmCell, ThreadsShareTheUnits) { check(2, 200, 3); }

}  // namespace
}  // namespace berth::cpu
