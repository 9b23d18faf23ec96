// What PyTorch's reshape() gives, a view or a copy: a write to a view that is taken for a copy is lost, and a copy that
// is taken for a view changes with its base. The cases are what torch 2.15 answered.
#include "compiler/import/pt2/view_strides.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace berth::pt2 {
namespace {

using Numbers = std::initializer_list<int64_t>;

std::vector<Size> sizes_of(Numbers numbers) {
  std::vector<Size> sizes;
  for (const int64_t number : numbers) {
    sizes.emplace_back();
    sizes.back().number = number;
  }
  return sizes;
}

TensorMeta meta_of(Numbers sizes, Numbers strides) {
  TensorMeta meta;
  meta.sizes = sizes_of(sizes);
  meta.strides = sizes_of(strides);
  meta.strided = true;
  return meta;
}

TEST(ViewStrides, AReshapeIsAViewWhereRunsAreCutByThemselves) {
  struct Case {
    Numbers sizes, strides, to;
    bool is_view;
  };
  const Case cases[] = {
      {{2, 5, 4}, {20, 4, 1}, {10, 4}, true},
      {{2, 5, 4}, {20, 4, 1}, {40}, true},
      {{2, 5, 2}, {20, 4, 1}, {2, 5, 2, 1}, true},
      {{2, 5, 2}, {20, 4, 1}, {10, 2}, true},
      {{2, 5, 2}, {20, 4, 1}, {2, 10}, false},
      {{2, 4, 4}, {20, 4, 1}, {2, 2, 2, 4}, true},
      {{2, 4, 4}, {20, 4, 1}, {8, 4}, false},
      {{2, 4, 4}, {20, 4, 1}, {2, 16}, true},
      {{5, 2, 4}, {4, 20, 1}, {5, 2, 4}, true},
      {{5, 2, 4}, {4, 20, 1}, {5, 8}, false},
      {{5, 2, 4}, {4, 20, 1}, {10, 4}, false},
      {{2, 4, 5}, {20, 1, 4}, {2, 2, 2, 5}, true},
      {{2, 4, 5}, {20, 1, 4}, {2, 20}, false},
      {{1, 5, 4}, {40, 4, 1}, {20}, true},
      {{3, 5, 4}, {0, 4, 1}, {3, 20}, true},
      {{3, 5, 4}, {0, 4, 1}, {15, 4}, false},
      {{1, 3, 4}, {4, 4, 1}, {12}, true},
      {{2, 0, 4}, {20, 4, 1}, {0, 7}, true},
      {{2, 1, 4}, {20, 4, 1}, {2, 4}, true},
      {{2, 1, 4}, {20, 4, 1}, {8}, false},
      {{}, {}, {1, 1}, true},
  };
  for (const Case& c : cases) {
    const TensorMeta from = meta_of(c.sizes, c.strides);
    EXPECT_EQ(reshapes_in_place(from, meta_of(c.to, {})), c.is_view) << &c - cases;
  }
}

TEST(ViewStrides, SizesThatChangeAreThoseOfTheExample) {
  TensorMeta from = meta_of({0, 5, 4}, {20, 4, 1});
  TensorMeta to = meta_of({0, 4}, {4, 1});
  from.sizes[0].expression = to.sizes[0].expression = "Symbol('s0')";
  EXPECT_TRUE(lies_in_order(from));
  EXPECT_TRUE(reshapes_in_place(from, to));
  from.strides[0].number = 40;
  EXPECT_FALSE(lies_in_order(from));
  from.sizes[0].hint = 3;
  to.sizes[0].hint = 15;
  EXPECT_FALSE(reshapes_in_place(from, to));
  from.strides[0].number = 20;
  EXPECT_TRUE(reshapes_in_place(from, to));
}

}  // namespace
}  // namespace berth::pt2
