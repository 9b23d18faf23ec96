#include "kernels/cpu/permute.h"

#include <algorithm>

#include "kernels/cpu/interleave.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 14;
constexpr int64_t kLeastRun = 8;
constexpr int64_t kPart = 4096;

// The elements of `out` as they lie, and where each comes from.
portable::Walk walk_of(const portable::SubBox& box, const Tensor& out) {
  portable::Walk walk(2);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), box.strides[d]};
    walk.add(box.sizes.data[d], strides);
  }
  return walk;
}

// Several rows: [count][n] of one side is [n][count] of the other.
struct Streams {
  bool merge = false;
  int count = 0;
  int64_t n = 0;
  int64_t apart = 0;  // the rows, in the source (merge) or in the output
};

bool is_few(int64_t count) { return count >= 2 && count <= kMaxStreams; }

bool find_streams(const portable::Walk& walk, Streams* streams) {
  const int last = walk.rank - 1;
  if (last < 1) return false;
  const int64_t outer = walk.sizes[last - 1];
  const int64_t inner = walk.sizes[last];
  const int64_t* from = walk.strides[1];
  if (is_few(inner) && from[last - 1] == 1 && outer >= kLeastRun) {
    *streams = {true, static_cast<int>(inner), outer, from[last]};
    return true;
  }
  if (is_few(outer) && from[last] == outer && from[last - 1] == 1 && inner >= kLeastRun) {
    *streams = {false, static_cast<int>(outer), inner, inner};
    return true;
  }
  return false;
}

portable::Walk without_last_two(const portable::Walk& walk) {
  portable::Walk rows(2);
  for (int d = 0; d < walk.rank - 2; ++d) {
    const int64_t strides[] = {walk.strides[0][d], walk.strides[1][d]};
    rows.add(walk.sizes[d], strides);
  }
  return rows;
}

bool is_ours(DType dtype) { return dtype == DType::kF32 || is_byte(dtype); }

// False when this is not a merge of streams; then nothing has happened. Long streams are shared out in parts.
template <typename T>
bool run_streams_of(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out) {
  const portable::Walk walk = walk_of(box, out);
  Streams streams;
  if (!find_streams(walk, &streams)) return false;
  const int64_t part = std::min(streams.n, kPart);
  const int64_t parts = (streams.n + part - 1) / part;
  portable::Walk items = without_last_two(walk);
  const int64_t strides[] = {streams.merge ? part * streams.count : part, streams.merge ? part : part * streams.count};
  items.add(parts, strides);
  context.parallel_for(items.count, std::max<int64_t>(1, kGrainElements / part), [&](int64_t begin, int64_t end) {
    int64_t item = begin;
    portable::for_each_run(items, begin, end, [&](const int64_t* at, int64_t run) {
      for (int64_t i = 0; i < run; ++i, ++item) {
        const int64_t n = std::min(part, streams.n - item % parts * part);
        const T* from = static_cast<const T*>(self.raw()) + box.offset + at[1] + i * items.step(1);
        T* to = static_cast<T*>(out.raw()) + at[0] + i * items.step(0);
        if (streams.merge) interleave(from, streams.apart, streams.count, n, to);
        if (!streams.merge) deinterleave(from, streams.count, n, to, streams.apart);
      }
    });
  });
  return true;
}

bool run_streams(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out) {
  if (self.dtype() == DType::kF32) return run_streams_of<float>(context, self, box, out);
  return run_streams_of<uint8_t>(context, self, box, out);
}

Error run(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out) {
  if (is_ours(self.dtype()) && out.dtype() == self.dtype()) {
    BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, box.sizes));
    if (out.numel() == 0 || run_streams(context, self, box, out)) return Error::kOk;
  }
  return portable::copy_from_box(context, self, box, out);
}

// The whole of `self`, in the order of `out`.
template <typename Args>
Error run_whole(KernelContext& context, const Args& args, Error (*portable_kernel)(KernelContext&, const Args&)) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  const bool ours = is_ours(self.dtype()) && out.dtype() == self.dtype() && self.rank() == out.rank();
  if (!ours || self.numel() == 0 || portable::same_layout(self, out)) return portable_kernel(context, args);
  portable::SubBox box;
  for (int d = 0; d < self.rank(); ++d) box.push(self.size(d), self.stride(d));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, box.sizes));
  return run_streams(context, self, box, out) ? Error::kOk : portable_kernel(context, args);
}

// From f32 to 16 bits or back, everything where it is.
bool is_cast(const Tensor& self, const Tensor& out) {
  const bool widens = has_16_bits(self.dtype()) && out.dtype() == DType::kF32;
  const bool narrows = self.dtype() == DType::kF32 && has_16_bits(out.dtype());
  return (widens || narrows) && self.numel() > 0 && self.dim_order() == out.dim_order();
}

Error run_cast(KernelContext& context, const Tensor& self, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, self.sizes()));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, self, out));
  context.parallel_for(self.numel(), kGrainElements, [&](int64_t begin, int64_t end) {
    if (out.dtype() == DType::kF32) {
      widen(self.dtype(), static_cast<const uint16_t*>(self.raw()) + begin, out.data<float>() + begin, end - begin);
    } else {
      narrow(out.dtype(), self.data<float>() + begin, static_cast<uint16_t*>(out.raw()) + begin, end - begin);
    }
  });
  return Error::kOk;
}

}  // namespace

Error permute_copy_out(KernelContext& context, const arguments::permute_copy_out& args) {
  portable::SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_permute(context, args.self, args.dims, &box));
  return run(context, args.self, box, args.out);
}

Error transpose_copy_out(KernelContext& context, const arguments::transpose_copy_int_out& args) {
  portable::SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_transpose(context, args.self, args.dim0, args.dim1, &box));
  return run(context, args.self, box, args.out);
}

Error clone_dim_order_out(KernelContext& context, const arguments::clone_dim_order_out& args) {
  return run_whole(context, args, portable::clone_dim_order_out);
}

Error to_dim_order_copy_out(KernelContext& context, const arguments::to_dim_order_copy_out& args) {
  if (is_cast(args.self, args.out)) return run_cast(context, args.self, args.out);
  return run_whole(context, args, portable::to_dim_order_copy_out);
}

}  // namespace berth::cpu
