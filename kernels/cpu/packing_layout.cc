#include "kernels/cpu/packing_layout.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/math.h"

namespace berth::cpu {
namespace {

// Where the positions of each dimension lie: an element's offset is a sum of one number a dimension.
class Offsets {
 public:
  explicit Offsets(const WeightLayout& layout) : layout_(layout) {
    for (int d = 0; d < layout.dims; ++d) {
      tables_[d].resize(layout.size[d]);
      for (int64_t i = 0; i < layout.size[d]; ++i) tables_[d][i] = offset(d, i);
    }
  }

  /// f(offset in the dense weight, offset in the packed one) for each element.
  template <typename F>
  void each(F&& f) const {
    walk(0, 0, 0, f);
  }

 private:
  int64_t offset(int d, int64_t position) const {
    int64_t result = 0;
    int64_t inner = 1;
    for (int b = layout_.blocks - 1; b >= 0; --b) {
      if (layout_.block_dim[b] == d) {
        result += position % layout_.block[b] * inner;
        position /= layout_.block[b];
      }
      inner *= layout_.block[b];
    }
    return result + position * layout_.stride[d];
  }

  template <typename F>
  void walk(int d, int64_t dense, int64_t packed, F& f) const {
    const std::vector<int64_t>& table = tables_[d];
    const int64_t from = layout_.from[d];
    if (d == layout_.dims - 1) {
      for (const int64_t at : table) {
        f(dense, packed + at);
        dense += from;
      }
      return;
    }
    for (const int64_t at : table) {
      walk(d + 1, dense, packed + at, f);
      dense += from;
    }
  }

  const WeightLayout& layout_;
  std::vector<int64_t> tables_[WeightLayout::kMaxDims];
};

}  // namespace

int64_t WeightLayout::block_of(int d) const {
  int64_t result = 1;
  for (int b = 0; b < blocks; ++b) result *= block_dim[b] == d ? block[b] : 1;
  return result;
}

int64_t WeightLayout::numel() const {
  int64_t result = 1;
  for (int d = 0; d < dims; ++d) result *= size[d];
  return result;
}

int64_t WeightLayout::packed_numel() const {
  int64_t last = 0;
  int64_t inner = 1;
  for (int d = 0; d < dims; ++d) last += (ceil_div(size[d], block_of(d)) - 1) * stride[d];
  for (int b = 0; b < blocks; ++b) inner *= block[b];
  return last + inner;
}

int64_t WeightLayout::derived_offset() const {
  constexpr int64_t kAlignment = 16;  // a cache line
  return align_up(packed_numel(), kAlignment);
}

bool same_derived(const WeightLayout& a, const WeightLayout& b) {
  return a.derived != Derived::kNothing && a.derived == b.derived && a.derived_numel == b.derived_numel;
}

bool same_layout(const WeightLayout& a, const WeightLayout& b) {
  const auto equal = [](const auto& x, const auto& y, int n) { return std::equal(x, x + n, y); };
  if (a.dims != b.dims || a.blocks != b.blocks || !equal(a.size, b.size, a.dims) || !equal(a.from, b.from, a.dims) ||
      !equal(a.block, b.block, a.blocks) || !equal(a.block_dim, b.block_dim, a.blocks)) {
    return false;
  }
  for (int d = 0; d < a.dims; ++d) {
    if (a.size[d] > a.block_of(d) && a.stride[d] != b.stride[d]) return false;
  }
  return true;
}

template <typename T>
static void pack_elements(const WeightLayout& layout, const T* dense, T* packed) {
  std::memset(packed, 0, layout.packed_numel() * sizeof(T));
  Offsets(layout).each([&](int64_t from, int64_t to) { packed[to] = dense[from]; });
}

template <typename T>
static void unpack_elements(const WeightLayout& layout, const T* packed, T* dense) {
  Offsets(layout).each([&](int64_t to, int64_t from) { dense[to] = packed[from]; });
}

void pack(const WeightLayout& layout, const float* dense, float* packed) { pack_elements(layout, dense, packed); }
void unpack(const WeightLayout& layout, const float* packed, float* dense) { unpack_elements(layout, packed, dense); }

void pack(const WeightLayout& layout, const void* dense, void* packed, size_t size) {
  if (size == sizeof(float)) return pack(layout, static_cast<const float*>(dense), static_cast<float*>(packed));
  pack_elements(layout, static_cast<const uint16_t*>(dense), static_cast<uint16_t*>(packed));
}

void unpack(const WeightLayout& layout, const void* packed, void* dense, size_t size) {
  if (size == sizeof(float)) return unpack(layout, static_cast<const float*>(packed), static_cast<float*>(dense));
  unpack_elements(layout, static_cast<const uint16_t*>(packed), static_cast<uint16_t*>(dense));
}

int64_t DenseSizes::numel() const {
  int64_t result = 1;
  for (int d = 0; d < rank; ++d) result *= size[d];
  return result;
}

}  // namespace berth::cpu
