#include "kernels/cpu/packing_narrow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/packing.h"

namespace berth::cpu {
namespace {

constexpr char kName[] = "panels 64 [";
constexpr char kDigits[] = " digits ";

// A number from 1 to INT32_MAX, and `after` behind it.
bool take(StringRef text, size_t* at, char after, int64_t* number) {
  *number = 0;
  const size_t start = *at;
  while (*at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9' && *number <= INT32_MAX) {
    *number = *number * 10 + (text.data[(*at)++] - '0');
  }
  return *at > start && *number >= 1 && *number <= INT32_MAX && *at < text.size && text.data[(*at)++] == after;
}

template <typename T, typename F>
void pack_numbers(const NarrowLayout& layout, T* to, F&& f) {
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    const int64_t first = panel * kNarrowPanel;
    for (int64_t block = 0; block < layout.blocks; ++block) {
      for (int64_t j = first; j < first + layout.width(panel); ++j) *to++ = j < layout.columns ? f(block, j) : T(0);
    }
  }
}

// Where row `i` of a group begins in its 32 bits.
int bit_of(int64_t bits, int64_t i) { return static_cast<int>(bits == 8 ? 8 * i : i < 4 ? 8 * i : 8 * (i - 4) + 4); }

uint32_t group_of(const NarrowLayout& layout, const portable::NarrowWeight& weight, int64_t group, int64_t j) {
  uint32_t word = 0;
  for (int64_t i = 0; i < layout.group() && group * layout.group() + i < layout.depth; ++i) {
    const int number = weight.number(group * layout.group() + i, j) + (1 << (layout.bits - 1));
    word |= static_cast<uint32_t>(number) << bit_of(layout.bits, i);
  }
  return word;
}

bool all_finite(const float* x, int64_t n) {
  return std::all_of(x, x + n, [](float y) { return std::isfinite(y); });
}

// A tensor over memory that is somewhere else.
class Matrix {
 public:
  Matrix(DType dtype, int64_t rows, int64_t columns, const void* data)
      : sizes_{static_cast<int32_t>(rows), static_cast<int32_t>(columns)} {
    static constexpr uint8_t kOrder[] = {0, 1};
    tensor_ = Tensor(dtype, 2, sizes_, kOrder, strides_, const_cast<void*>(data));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  const Tensor& tensor() const { return tensor_; }

 private:
  int32_t sizes_[2];
  int64_t strides_[2] = {};
  Tensor tensor_;
};

int64_t dense_bytes(const NarrowToPack& linear) {
  const int64_t rows = linear.bits == 8 ? linear.depth : ceil_div<int64_t>(linear.depth, 2);
  return rows * linear.columns + 4 * linear.scale_rows * linear.scale_columns +
         linear.zero_rows * linear.zero_columns *
             (linear.zeros != nullptr        ? 1
              : linear.real_zeros != nullptr ? 4
                                             : 0);
}

}  // namespace

bool pack_narrow(const NarrowToPack& linear, PackedNarrow* packed) {
#ifndef BERTH_HIGHWAY
  return false;
#endif
  const NarrowLayout layout = {linear.depth, linear.columns,
                               linear.block, linear.depth < 1 ? 0 : (linear.depth - 1) / linear.block + 1,
                               linear.bits,  linear.digits};
  const bool zeros = linear.zeros != nullptr || linear.real_zeros != nullptr;
  const int64_t zero_bytes = linear.zeros != nullptr ? 1 : zeros ? 4 : 0;
  const int64_t scale_count = linear.scale_rows * linear.scale_columns;
  const bool half = are_halves(linear.scales, scale_count);
  const int64_t scale_bytes = half ? 2 : 4;
  if (!layout.fits() || !all_finite(linear.scales, scale_count) ||
      (linear.real_zeros != nullptr && !all_finite(linear.real_zeros, linear.zero_rows * linear.zero_columns)) ||
      20 * (layout.weight_bytes() + (scale_bytes + zero_bytes) * layout.numbers()) > 21 * dense_bytes(linear)) {
    return false;
  }
  const Matrix weight(DType::kU8, 1, linear.columns, linear.weight);
  const Matrix scales(DType::kF32, linear.scale_rows, linear.scale_columns, linear.scales);
  const void* zero_data = linear.zeros != nullptr ? static_cast<const void*>(linear.zeros) : linear.real_zeros;
  const Matrix points(linear.zeros != nullptr ? DType::kI8 : DType::kF32, linear.zero_rows, linear.zero_columns,
                      zero_data);
  const portable::NarrowWeight dense(weight.tensor(), scales.tensor(), zeros ? &points.tensor() : nullptr, linear.bits);
  packed->weight.resize(layout.weight_bytes());
  packed->scale_type = half ? DType::kF16 : DType::kF32;
  packed->scales.resize(scale_bytes * layout.numbers());
  packed->zeros.resize(zero_bytes * layout.numbers());
  pack_narrow_weight(layout, dense, packed->weight.data());
  if (half) {
    pack_narrow_scales(layout, dense, reinterpret_cast<Half*>(packed->scales.data()));
  } else {
    pack_narrow_scales(layout, dense, reinterpret_cast<float*>(packed->scales.data()));
  }
  if (linear.zeros != nullptr) {
    pack_narrow_zeros(layout, dense, reinterpret_cast<int8_t*>(packed->zeros.data()));
  } else if (zeros) {
    pack_narrow_zeros(layout, dense, reinterpret_cast<float*>(packed->zeros.data()));
  }
  packed->text = layout.text();
  return true;
}

bool are_halves(const float* x, int64_t n) {
  return std::all_of(x, x + n, [](float y) { return static_cast<float>(Half(y)) == y; });
}

std::string NarrowLayout::text() const {
  const std::string sizes = kName + std::to_string(depth) + "," + std::to_string(columns) + "]";
  return digits == 3 ? sizes : sizes + kDigits + std::to_string(digits);
}

bool read_narrow_packing(StringRef text, int64_t bits, int64_t block, NarrowLayout* layout) {
  size_t at = sizeof(kName) - 1;
  if (text.size < at || std::memcmp(text.data, kName, at) != 0 || (bits != 4 && bits != 8) || block < 1) return false;
  layout->bits = bits;
  layout->block = block;
  if (!take(text, &at, ',', &layout->depth) || !take(text, &at, ']', &layout->columns)) return false;
  layout->digits = 3;
  if (at < text.size) {
    if (text.size != at + sizeof kDigits || std::memcmp(text.data + at, kDigits, sizeof kDigits - 1) != 0) return false;
    layout->digits = text.data[text.size - 1] - '0';
    if (layout->digits != 1 && layout->digits != 2) return false;
  }
  layout->blocks = (layout->depth - 1) / block + 1;
  return layout->fits();
}

void pack_narrow_weight(const NarrowLayout& layout, const portable::NarrowWeight& weight, uint8_t* to) {
  const int64_t groups = ceil_div(layout.depth, layout.group());
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    const int64_t first = panel * kNarrowPanel;
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t j = first; j < first + layout.width(panel); ++j) {
        const uint32_t word = j < layout.columns ? group_of(layout, weight, group, j) : 0;
        std::memcpy(to, &word, sizeof word);
        to += sizeof word;
      }
    }
  }
}

void pack_narrow_scales(const NarrowLayout& layout, const portable::NarrowWeight& weight, float* to) {
  pack_numbers(layout, to, [&](int64_t block, int64_t j) { return weight.scale(block, j); });
}

void pack_narrow_scales(const NarrowLayout& layout, const portable::NarrowWeight& weight, Half* to) {
  pack_numbers(layout, to, [&](int64_t block, int64_t j) { return Half(weight.scale(block, j)); });
}

void pack_narrow_zeros(const NarrowLayout& layout, const portable::NarrowWeight& weight, float* to) {
  pack_numbers(layout, to, [&](int64_t block, int64_t j) { return weight.zero_point(block, j); });
}

void pack_narrow_zeros(const NarrowLayout& layout, const portable::NarrowWeight& weight, int8_t* to) {
  pack_numbers(layout, to, [&](int64_t block, int64_t j) { return static_cast<int8_t>(weight.zero_point(block, j)); });
}

}  // namespace berth::cpu
