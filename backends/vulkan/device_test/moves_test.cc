// Elements of any type that move, and tensors that are made of a number or a count, beside the portable kernels: to the
// bit.

#include "backends/vulkan/device_test/typed_testing.h"

namespace berth::vulkan {
namespace {

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr uint32_t kCases = 2;

// Copies four at a time where that is possible, and next to where it is not.
TEST_F(VulkanTyped, BytesThatMove) {
  one_form = false;
  using List = std::vector<int64_t>;
  for (uint32_t seed = 0; seed < 4 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : {DType::kU8, DType::kI8}) {
      SCOPED_TRACE(to_string(dtype));
      const int32_t unit = dice.coin() ? 4 : 1;
      const std::vector<int32_t> s = {dice.size(2), unit * dice.size(3), dice.size(6) + 2, unit * dice.size(3) + 1};
      const std::vector<uint8_t> last = {0, 2, 3, 1};
      const Array x = numbers(dice, dtype, s, false);
      const Array image = dice.coin() ? x : Array(dtype, s, x.values(), last);
      const auto to = [&](const std::vector<int32_t>& sizes) {
        return Array(dtype, sizes, {}, dice.coin() ? last : std::vector<uint8_t>{});
      };
      const Array most = to({s[0], s[1], s[2] - 1, s[3] - 1}), indices(DType::kI64, most.sizes());
      EXPECT_SAME(max_pool2d_with_indices_out,
                  {image, List{2, 2}, List{1, 1}, List{0, 0}, List{1, 1}, false, most, indices}, {image},
                  {most, indices});
      const Array large = to({s[0], s[1], 2 * s[2], dice.size(9)});
      const List size = {large.sizes()[2], large.sizes()[3]};
      EXPECT_SAME(upsample_nearest2d_vec_out, {image, size, nullptr, large}, {image}, {large});
      const Array y = to(s), joined = to({s[0], 2 * s[1], s[2], s[3]});
      EXPECT_SAME(clone_out, {image, nullptr, y}, {image}, {y});
      EXPECT_SAME(cat_out, {Arg::list({image, image}), 1, joined}, {image}, {joined});
      EXPECT_SAME(flip_out, {image, List{0, 2}, y}, {image}, {y});
      const Array part = to({s[0], s[1], s[2], s[3] - 1});
      EXPECT_SAME(slice_copy_Tensor_out, {image, 3, 1, int64_t{INT64_MAX}, 1, part}, {image}, {part});
      EXPECT_SAME(slice_copy_Tensor_out, {image, 3, 0, int64_t{s[3] - 1}, 1, part}, {image}, {part});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, PaddingOfEveryType) {
  using List = std::vector<int64_t>;
  for (uint32_t seed = 0; seed < 3 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const std::vector<int32_t> s = {dice.size(3), dice.size(4), dice.size(9)};
      const Array a = numbers(dice, dtype, s);
      List pads;
      std::vector<int32_t> sizes = s;
      for (int d = 2; d >= 1; --d) {
        for (int side = 0; side < 2; ++side) {
          pads.push_back(dice.number(sizes[d] > 1 ? -1 : 0, 3));
          sizes[d] += static_cast<int32_t>(pads.back());
        }
      }
      const Array y(dtype, sizes, {}, dice.order(3));
      EXPECT_SAME(constant_pad_nd_out, {a, pads, dtype == DType::kBool ? 1 : 3, y}, {a}, {y});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, CopiesOfSeveralBoxes) {
  using List = std::vector<int64_t>;
  for (uint32_t seed = 0; seed < 2 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const std::vector<int32_t> s = {dice.size(3), dice.size(4), dice.size(5) + 3, dice.size(5) + 3};
      const Array a = numbers(dice, dtype, s), rows = numbers(dice, dtype, s, false);
      const auto to = [&](const std::vector<int32_t>& sizes) {
        return Array(dtype, sizes, {}, dice.order(sizes.size()));
      };
      const Array y = to(s), twice = to({2, 3 * s[0], s[1], s[2], 2 * s[3]}), flat(dtype, s);
      EXPECT_SAME(repeat_out, {a, List{2, 3, 1, 1, 2}, twice}, {a}, {twice});
      EXPECT_SAME(roll_out, {a, List{1, -2}, List{1, 3}, y}, {a}, {y});
      EXPECT_SAME(roll_out, {rows, List{5}, List{}, flat}, {rows}, {flat});
      const Array wide = to({s[0], s[1], s[2] + 3, s[3] - 1});
      EXPECT_SAME(reflection_pad2d_out, {a, List{1, -2, 2, 1}, wide}, {a}, {wide});
      EXPECT_SAME(replication_pad2d_out, {a, List{-2, 1, 3, 0}, wide}, {a}, {wide});
      const Array line = numbers(dice, dtype, {2, 5}), longer = to({2, 11});
      EXPECT_SAME(reflection_pad1d_out, {line, List{4, 2}, longer}, {line}, {longer});
      EXPECT_SAME(replication_pad1d_out, {line, List{4, 2}, longer}, {line}, {longer});
      const Array deep = to({s[0], s[1] + 2, s[2], s[3]});
      EXPECT_SAME(replication_pad3d_out, {a, List{0, 0, 0, 0, 1, 1}, deep}, {a}, {deep});
      const Array part = numbers(dice, dtype, {s[0], s[1], s[3]}), cut = numbers(dice, dtype, {s[0], s[1], 2, s[3]});
      EXPECT_SAME(select_scatter_out, {a, part, 2, -1, y}, {a, part}, {y});
      EXPECT_SAME(slice_scatter_out, {a, cut, 2, 0, 3, 2, y}, {a, cut}, {y});
      const Array diagonal = to({s[0], s[1], std::min(s[2], s[3] - 1)});
      EXPECT_SAME(diagonal_copy_out, {a, 1, 2, 3, diagonal}, {a}, {diagonal});
      const Array small = numbers(dice, dtype, {2, 8, 3, 5}), large = to({2, 2, 6, 10});
      EXPECT_SAME(pixel_shuffle_out, {small, 2, large}, {small}, {large});
      const Array back = to({2, 8, 3, 5});
      EXPECT_SAME(pixel_unshuffle_out, {large, 2, back}, {large}, {back});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, TensorsOfOneNumber) {
  using List = std::vector<int64_t>;
  for (const DType dtype : kAll) {
    SCOPED_TRACE(to_string(dtype));
    const Array y(dtype, {3, 5}, {}, {1, 0}), x(dtype, {3, 5});
    EXPECT_SAME(full_out, {List{3, 5}, 1, y}, {}, {y});
    EXPECT_SAME(full_like_out, {x, 1, nullptr, y}, {x}, {y});
    EXPECT_SAME(ones_out, {List{3, 5}, y}, {}, {y});
    EXPECT_SAME(zeros_out, {List{3, 5}, y}, {}, {y});
    EXPECT_SAME(fill_Scalar_out, {x, 1, y}, {x}, {y});
  }
}

TEST_F(VulkanTyped, CountsAndNumbersOfTensors) {
  for (const DType dtype : kAll) {
    SCOPED_TRACE(to_string(dtype));
    Dice dice(1);
    const Array y(dtype, {3, 5}, {}, {1, 0}), x(dtype, {3, 5}), one = numbers(dice, dtype, {}), line(dtype, {7});
    EXPECT_SAME(fill_Tensor_out, {x, one, y}, {x, one}, {y});
    const Array number(dtype, {});
    EXPECT_SAME(scalar_tensor_out, {1, number}, {}, {number});
    const Array row = numbers(dice, dtype, {5});
    EXPECT_SAME(copy_out, {x, row, false, y}, {x, row}, {y});
    if (dtype == DType::kBool) continue;
    EXPECT_SAME(arange_out, {7, line}, {}, {line});
    EXPECT_SAME(arange_start_out, {10, -4, -2, line}, {}, {line});
  }
  exact = false;
  const Array halves(DType::kF32, {9});
  EXPECT_SAME(arange_start_out, {0.25, 4.5, 0.5, halves}, {}, {halves});
}

TEST_F(VulkanTyped, TrianglesOfAnyDiagonal) {
  for (uint32_t seed = 0; seed < 3 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      const Array x = numbers(dice, dtype, {2, dice.size(6), dice.size(6)});
      const Array y(dtype, x.sizes(), {}, dice.order(3));
      EXPECT_SAME(tril_out, {x, dice.number(-3, 3), y}, {x}, {y});
    }
    if (HasFailure()) return;
  }
}

// The largest of none is the least that there is.
TEST_F(VulkanTyped, WindowsOfBytesInThePaddingAlone) {
  using List = std::vector<int64_t>;
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    Dice dice(1);
    const Array x = numbers(dice, dtype, {1, 3, 6, 6}, false), y(dtype, {1, 3, 1, 1});
    const Array indices(DType::kI64, y.sizes());
    EXPECT_SAME(max_pool2d_with_indices_out, {x, List{2, 2}, List{1, 1}, List{1, 1}, List{7, 7}, false, y, indices},
                {x, indices}, {y});
  }
}

}  // namespace
}  // namespace berth::vulkan
