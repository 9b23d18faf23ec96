#include "kernels/cpu/packing_layout.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/packing_offset.h"

namespace berth::cpu {
namespace {

// Elements in runs: one position after another of the dimension of which neighbours lie side by side in the packed
// weight. That one is written from its start to its end, and what it is read from is as many streams.
struct Run {
  int64_t dense, dense_step;    // the offset of its first element, and the stride to the next
  int64_t packed, packed_step;  // the same in the packed weight
  int64_t count;
};

class Runs {
 public:
  explicit Runs(const WeightLayout& layout) : layout_(layout) {
    if (layout.dims == 0) return;
    along_ = layout.blocks > 0 ? layout.block_dim[layout.blocks - 1] : last_contiguous();
    longest_ = layout.blocks > 0 ? layout.block[layout.blocks - 1] : layout.size[along_];
    for (int d = 0; d < layout.dims; ++d) {
      const int64_t step = d == along_ ? longest_ : 1;
      for (int64_t i = 0; i < layout.size[d]; i += step) tables_[d].push_back(packing_offset(layout, d, i));
    }
  }

  /// f(run) for all elements.
  template <typename F>
  void each(F&& f) const {
    walk(0, {0, 0, 0, 0, 1}, f);
  }

 private:
  int last_contiguous() const {
    for (int d = 0; d < layout_.dims; ++d) {
      if (layout_.stride[d] == 1 && layout_.size[d] > 1) return d;
    }
    return layout_.dims - 1;
  }

  template <typename F>
  void walk(int d, Run run, F& f) const {
    if (d == layout_.dims) return f(run);
    const int64_t dense = run.dense, packed = run.packed;
    const int64_t step = d == along_ ? longest_ : 1;
    if (d == along_) {
      run.dense_step = layout_.from[d];
      run.packed_step = layout_.blocks > 0 ? 1 : layout_.stride[d];
    }
    int64_t position = 0;
    for (const int64_t at : tables_[d]) {
      if (d == along_) run.count = std::min(longest_, layout_.size[d] - position);
      run.dense = dense + position * layout_.from[d];
      run.packed = packed + at;
      walk(d + 1, run, f);
      position += step;
    }
  }

  const WeightLayout& layout_;
  int along_ = 0;
  int64_t longest_ = 1;
  std::vector<int64_t> tables_[WeightLayout::kMaxDims];  // where each position lies; of `along_`, each run
};

}  // namespace

int64_t WeightLayout::block_of(int d) const {
  int64_t result = 1;
  for (int b = 0; b < blocks; ++b) result *= block_dim[b] == d ? block[b] : 1;
  return result;
}

int64_t packing_offset(const WeightLayout& layout, int d, int64_t position) {
  int64_t result = 0;
  int64_t inner = 1;
  for (int b = layout.blocks - 1; b >= 0; --b) {
    if (layout.block_dim[b] == d) {
      result += position % layout.block[b] * inner;
      position /= layout.block[b];
    }
    inner *= layout.block[b];
  }
  return result + position * layout.stride[d];
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

// A weight in a model's file lies anywhere.
template <typename T>
static T element(const uint8_t* bytes, int64_t i) {
  T element;
  std::memcpy(&element, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return element;
}

template <typename T>
static void pack_elements(const WeightLayout& layout, const void* dense, T* packed) {
  if (layout.numel() < layout.packed_numel()) std::memset(packed, 0, layout.packed_numel() * sizeof(T));
  Runs(layout).each([&](const Run& run) {
    const uint8_t* from = static_cast<const uint8_t*>(dense) + run.dense * static_cast<int64_t>(sizeof(T));
    T* to = packed + run.packed;
    if (run.packed_step == 1 && run.dense_step == 1) {
      std::memcpy(to, from, run.count * sizeof(T));
    } else if (run.packed_step == 1) {
      for (int64_t i = 0; i < run.count; ++i) to[i] = element<T>(from, i * run.dense_step);
    } else {
      for (int64_t i = 0; i < run.count; ++i) to[i * run.packed_step] = element<T>(from, i * run.dense_step);
    }
  });
}

template <typename T>
static void unpack_elements(const WeightLayout& layout, const T* packed, T* dense) {
  Runs(layout).each([&](const Run& run) {
    const T* from = packed + run.packed;
    T* to = dense + run.dense;
    for (int64_t i = 0; i < run.count; ++i) to[i * run.dense_step] = from[i * run.packed_step];
  });
}

void pack(const WeightLayout& layout, const float* dense, float* packed) { pack_elements(layout, dense, packed); }
void unpack(const WeightLayout& layout, const float* packed, float* dense) { unpack_elements(layout, packed, dense); }

void pack(const WeightLayout& layout, const void* dense, void* packed, size_t size) {
  if (size == sizeof(float)) return pack_elements(layout, dense, static_cast<float*>(packed));
  pack_elements(layout, dense, static_cast<uint16_t*>(packed));
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
