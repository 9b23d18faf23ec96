// aten::pixel_shuffle and pixel_unshuffle: factor x factor channels become one channel of factor times the height and
// width, and back.
//
//   large[…, c, h * factor + i, w * factor + j] = small[…, (c * factor + i) * factor + j, h, w]
#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/pixel_arguments.h"

namespace berth::portable {
namespace {

// Where the channel block `index`, counted over all dimensions before height and width, lies in `tensor`; the block has
// `step` channels.
int64_t block_offset(const Tensor& tensor, int64_t index, int64_t step) {
  const int channel = tensor.rank() - 3;
  const int64_t blocks = tensor.size(channel) / step;
  int64_t offset = index % blocks * step * tensor.stride(channel);
  index /= blocks;
  for (int d = channel - 1; d >= 0; --d) {
    offset += index % tensor.size(d) * tensor.stride(d);
    index /= tensor.size(d);
  }
  return offset;
}

struct Side {
  const Tensor& tensor;
  int64_t channel, row, column;  // strides

  explicit Side(const Tensor& t)
      : tensor(t), channel(t.stride(t.rank() - 3)), row(t.stride(t.rank() - 2)), column(t.stride(t.rank() - 1)) {}
};

// Moves all elements from one side to the other; `to_large` says which way.
template <typename T>
void move_block(const Side& small, const Side& large, int64_t factor, bool to_large, int64_t index) {
  T* narrow = static_cast<T*>(small.tensor.raw()) + block_offset(small.tensor, index, factor * factor);
  T* wide = static_cast<T*>(large.tensor.raw()) + block_offset(large.tensor, index, 1);
  const int64_t height = small.tensor.size(small.tensor.rank() - 2);
  const int64_t width = small.tensor.size(small.tensor.rank() - 1);
  for (int64_t i = 0; i < factor; ++i) {
    for (int64_t h = 0; h < height; ++h) {
      for (int64_t j = 0; j < factor; ++j) {
        T* from = narrow + (i * factor + j) * small.channel + h * small.row;
        T* to = wide + (h * factor + i) * large.row + j * large.column;
        const int64_t step = factor * large.column;
        if (to_large) {
          for (int64_t w = 0; w < width; ++w) to[w * step] = from[w * small.column];
        } else {
          for (int64_t w = 0; w < width; ++w) from[w * small.column] = to[w * step];
        }
      }
    }
  }
}

Error move(KernelContext& context, const Tensor& small, const Tensor& large, int64_t factor, bool to_large) {
  if (large.numel() == 0) return Error::kOk;
  const int64_t plane = large.size(large.rank() - 2) * large.size(large.rank() - 1);
  return dispatch_bytes(context, large.dtype(), [&](auto tag) {
    context.parallel_for(large.numel() / plane, grain_of(plane), [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        move_block<typename decltype(tag)::type>(Side(small), Side(large), factor, to_large, index);
      }
    });
    return Error::kOk;
  });
}

}  // namespace

Error pixel_shuffle_out(KernelContext& context, const arguments::pixel_shuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(prepare_pixel_shuffle(context, args, &factor));
  return move(context, args.self, args.out, factor, true);
}

Error pixel_unshuffle_out(KernelContext& context, const arguments::pixel_unshuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(prepare_pixel_unshuffle(context, args, &factor));
  return move(context, args.out, args.self, factor, false);
}

}  // namespace berth::portable
