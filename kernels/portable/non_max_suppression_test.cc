// non_max_suppression, against a plain search that compares every pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

constexpr size_t kSuppressionTemp = 4096;

Array result_of(int32_t rows) { return Array(DType::kI64, {rows, 3}, {}, {}, ShapeDynamism::kBounded); }

TEST(NonMaxSuppression, RandomBoxesAreThoseOfAPlainSearch) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(0, 10);
  for (int round = 0; round < 60; ++round) {
    const bool centred = round % 2 == 1;
    const int32_t count = 1 + static_cast<int32_t>(random() % 30);
    std::vector<double> boxes;
    std::vector<double> scores;
    for (int32_t i = 0; i < 2 * count; ++i) {
      for (int k = 0; k < 4; ++k) boxes.push_back(place(random));
    }
    for (int32_t i = 0; i < 2 * 2 * count; ++i) scores.push_back(static_cast<double>(random() % 8) / 8);
    const double overlap = static_cast<double>(random() % 10) / 10;
    const double least = 0.25;
    const int64_t most = random() % 6;
    const Array out = result_of(2 * 2 * count);
    ASSERT_EQ(run(non_max_suppression_out,
                  {f32({2, count, 4}, boxes), f32({2, 2, count}, scores), most, overlap, least, centred, out},
                  kSuppressionTemp),
              Error::kOk);
    std::vector<int64_t> expected;
    for (int64_t image = 0; image < 2; ++image) {
      for (int64_t kind = 0; kind < 2; ++kind) {
        const double* score = scores.data() + (image * 2 + kind) * count;
        const auto corners = [&](int64_t i) {
          const double* b = boxes.data() + (image * count + i) * 4;
          std::array<double, 4> c = {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]),
                                     std::max(b[1], b[3])};
          if (centred) c = {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
          return c;
        };
        std::vector<int64_t> order;
        for (int64_t i = 0; i < count; ++i) {
          if (score[i] > least) order.push_back(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
        std::vector<int64_t> chosen;
        for (int64_t i : order) {
          bool apart = true;
          for (int64_t j : chosen) {
            const auto a = corners(i);
            const auto b = corners(j);
            const double height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
            const double width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
            const double both = height > 0 && width > 0 ? height * width : 0;
            const double areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
            apart = apart && !(both > 0 && both / (areas - both) > overlap);
          }
          if (apart && static_cast<int64_t>(chosen.size()) < most) chosen.push_back(i);
        }
        for (int64_t i : chosen) expected.insert(expected.end(), {image, kind, i});
      }
    }
    EXPECT_EQ(out.integers(), expected) << "seed 5, round " << round;
    EXPECT_TRUE(out.intact());
  }
}

// Boxes that overlap exactly as much as is allowed stay.
TEST(NonMaxSuppression, TheLimitItselfIsNotTooMuch) {
  const Array boxes = f32({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 0.5});
  const Array scores = f32({1, 1, 2}, {0.9, 0.8});
  for (const double overlap : {0.5, 0.49}) {
    const Array out = result_of(2);
    ASSERT_EQ(run(non_max_suppression_out, {boxes, scores, 2, overlap, nullptr, false, out}, kSuppressionTemp),
              Error::kOk);
    EXPECT_EQ(out.sizes()[0], overlap == 0.5 ? 2 : 1);
  }
}

TEST(NonMaxSuppression, RefusesWhatDoesNotFit) {
  const Array out = result_of(2);
  EXPECT_NE(
      run(non_max_suppression_out, {f32({1, 2, 3}), f32({1, 1, 2}), 2, 0.5, nullptr, false, out}, kSuppressionTemp),
      Error::kOk);
  EXPECT_NE(
      run(non_max_suppression_out, {f32({1, 2, 4}), f32({1, 1, 3}), 2, 0.5, nullptr, false, out}, kSuppressionTemp),
      Error::kOk);
  EXPECT_NE(
      run(non_max_suppression_out, {f32({1, 2, 4}), f32({1, 1, 2}), -1, 0.5, nullptr, false, out}, kSuppressionTemp),
      Error::kOk);
  EXPECT_EQ(run(non_max_suppression_out,
                {f32({1, 2, 4}, std::vector<double>(8, 0)), f32({1, 1, 2}, {1, 1}), 2, 0.5, nullptr, false, out}),
            Error::kMemoryAllocationFailed);
}

}  // namespace
}  // namespace berth::portable
