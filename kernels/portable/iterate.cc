#include "kernels/portable/iterate.h"

#include <cstring>

namespace berth::portable {
namespace {

template <typename T>
void gather_as(const Walk& walk, const void* base, int64_t begin, int64_t n, void* target) {
  T* to = static_cast<T*>(target);
  const T* from = static_cast<const T*>(base);
  const int64_t step = walk.step(0);
  for_each_run(walk, begin, begin + n, [&](const int64_t* offsets, int64_t count) {
    const T* run = from + offsets[0];
    if (step == 1) {
      std::memcpy(to, run, count * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = run[i * step];
    }
    to += count;
  });
}

template <typename T>
void scatter_as(const Walk& walk, void* base, int64_t begin, int64_t n, const void* source) {
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(base);
  const int64_t step = walk.step(0);
  for_each_run(walk, begin, begin + n, [&](const int64_t* offsets, int64_t count) {
    T* run = to + offsets[0];
    for (int64_t i = 0; i < count; ++i) run[i * step] = from[i];
    from += count;
  });
}

}  // namespace

void Walk::add(int64_t size, const int64_t* dim_strides) {
  count *= size;
  if (size == 1) return;
  const int last = rank - 1;
  bool merges = true;
  for (int k = 0; k < operands; ++k) merges = merges && strides[k][last] == dim_strides[k] * size;
  const bool first = rank == 1 && sizes[0] == 1;
  if (merges && !first) {
    sizes[last] *= size;
    for (int k = 0; k < operands; ++k) strides[k][last] = dim_strides[k];
    return;
  }
  const int place = first ? 0 : rank++;
  sizes[place] = size;
  for (int k = 0; k < operands; ++k) strides[k][place] = dim_strides[k];
}

void Walk::offsets(int64_t index, int64_t* result) const {
  for (int k = 0; k < operands; ++k) result[k] = 0;
  for (int d = rank - 1; d >= 0 && index != 0; --d) {
    const int64_t at = index % sizes[d];
    index /= sizes[d];
    for (int k = 0; k < operands; ++k) result[k] += at * strides[k][d];
  }
}

bool Walk::is_dense(int k) const {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[k][d] != stride) return false;
    stride *= sizes[d];
  }
  return true;
}

bool Walk::is_splat(int k) const {
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] != 1 && strides[k][d] != 0) return false;
  }
  return true;
}

Walk walk_broadcast(Span<const Tensor* const> tensors) {
  Walk walk(static_cast<int>(tensors.size()));
  const Tensor& first = *tensors[0];
  int64_t strides[Walk::kMaxOperands];
  for (const uint8_t dim : first.dim_order()) {
    for (size_t k = 0; k < tensors.size(); ++k) strides[k] = broadcast_stride(*tensors[k], first.rank(), dim);
    walk.add(first.size(dim), strides);
  }
  return walk;
}

Walk walk_dims(Span<const Tensor* const> tensors, uint32_t dims) {
  Walk walk(static_cast<int>(tensors.size()));
  int64_t strides[Walk::kMaxOperands];
  for (const uint8_t dim : tensors[0]->dim_order()) {
    if ((dims >> dim & 1u) == 0) continue;
    for (size_t k = 0; k < tensors.size(); ++k) strides[k] = tensors[k]->stride(dim);
    walk.add(tensors[0]->size(dim), strides);
  }
  return walk;
}

Walk operand_walk(const Walk& walk, int k) {
  Walk one(1);
  for (int d = 0; d < walk.rank; ++d) one.add(walk.sizes[d], &walk.strides[k][d]);
  return one;
}

void gather_elements(const Walk& walk, const void* base, size_t element_bytes, int64_t begin, int64_t n, void* target) {
  switch (element_bytes) {
    case 1: return gather_as<uint8_t>(walk, base, begin, n, target);
    case 2: return gather_as<uint16_t>(walk, base, begin, n, target);
    case 4: return gather_as<uint32_t>(walk, base, begin, n, target);
    default: return gather_as<uint64_t>(walk, base, begin, n, target);
  }
}

void scatter_elements(const Walk& walk, void* base, size_t element_bytes, int64_t begin, int64_t n,
                      const void* source) {
  switch (element_bytes) {
    case 1: return scatter_as<uint8_t>(walk, base, begin, n, source);
    case 2: return scatter_as<uint16_t>(walk, base, begin, n, source);
    case 4: return scatter_as<uint32_t>(walk, base, begin, n, source);
    default: return scatter_as<uint64_t>(walk, base, begin, n, source);
  }
}

}  // namespace berth::portable
