#include "runtime/host/dim_order_copy.h"

#include <cstring>

#include "base/check.h"
#include "base/dtype.h"

namespace berth {
namespace {

size_t dim_at(Span<const uint8_t> order, size_t position) { return order.empty() ? position : order[position]; }

// The distance in bytes between neighbours of each logical dimension.
void strides_of(Span<const uint8_t> order, Span<const int32_t> sizes, size_t element, size_t* strides) {
  size_t stride = element;
  for (size_t k = sizes.size(); k-- > 0;) {
    const size_t dim = dim_at(order, k);
    strides[dim] = stride;
    stride *= sizes[dim];
  }
}

}  // namespace

bool same_dim_order(Span<const uint8_t> a, Span<const uint8_t> b, size_t rank) {
  for (size_t k = 0; k < rank; ++k) {
    if (dim_at(a, k) != dim_at(b, k)) return false;
  }
  return true;
}

void copy_to_dim_order(const void* source, Span<const uint8_t> from, void* target, Span<const uint8_t> to,
                       Span<const int32_t> sizes, size_t element) {
  const size_t rank = sizes.size();
  BERTH_CHECK(rank <= static_cast<size_t>(kMaxRank));
  size_t count = 1;
  for (const int32_t size : sizes) count *= size;
  if (count == 0) return;
  if (same_dim_order(from, to, rank)) {
    std::memcpy(target, source, count * element);
    return;
  }
  size_t read_strides[kMaxRank];
  strides_of(from, sizes, element, read_strides);
  // Walks the target from its first byte to its last, and the source with it.
  size_t index[kMaxRank] = {};
  const auto* read = static_cast<const uint8_t*>(source);
  auto* write = static_cast<uint8_t*>(target);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(write, read, element);
    write += element;
    for (size_t k = rank; k-- > 0;) {
      const size_t dim = dim_at(to, k);
      read += read_strides[dim];
      if (++index[dim] < static_cast<size_t>(sizes[dim])) break;
      read -= read_strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace berth
