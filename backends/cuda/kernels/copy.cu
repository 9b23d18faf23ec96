#include <cstring>

#include "backends/cuda/kernels/copy.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"

namespace berth::cuda {
namespace {

using portable::Walk;

int bytes_of(const Tensor& tensor) { return static_cast<int>(element_size(tensor.dtype())); }

const void* advanced(const void* base, int64_t elements, size_t bytes) {
  return static_cast<const char*>(base) + elements * static_cast<int64_t>(bytes);
}
void* advanced(void* base, int64_t elements, size_t bytes) {
  return static_cast<char*>(base) + elements * static_cast<int64_t>(bytes);
}

// One element of any dtype, on its way to the device.
struct Word {
  uint64_t parts[2] = {0, 0};

  BERTH_HD void store(void* to, int64_t index, int bytes) const {
    switch (bytes) {
      case 1: static_cast<uint8_t*>(to)[index] = static_cast<uint8_t>(parts[0]); return;
      case 2: static_cast<uint16_t*>(to)[index] = static_cast<uint16_t>(parts[0]); return;
      case 4: static_cast<uint32_t*>(to)[index] = static_cast<uint32_t>(parts[0]); return;
      case 8: static_cast<uint64_t*>(to)[index] = parts[0]; return;
      default: break;
    }
    static_cast<uint64_t*>(to)[2 * index] = parts[0];
    static_cast<uint64_t*>(to)[2 * index + 1] = parts[1];
  }
};

// Both processors are little-endian.
Word word_of(const void* value, int bytes) {
  Word word;
  if (value != nullptr) std::memcpy(word.parts, value, bytes);
  return word;
}

struct CopyBody {
  const void* from;
  void* to;
  int bytes;
  bool dense;
  Places<2> places;  // to, from

  BERTH_HD void operator()(int64_t i) const {
    if (dense) return move_element(from, i * places.strides[1][0], to, i * places.strides[0][0], bytes);
    int64_t offsets[2];
    places.at(i, offsets);
    move_element(from, offsets[1], to, offsets[0], bytes);
  }
};

struct OrderedCopyBody {
  const void* from;
  void* to;
  int bytes;
  int64_t count;
  int64_t shift;  // in [0, count)
  Places<1> from_places;
  Places<1> to_places;

  BERTH_HD void operator()(int64_t i) const {
    const int64_t source = i >= shift ? i - shift : i - shift + count;
    move_element(from, from_places.at(source), to, to_places.at(i), bytes);
  }
};

struct RepeatBody {
  const void* from;
  void* to;
  int bytes;
  int rank;
  // In the row-major order of the target.
  int64_t to_sizes[kMaxRank];
  int64_t to_strides[kMaxRank];
  int64_t from_sizes[kMaxRank];
  int64_t from_strides[kMaxRank];

  BERTH_HD void operator()(int64_t i) const {
    int64_t source = 0;
    int64_t target = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const Division division = divide(i, to_sizes[d]);
      target += division.rest * to_strides[d];
      source += divide(division.rest, from_sizes[d]).rest * from_strides[d];
      i = division.quotient;
    }
    move_element(from, source, to, target, bytes);
  }
};

struct FillBody {
  void* to;
  int bytes;
  Word value;

  BERTH_HD void operator()(int64_t i) const { value.store(to, i, bytes); }
};

struct PadBody {
  const void* from;
  void* to;
  int bytes;
  int rank;
  portable::PadMode mode;
  Word value;
  // In the order of the target's memory.
  int64_t to_sizes[kMaxRank];
  int64_t from_sizes[kMaxRank];
  int64_t from_strides[kMaxRank];
  int64_t before[kMaxRank];

  // Where place `x`, counted from the first element of the source, is read; -1: nowhere.
  BERTH_HD int64_t source_of(int64_t x, int64_t size) const {
    if (x >= 0 && x < size) return x;
    if (mode == portable::PadMode::kReflect) return x < 0 ? -x : 2 * (size - 1) - x;
    if (mode == portable::PadMode::kReplicate) return x < 0 ? 0 : size - 1;
    return -1;
  }

  BERTH_HD void operator()(int64_t index) const {
    int64_t source = 0;
    bool outside = false;
    int64_t i = index;
    for (int d = rank - 1; d >= 0; --d) {
      const Division division = divide(i, to_sizes[d]);
      const int64_t at = source_of(division.rest - before[d], from_sizes[d]);
      outside = outside || at < 0;
      source += at * from_strides[d];
      i = division.quotient;
    }
    if (outside) return value.store(to, index, bytes);
    move_element(from, source, to, index, bytes);
  }
};

struct TriangleBody {
  const void* from;
  void* to;
  int bytes;
  int64_t diagonal;
  int64_t rows;
  int64_t columns;
  Places<2> places;  // to, from; row-major

