// flip, roll, tril: elements moved or cleared by their place.
#include <cstring>

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Each rolled dimension is two runs that change places; `d` is the dimension to divide next.
void roll_pieces(KernelContext& context, const Tensor& self, const int64_t* shift_of, Tensor& out) {
  int rolled[kMaxRank];
  int count = 0;
  for (int d = 0; d < self.rank(); ++d) {
    if (shift_of[d] != 0) rolled[count++] = d;
  }
  const size_t bytes = element_size(self.dtype());
  // Bit i of `piece` says whether dimension rolled[i] is in its front run or the one that goes round. There are at most
  // as many pieces as elements: every rolled dimension has two.
  for (uint32_t piece = 0; piece < 1u << count; ++piece) {
    StridedCopy copy(bytes);
    int64_t from = 0;
    int64_t to = 0;
    for (int d = 0, i = 0; d < self.rank(); ++d) {
      int64_t length = self.size(d);
      if (i < count && rolled[i] == d) {
        const bool goes_round = (piece >> i & 1) != 0;
        length = goes_round ? shift_of[d] : length - shift_of[d];
        from += goes_round ? (self.size(d) - shift_of[d]) * self.stride(d) : 0;
        to += goes_round ? 0 : shift_of[d] * out.stride(d);
        ++i;
      }
      copy.add(length, self.stride(d), out.stride(d));
    }
    copy.prepare();
    copy.run(context, self.data<char>() + from * bytes, out.data<char>() + to * bytes);
  }
}

// Sets columns [begin, columns) of a row to zero bytes, which is zero in every dtype.
void clear_columns(char* row, int64_t begin, int64_t columns, int64_t stride, int64_t bytes) {
  if (begin >= columns) return;
  if (stride == 1) {
    std::memset(row + begin * bytes, 0, (columns - begin) * bytes);
    return;
  }
  for (int64_t c = begin; c < columns; ++c) std::memset(row + c * stride * bytes, 0, bytes);
}

}  // namespace

Error flip_out(KernelContext& context, const arguments::flip_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_flip(context, args.self, args.dims, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error roll_out(KernelContext& context, const arguments::roll_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  bool as_one_row = false;
  int64_t shift_of[kMaxRank];
  BERTH_RETURN_IF_ERROR(read_roll(context, self, args.shifts, args.dims, &as_one_row, shift_of));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  if (out.numel() == 0) return Error::kOk;
  if (!as_one_row) {
    roll_pieces(context, self, shift_of, out);
    return Error::kOk;
  }
  // Two moves in memory when that is one row as well.
  const int64_t count = self.numel();
  const size_t bytes = element_size(self.dtype());
  const int64_t shift = shift_of[0];
  if (self.is_contiguous() && out.is_contiguous()) {
    const size_t front = (count - shift) * bytes;
    const size_t back = shift * bytes;
    std::memcpy(out.data<char>() + back, self.raw(), front);
    std::memcpy(out.raw(), self.data<char>() + front, back);
    return Error::kOk;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data<char>() + element_offset(out, (i + shift) % count) * bytes,
                self.data<char>() + element_offset(self, i) * bytes, bytes);
  }
  return Error::kOk;
}

Error tril_out(KernelContext& context, const arguments::tril_out& args) {
  const Tensor& self = args.self;
  const int64_t diagonal = args.diagonal;
  Tensor& out = args.out;
  if (self.rank() < 2) return context.fail(Error::kInvalidArgument, "tril: self has fewer than two dimensions");
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  if (out.numel() == 0) return Error::kOk;
  copy_tensor(context, self, out);
  const int r = self.rank() - 2;
  const int64_t rows = out.size(r);
  const int64_t columns = out.size(r + 1);
  const int64_t bytes = static_cast<int64_t>(element_size(out.dtype()));
  // Beyond these bounds every diagonal keeps everything, or nothing.
  const int64_t shift = diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
  context.parallel_for(out.numel() / columns, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t offset = element_offset(out, i * columns);
      const int64_t kept = i % rows + shift + 1;
      clear_columns(out.data<char>() + offset * bytes, kept < 0 ? 0 : kept, columns, out.stride(r + 1), bytes);
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
