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

// What a step does behind its products, in any order of the gates.
void check_gates(int32_t batch, int32_t size, const std::vector<int64_t>& order, int threads) {
  std::mt19937 random(static_cast<unsigned>(batch * 1000 + size));
  const Array gates = random_array(random, {batch, 4 * size}), before = random_array(random, {batch, size});
  const auto gate = [&](int64_t row, size_t which, int64_t unit) {
    return static_cast<double>(gates.tensor().data<float>()[(row * 4 + order[which]) * size + unit]);
  };
  for_each_simd_target([&](const char* target) {
    SCOPED_TRACE(std::to_string(batch) + " x " + std::to_string(size) + ", " + target);
    const Array hidden = f32({batch, size}), cell = f32({batch, size});
    const testing::Outcome outcome = testing::run_with(lstm_gates_out, {gates, before, order, hidden, cell}, threads);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    EXPECT_TRUE(hidden.intact() && cell.intact());
    const std::vector<double> next_hidden = hidden.values(), next_cell = cell.values();
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t unit = 0; unit < size; ++unit) {
        const int64_t at = row * size + unit;
        const double next = sigmoid(gate(row, 1, unit)) * static_cast<double>(before.tensor().data<float>()[at]) +
                            sigmoid(gate(row, 0, unit)) * std::tanh(gate(row, 2, unit));
        ASSERT_NEAR(next_cell[at], next, 1e-5) << row << ", " << unit;
        ASSERT_NEAR(next_hidden[at], sigmoid(gate(row, 3, unit)) * std::tanh(next), 1e-5) << row << ", " << unit;
      }
    }
  });
}

TEST(LstmGates, MatchTheirDefinitionInEveryOrder) {
  std::vector<int64_t> order = {0, 1, 2, 3};
  do {
    check_gates(2, 17, order, 1);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const int32_t size : {1, 16, 63, 128}) check_gates(1, size, {0, 2, 3, 1}, 1);
  check_gates(300, 40, {0, 2, 3, 1}, 3);
}

TEST(LstmGates, AreRefusedInOrdersThatAreNone) {
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{0, 1, 2}, {0, 1, 2, 4}, {0, 1, 2, -1}, {0, 1, 2, 2}}) {
    EXPECT_EQ(testing::run(lstm_gates_out, {f32({1, 8}), f32({1, 2}), order, f32({1, 2}), f32({1, 2})}),
              Error::kInvalidArgument);
  }
  EXPECT_EQ(testing::run(lstm_gates_out,
                         {f32({1, 9}), f32({1, 2}), std::vector<int64_t>{0, 1, 2, 3}, f32({1, 2}), f32({1, 2})}),
            Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::cpu
