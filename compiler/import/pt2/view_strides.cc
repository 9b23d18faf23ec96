#include "compiler/import/pt2/view_strides.h"

#include <algorithm>
#include <vector>

#include "base/math.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kUnknown = -1;

int64_t extent_of(const Size& size) { return size.expression.empty() ? size.number : size.hint; }

std::vector<int64_t> extents_of(const std::vector<Size>& sizes) {
  std::vector<int64_t> numbers(sizes.size());
  std::transform(sizes.begin(), sizes.end(), numbers.begin(), extent_of);
  return numbers;
}

// kUnknown where one of them is, or the product does not fit.
int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return a < 0 || b < 0 || !checked_mul(a, b, &result) ? kUnknown : result;
}

bool differ(int64_t a, int64_t b) { return a != kUnknown && b != kUnknown && a != b; }

}  // namespace

bool lies_in_order(const TensorMeta& meta) {
  if (!meta.strided) return false;
  const std::vector<int64_t> sizes = extents_of(meta.sizes), strides = extents_of(meta.strides);
  if (std::count(sizes.begin(), sizes.end(), 0) > 0) return true;
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && differ(strides[d], expected)) return false;
    expected = product(expected, sizes[d]);
  }
  return true;
}

bool reshapes_in_place(const TensorMeta& from, const TensorMeta& to) {
  if (!from.strided) return false;
  if (lies_in_order(from)) return true;
  const std::vector<int64_t> sizes = extents_of(from.sizes), strides = extents_of(from.strides);
  const std::vector<int64_t> wanted = extents_of(to.sizes);
  size_t left = wanted.size();  // dimensions of the result that are not made yet
  int64_t step = strides.back(), run = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    run = product(run, sizes[d]);
    if (d > 0 && (sizes[d - 1] == 1 || !differ(strides[d - 1], product(run, step)))) continue;
    if (run == kUnknown) return true;
    int64_t made = 1;
    for (; left > 0 && made != kUnknown && (made < run || wanted[left - 1] == 1); --left) {
      made = product(made, wanted[left - 1]);
    }
    if (differ(made, run)) return false;
    if (made == kUnknown) return true;
    if (d > 0) step = strides[d - 1];
    run = 1;
  }
  return left == 0;
}

}  // namespace berth::pt2