  BERTH_HD void operator()(int64_t i) const {
    int64_t offsets[2];
    places.at(i, offsets);
    const Division by_column = divide(i, columns);
    const int64_t row = divide(by_column.quotient, rows).rest;
    if (by_column.rest - row > diagonal) return Word().store(to, offsets[0], bytes);
    move_element(from, offsets[1], to, offsets[0], bytes);
  }
};

// The dimensions by where they write, the farthest stride first, neighbours merged.
Walk sorted_walk(Span<const int32_t> sizes, Span<const int64_t> to_strides, Span<const int64_t> from_strides) {
  int order[kMaxRank];
  const int rank = static_cast<int>(sizes.size());
  for (int d = 0; d < rank; ++d) {
    int at = d;
    for (; at > 0 && to_strides[order[at - 1]] < to_strides[d]; --at) {
      order[at] = order[at - 1];
    }
    order[at] = d;
  }
  Walk walk(2);
  for (int i = 0; i < rank; ++i) {
    const size_t d = order[i];
    const int64_t strides[] = {to_strides[d], from_strides[d]};
    walk.add(sizes[d], strides);
  }
  return walk;
}

Walk row_major(const Tensor& tensor) {
  Walk walk(1);
  for (int d = 0; d < tensor.rank(); ++d) {
    const int64_t stride = tensor.stride(d);
    walk.add(tensor.size(d), &stride);
  }
  return walk;
}

bool aligned_to(const void* address, size_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

}  // namespace

Error copy_box(KernelContext& context, size_t element_bytes, Span<const int32_t> sizes, const void* from,
               Span<const int64_t> from_strides, void* to, Span<const int64_t> to_strides) {
  const Walk walk = sorted_walk(sizes, to_strides, from_strides);
  CopyBody body{from, to, static_cast<int>(element_bytes), walk.rank == 1, Places<2>(walk)};
  int64_t count = walk.count;
  const bool whole = walk.rank == 1 && (count == 1 || (walk.step(0) == 1 && walk.step(1) == 1));
  const size_t bytes = static_cast<size_t>(count) * element_bytes;
  if (whole && from == to) return Error::kOk;
  if (whole && bytes % 16 == 0 && aligned_to(from, 16) && aligned_to(to, 16)) {
    body.bytes = 16;
    count = static_cast<int64_t>(bytes / 16);
    body.places.strides[0][0] = 1;
    body.places.strides[1][0] = 1;
  }
  return for_each(context, count, body);
}

Error copy_tensor(KernelContext& context, const Tensor& from, Tensor& to) {
  if (from.raw() == to.raw() && portable::same_layout(from, to)) return Error::kOk;
  return copy_box(context, element_size(from.dtype()), from.sizes(), from.raw(), from.strides(), to.raw(),
                  to.strides());
}

Error copy_in_order(KernelContext& context, const Tensor& from, Tensor& to, int64_t shift) {
  if (to.numel() == 0) return Error::kOk;
  if (shift == 0 && from.is_contiguous() && to.is_contiguous()) {
    const int64_t one[] = {1};
    // In pieces of what a dimension may have.
    constexpr int64_t kPiece = int64_t{1} << 30;
    const size_t bytes = element_size(from.dtype());
    for (int64_t done = 0; done < to.numel(); done += kPiece) {
      const int64_t left = to.numel() - done;
      const int32_t size[] = {static_cast<int32_t>(left < kPiece ? left : kPiece)};
      BERTH_RETURN_IF_ERROR(
          copy_box(context, bytes, size, advanced(from.raw(), done, bytes), one, advanced(to.raw(), done, bytes), one));
    }
    return Error::kOk;
  }
  const OrderedCopyBody body{
      from.raw(), to.raw(), bytes_of(to), to.numel(), shift, Places<1>(row_major(from)), Places<1>(row_major(to))};
  return for_each(context, to.numel(), body);
}

Error repeat_tensor(KernelContext& context, const Tensor& from, Tensor& to) {
  RepeatBody body{from.raw(), to.raw(), bytes_of(to), to.rank(), {}, {}, {}, {}};
  for (int d = 0; d < to.rank(); ++d) {
    const int own = d - (to.rank() - from.rank());
    body.to_sizes[d] = to.size(d);
    body.to_strides[d] = to.stride(d);
    body.from_sizes[d] = own < 0 ? 1 : from.size(own);
    body.from_strides[d] = own < 0 ? 0 : from.stride(own);
  }
  return for_each(context, to.numel(), body);
}

Error take_box(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, box.sizes));
  if (out.numel() == 0) return Error::kOk;
  const size_t bytes = element_size(self.dtype());
  return copy_box(context, bytes, box.sizes.span(), advanced(static_cast<const void*>(self.raw()), box.offset, bytes),
                  box.stride_span(), out.raw(), out.strides());
}

Error put_box(KernelContext& context, const Tensor& src, const portable::SubBox& box, Tensor& out) {
  if (src.numel() == 0) return Error::kOk;
  const size_t bytes = element_size(src.dtype());
  return copy_box(context, bytes, box.sizes.span(), src.raw(), src.strides(), advanced(out.raw(), box.offset, bytes),
                  box.stride_span());
}

Error fill(KernelContext& context, const void* value, Tensor& out) {
  const FillBody body{out.raw(), bytes_of(out), word_of(value, bytes_of(out))};
  return for_each(context, out.numel(), body);
}

Error pad_tensor(KernelContext& context, const Tensor& self, const portable::Padding& padding, portable::PadMode mode,
                 const void* value, Tensor& out) {
  if (self.numel() == 0) return fill(context, value, out);
  PadBody body{self.raw(), out.raw(), bytes_of(out), out.rank(), mode, word_of(value, bytes_of(out)), {}, {}, {}, {}};
  for (int i = 0; i < out.rank(); ++i) {
    const int d = out.dim_order()[i];
    body.to_sizes[i] = out.size(d);
    body.from_sizes[i] = self.size(d);
    body.from_strides[i] = self.stride(d);
    body.before[i] = padding.before[d];
  }
  return for_each(context, out.numel(), body);
}

Error lower_triangle(KernelContext& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  Walk walk(2);
  for (int d = 0; d < out.rank(); ++d) {
    const int64_t strides[] = {out.stride(d), self.stride(d)};
    walk.add(out.size(d), strides);
  }
  const TriangleBody body{
      self.raw(),     out.raw(), bytes_of(out), diagonal, out.size(out.rank() - 2), out.size(out.rank() - 1),
      Places<2>(walk)};
  return for_each(context, out.numel(), body);
}

}  // namespace berth::cuda
