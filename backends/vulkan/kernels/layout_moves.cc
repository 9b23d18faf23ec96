// Copies of several boxes: repetition, rolling, padding by what a tensor has, parts that are written over, pixels that
// are shuffled; and tensors of one number.
#include <algorithm>
#include <utility>

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/places.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/create_range.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/pad.h"
#include "kernels/portable/pixel_arguments.h"

namespace berth::vulkan {
namespace {

using portable::PadMode;
using portable::Sizes;
using portable::SubBox;

// A box of one tensor that becomes one of another, dimension by dimension.
struct Move {
  std::vector<int32_t> sizes;
  std::vector<int64_t> from_strides, to_strides;
  int64_t from = 0, to = 0;

  void add(int64_t size, int64_t from_stride, int64_t to_stride) {
    sizes.push_back(static_cast<int32_t>(size));
    from_strides.push_back(from_stride);
    to_strides.push_back(to_stride);
  }
  Error run(KernelContext& context, const Tensor& self, const Tensor& out) const {
    return copy_box(context, sizes, self, from, from_strides, out, to, to_strides);
  }
};

// A run of places along a dimension of the result, and where its elements come from.
struct Run {
  int64_t to, count;
  int64_t from, step;
};

// The copies of all combinations of runs, of which each dimension has a list.
Error copy_runs(KernelContext& context, const Tensor& self, const std::vector<std::vector<Run>>& runs,
                const Tensor& out) {
  std::vector<size_t> at(runs.size(), 0);
  for (;;) {
    Move move;
    for (size_t d = 0; d < runs.size(); ++d) {
      const int dim = static_cast<int>(d);
      const Run& run = runs[d][at[d]];
      move.add(run.count, run.step * self.stride(dim), out.stride(dim));
      move.from += run.from * self.stride(dim);
      move.to += run.to * out.stride(dim);
    }
    BERTH_RETURN_IF_ERROR(move.run(context, self, out));
    size_t d = runs.size();
    while (d > 0 && ++at[d - 1] == runs[d - 1].size()) at[--d] = 0;
    if (d == 0) return Error::kOk;
  }
}

// The runs along a dimension that padded_sizes() has checked.
std::vector<Run> pad_runs(int64_t size, int64_t before, int64_t after, PadMode mode) {
  const bool reflects = mode == PadMode::kReflect;
  const int64_t result = size + before + after;
  std::vector<Run> runs;
  const auto add = [&](int64_t begin, int64_t end, int64_t from, int64_t step) {
    begin = std::max<int64_t>(begin, 0);
    end = std::min(end, result);
    if (begin < end) runs.push_back({begin, end - begin, from, step});
  };
  add(0, before, reflects ? before : 0, reflects ? -1 : 0);
  const int64_t first = std::max<int64_t>(before, 0);
  add(first, size + before, first - before, 1);
  const int64_t last = std::max<int64_t>(size + before, 0);
  add(last, result, reflects ? 2 * (size - 1) - (last - before) : size - 1, reflects ? -1 : 0);
  return runs;
}

template <typename Args>
Error pad_spatial(KernelContext& context, const Args& args, int spatial, PadMode mode) {
  const Tensor& self = args.self;
  portable::Padding padding;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_spatial_padding(context, self, args.padding, spatial, &padding));
  BERTH_RETURN_IF_ERROR(portable::padded_sizes(context, self, padding, mode, &sizes));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, args.out, sizes));
  if (args.out.numel() == 0) return Error::kOk;
  std::vector<std::vector<Run>> runs;
  for (int d = 0; d < self.rank(); ++d) {
    runs.push_back(pad_runs(self.size(d), padding.before[d], padding.after[d], mode));
  }
  return copy_runs(context, self, runs, args.out);
}

// `src` in the sizes and the type of `out`.
Error copy_stretched(KernelContext& context, const Tensor& src, const Tensor& out) {
  Move move;
  for (int d = 0; d < out.rank(); ++d) {
    const int own = d - (out.rank() - src.rank());
    if (own >= 0 && src.size(own) != 1 && src.size(own) != out.size(d)) {
      return context.fail(Error::kInvalidArgument, "what is copied does not stretch to the sizes of its target");
    }
    move.add(out.size(d), stretched_stride(src, out.rank(), d), out.stride(d));
  }
  if (src.rank() > out.rank()) {
    return context.fail(Error::kInvalidArgument, "what is copied has more dimensions than its target");
  }
  return move.run(context, src, out);
}

