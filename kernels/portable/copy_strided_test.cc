#include "kernels/portable/copy_strided.h"

#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

struct Box {
  size_t bytes;
  std::vector<int64_t> sizes;
  std::vector<int64_t> from;  // elements
  std::vector<int64_t> to;
  int64_t from_start = 0;
};

// Copies by the definition, and with StridedCopy on one and on three threads; both must write the same bytes.
void check(const Box& box, size_t from_elements, size_t to_elements, const std::string& what) {
  std::vector<uint8_t> source(from_elements * box.bytes);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 131 + i / 251);
  std::vector<uint8_t> expected(to_elements * box.bytes, 0xEE);
  int64_t count = 1;
  for (const int64_t size : box.sizes) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = box.from_start;
    int64_t to = 0;
    int64_t rest = i;
    for (size_t d = box.sizes.size(); d-- > 0; rest /= box.sizes[d]) {
      from += rest % box.sizes[d] * box.from[d];
      to += rest % box.sizes[d] * box.to[d];
    }
    std::memcpy(&expected[static_cast<size_t>(to) * box.bytes], &source[static_cast<size_t>(from) * box.bytes],
                box.bytes);
  }
  StridedCopy copy(box.bytes);
  for (size_t d = 0; d < box.sizes.size(); ++d) copy.add(box.sizes[d], box.from[d], box.to[d]);
  copy.prepare();
  for (const int threads : {1, 3}) {
    TestPool pool(threads);
    KernelContext context({}, &pool);
    std::vector<uint8_t> target(to_elements * box.bytes, 0xEE);
    copy.run(context, source.data() + static_cast<size_t>(box.from_start) * box.bytes, target.data());
    EXPECT_TRUE(target == expected) << what << ", " << box.bytes << " bytes an element, " << threads << " threads";
  }
}

// A box that is dense when written, read from a permuted source with gaps.
void check_permuted(size_t bytes, const std::vector<int64_t>& sizes, const std::vector<size_t>& source_order,
                    int64_t gap, const std::string& what) {
  Box box{bytes, sizes, std::vector<int64_t>(sizes.size()), std::vector<int64_t>(sizes.size())};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) box.to[d] = stride;
  const int64_t to_elements = stride;
  stride = 1;
  for (size_t i = source_order.size(); i-- > 0;) {
    box.from[source_order[i]] = stride;
    stride = stride * sizes[source_order[i]] + gap;
  }
  check(box, stride, to_elements, what);
}

TEST(CopyStrided, LosesNoElementInAnyDirectionAndSize) {
  const std::vector<std::vector<int64_t>> shapes = {
      {1},     {7},      {4},      {1, 1, 1}, {5, 3},    {16, 16},    {33, 17},      {64, 65},      {2, 50},
      {50, 2}, {3, 100}, {100, 3}, {100, 4},  {2, 3, 4}, {3, 20, 24}, {2, 17, 3, 5}, {4, 33, 2, 8}, {2, 3, 2, 3, 2},
  };
  for (const size_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    for (const auto& sizes : shapes) {
      std::vector<size_t> order(sizes.size());
      std::iota(order.begin(), order.end(), size_t{0});
      do {
        for (const int64_t gap : {0, 1}) {
          std::string what = "sizes";
          for (const int64_t size : sizes) what += " " + std::to_string(size);
          what += " order";
          for (const size_t d : order) what += " " + std::to_string(d);
          check_permuted(bytes, sizes, order, gap, what);
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(CopyStrided, LosesNoElementWhenThreadsShareTheWork) {
  check_permuted(4, {3, 224, 224}, {1, 2, 0}, 0, "image to planes");
  check_permuted(4, {224, 224, 3}, {2, 0, 1}, 0, "planes to image");
  check_permuted(4, {1, 12, 64, 64}, {0, 2, 1, 3}, 0, "attention heads");
  check_permuted(2, {300, 700}, {1, 0}, 0, "matrix");
  check_permuted(1, {1000003}, {0}, 0, "one run");
}

TEST(CopyStrided, ReadsTheSameElementAgainWhereTheStrideIsZero) {
  for (const size_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    check({bytes, {3, 50}, {1, 0}, {50, 1}}, 3, 150, "along rows");
    check({bytes, {3, 50}, {0, 1}, {50, 1}}, 50, 150, "row after row");
    check({bytes, {3, 50}, {0, 0}, {50, 1}}, 1, 150, "one element");
    check({bytes, {4, 3, 5}, {0, 1, 0}, {15, 5, 1}}, 3, 60, "in the middle");
  }
}

TEST(CopyStrided, ReadsBackwardsWhereTheStrideIsNegative) {
  for (const size_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    check({bytes, {6, 40}, {40, -1}, {40, 1}, 39}, 240, 240, "rows");
    check({bytes, {6, 40}, {-40, 1}, {40, 1}, 200}, 240, 240, "columns");
    check({bytes, {6, 40}, {-40, -1}, {40, 1}, 239}, 240, 240, "both");
  }
}

TEST(CopyStrided, WritesNothingBetweenTheElements) {
  for (const size_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    check({bytes, {5, 8}, {8, 1}, {40, 3}}, 40, 200, "elements apart");
    check({bytes, {5, 8}, {8, 1}, {11, 1}}, 40, 55, "rows apart");
    check({bytes, {20, 20}, {1, 20}, {33, 1}}, 400, 660, "transposed rows apart");
  }
}

TEST(CopyStrided, WritesNothingForAnEmptyBox) { check({4, {5, 0, 8}, {8, 8, 1}, {8, 8, 1}}, 1, 1, "empty"); }

}  // namespace
}  // namespace berth::portable
