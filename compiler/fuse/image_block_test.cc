// Rows of an image and the rows that they see. The fears: a row off by one, padding in the middle of an image, rows
// that are not there.
#include "compiler/fuse/image_block.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds_testing.h"

namespace berth::fuse {
namespace {

// A convolution along one axis, of rows that are numbers.
std::vector<int64_t> convolved(const std::vector<int64_t>& rows, const RowWindow& window, int64_t dilation,
                               int64_t padding) {
  std::vector<int64_t> out;
  const auto height = static_cast<int64_t>(rows.size());
  for (int64_t at = -padding; at + window.size <= height + padding; at += window.stride) {
    int64_t sum = 0;
    for (int64_t tap = 0; tap < window.size; tap += dilation) {
      const int64_t row = at + tap;
      if (row >= 0 && row < height) sum = sum * 7 + rows[static_cast<size_t>(row)] * (tap + 1);
    }
    out.push_back(sum);
  }
  return out;
}

TEST(ImageBlock, RowsOfAStripAreThoseOfTheImage) {
  berth::testing::for_each_seed(3000, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto number = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    const int64_t dilation = number(1, 3);
    const int64_t size = (number(1, 5) - 1) * dilation + 1;
    const RowWindow window = {size, number(1, 3), number(0, size)};
    std::vector<int64_t> rows(static_cast<size_t>(number(std::max<int64_t>(1, size - 2 * window.padding), 24)));
    for (int64_t& row : rows) row = number(1, 1000);
    const std::vector<int64_t> whole = convolved(rows, window, dilation, window.padding);
    const auto count = static_cast<int64_t>(whole.size());
    ImageRows wanted;
    wanted.begin = number(0, count - 1);
    wanted.end = number(wanted.begin + 1, count);
    const RowReading reading = reading_for(window, wanted, static_cast<int64_t>(rows.size()));
    ASSERT_GE(reading.read.begin, 0);
    ASSERT_LE(reading.read.end, static_cast<int64_t>(rows.size()));
    const std::vector<int64_t> some(rows.begin() + reading.read.begin, rows.begin() + reading.read.end);
    const std::vector<int64_t> made = convolved(some, window, dilation, reading.padded ? window.padding : 0);
    ASSERT_EQ(static_cast<int64_t>(made.size()), reading.made.count());
    ASSERT_LE(reading.made.begin, wanted.begin);
    ASSERT_GE(reading.made.end, wanted.end);
    ASSERT_LE(reading.made.end, count);
    for (int64_t i = wanted.begin; i < wanted.end; ++i) {
      ASSERT_EQ(made[static_cast<size_t>(i - reading.made.begin)], whole[static_cast<size_t>(i)]) << "row " << i;
    }
  });
}

}  // namespace
}  // namespace berth::fuse