Error count(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out) {
  portable::Range range;
  BERTH_RETURN_IF_ERROR(portable::prepare_range(context, start, end, step, out, &range));
  Typed typed(context, TypedOp::kCount);
  if (range.whole) return typed.whole(range.whole_start).whole(range.whole_step).run_sized(out);
  return typed.real(range.real_start).real(range.real_step).run_sized(out);
}

Error scatter(KernelContext& context, const Tensor& self, const Tensor& src, const SubBox& box, const Tensor& out) {
  if (src.dtype() != self.dtype() || src.sizes() != box.sizes.span()) {
    return context.fail(Error::kInvalidArgument, "what is scattered is not of the dtype and sizes of its place");
  }
  BERTH_RETURN_IF_ERROR(copy_box(context, self.sizes(), self, 0, self.strides(), out, 0, out.strides()));
  return copy_box(context, src.sizes(), src, 0, src.strides(), out, box.offset, box.stride_span());
}

// `large` has rows and columns for what is `factor` squared channels of `small`, the last three dimensions of both.
Move shuffle(const Tensor& small, const Tensor& large, int64_t factor, bool up) {
  const int c = small.rank() - 3;
  Move move;
  const auto add = [&](int64_t size, int64_t of_small, int64_t of_large) {
    move.add(size, up ? of_small : of_large, up ? of_large : of_small);
  };
  for (int d = 0; d < c; ++d) add(small.size(d), small.stride(d), large.stride(d));
  add(large.size(c), factor * factor * small.stride(c), large.stride(c));
  add(factor, factor * small.stride(c), large.stride(c + 1));
  add(factor, small.stride(c), large.stride(c + 2));
  add(small.size(c + 1), small.stride(c + 1), factor * large.stride(c + 1));
  add(small.size(c + 2), small.stride(c + 2), factor * large.stride(c + 2));
  return move;
}

}  // namespace

Error copy_out(KernelContext& context, const arguments::copy_out& args) {
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, args.self.sizes()));
  return copy_stretched(context, args.src, args.out);
}
Error copy_self(KernelContext& context, const arguments::copy_self& args) {
  return copy_stretched(context, args.src, args.self);
}

Error fill_Tensor_out(KernelContext& context, const arguments::fill_Tensor_out& args) {
  BERTH_RETURN_IF_ERROR(portable::check_fill(context, args.self, args.value, args.out));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, args.self.sizes()));
  Move move;
  for (int d = 0; d < args.out.rank(); ++d) move.add(args.out.size(d), 0, args.out.stride(d));
  return move.run(context, args.value, args.out);
}

Error tril_out(KernelContext& context, const arguments::tril_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (self.rank() < 2) return context.fail(Error::kInvalidArgument, "tril: self has fewer than two dimensions");
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  Launch ask = Launch::of_any_type(context, ShaderId::triangle_words, ShaderId::triangle);
  ask.writes(out).reads(self).number(std::clamp<int64_t>(args.diagonal, INT32_MIN, INT32_MAX)).number(self.rank());
  for (int d = 0; d < self.rank(); ++d) ask.number(self.size(d));
  for (const Tensor* tensor : {static_cast<const Tensor*>(&out), &self}) {
    for (int d = 0; d < self.rank(); ++d) ask.number(tensor->stride(d));
  }
  return ask.run(out.numel());
}

Error repeat_out(KernelContext& context, const arguments::repeat_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  portable::Integers repeats;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_repeat(context, self, args.repeats, &repeats, &sizes));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  Move move;
  const int added = repeats.count - self.rank();
  for (int d = 0; d < repeats.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    move.add(repeats[d], 0, own * out.stride(d));
    if (d >= added) move.add(own, self.stride(d - added), out.stride(d));
  }
  return move.run(context, self, out);
}

Error roll_out(KernelContext& context, const arguments::roll_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  bool as_one_row = false;
  int64_t shift_of[kMaxRank];
  BERTH_RETURN_IF_ERROR(portable::read_roll(context, self, args.shifts, args.dims, &as_one_row, shift_of));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  if (out.numel() == 0) return Error::kOk;
  const auto pieces = [](int64_t size, int64_t shift) {
    std::vector<Run> runs;
    if (shift > 0) runs.push_back({0, shift, size - shift, 1});
    runs.push_back({shift, size - shift, 0, 1});
    return runs;
  };
  if (as_one_row) {
    // As the compiler gives it: an operator that names no order of dimensions but this.
    if (!self.is_contiguous() || !out.is_contiguous()) {
      return context.fail(Error::kNotSupported, "vulkan devices roll tensors of one row in row-major order");
    }
    for (const Run& run : pieces(self.numel(), shift_of[0])) {
      Move move;
      move.add(run.count, 1, 1);
      move.from = run.from;
      move.to = run.to;
      BERTH_RETURN_IF_ERROR(move.run(context, self, out));
    }
    return Error::kOk;
  }
  std::vector<std::vector<Run>> runs;
  for (int d = 0; d < self.rank(); ++d) runs.push_back(pieces(self.size(d), shift_of[d]));
  return copy_runs(context, self, runs, out);
}

#define PAD(identifier, spatial, mode) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return pad_spatial(context, args, spatial, PadMode::mode); \
  }
PAD(reflection_pad1d_out, 1, kReflect)
PAD(reflection_pad2d_out, 2, kReflect)
PAD(reflection_pad3d_out, 3, kReflect)
PAD(replication_pad1d_out, 1, kReplicate)
PAD(replication_pad2d_out, 2, kReplicate)
PAD(replication_pad3d_out, 3, kReplicate)
#undef PAD

Error select_scatter_out(KernelContext& context, const arguments::select_scatter_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, args.self, args.out, portable::sizes_of(args.self)));
  BERTH_RETURN_IF_ERROR(portable::read_select(context, args.out, args.dim, args.index, &box));
  return scatter(context, args.self, args.src, box, args.out);
}

Error slice_scatter_out(KernelContext& context, const arguments::slice_scatter_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, args.self, args.out, portable::sizes_of(args.self)));
  BERTH_RETURN_IF_ERROR(portable::read_slice(context, args.out, args.dim, args.start, args.end, args.step, &box));
  return scatter(context, args.self, args.src, box, args.out);
}

Error diagonal_copy_out(KernelContext& context, const arguments::diagonal_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_diagonal(context, args.self, args.offset, args.dim1, args.dim2, &box));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, args.self, args.out, box.sizes));
  return copy_box(context, box.sizes.span(), args.self, box.offset, box.stride_span(), args.out, 0, args.out.strides());
}

Error pixel_shuffle_out(KernelContext& context, const arguments::pixel_shuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(portable::prepare_pixel_shuffle(context, args, &factor));
  return shuffle(args.self, args.out, factor, true).run(context, args.self, args.out);
}

Error pixel_unshuffle_out(KernelContext& context, const arguments::pixel_unshuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(portable::prepare_pixel_unshuffle(context, args, &factor));
  return shuffle(args.out, args.self, factor, false).run(context, args.self, args.out);
}

Error full_out(KernelContext& context, const arguments::full_out& args) {
  return portable::full(context, args.size, args.fill_value, args.out, fill);
}
Error full_like_out(KernelContext& context, const arguments::full_like_out& args) {
  return portable::full_like(context, args.self, args.fill_value, args.out, fill);
}
Error ones_out(KernelContext& context, const arguments::ones_out& args) {
  return portable::full(context, args.size, EValue(int64_t{1}), args.out, fill);
}
Error zeros_out(KernelContext& context, const arguments::zeros_out& args) {
  return portable::full(context, args.size, EValue(int64_t{0}), args.out, fill);
}
Error scalar_tensor_out(KernelContext& context, const arguments::scalar_tensor_out& args) {
  return portable::scalar_tensor(context, args.s, args.out, fill);
}
Error arange_out(KernelContext& context, const arguments::arange_out& args) {
  return count(context, EValue(int64_t{0}), args.end, EValue(int64_t{1}), args.out);
}
Error arange_start_out(KernelContext& context, const arguments::arange_start_out& args) {
  return count(context, args.start, args.end, args.step, args.out);
}
Error fill_Scalar_out(KernelContext& context, const arguments::fill_Scalar_out& args) {
  return portable::fill_scalar(context, args.self, args.value, args.out, fill);
}

}  // namespace berth::vulkan
