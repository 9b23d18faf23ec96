// berth::shuffle: channels of several images joined, shuffled and taken apart (kernels/portable/fused_shuffle.cc). A
// launch a result, or several where there are many parts; a thread an element.
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "kernels/portable/fused_shuffle.h"

namespace berth::cuda {
namespace {

constexpr int kMaxParts = 16;

struct Image {
  const float* data;
  int64_t channels;
  int64_t n, c, y, x;  // strides
};

struct ShuffleBody {
  Image parts[kMaxParts];
  int32_t part_count;
  int64_t first;  // the channel of the joined that the first part here begins with
  int64_t groups, group_size;
  int64_t before;  // channels of the results before this one
  float* out;
  int64_t sizes[4];
  int64_t strides[4];

  BERTH_HD void operator()(int64_t i) const {
    const Division by_x = divide(i, sizes[3]);
    const Division by_y = divide(by_x.quotient, sizes[2]);
    const Division by_c = divide(by_y.quotient, sizes[1]);
    const Division place = divide(before + by_c.rest, groups);
    int64_t in = place.rest * group_size + place.quotient - first;
    for (int part = 0; part < part_count && in >= 0; ++part) {
      const Image& image = parts[part];
      if (in < image.channels) {
        const int64_t from = by_c.quotient * image.n + in * image.c + by_y.rest * image.y + by_x.rest * image.x;
        const int64_t to =
            by_c.quotient * strides[0] + by_c.rest * strides[1] + by_y.rest * strides[2] + by_x.rest * strides[3];
        out[to] = image.data[from];
      }
      in -= image.channels;
    }
  }
};

}  // namespace

Error fused_shuffle_out(KernelContext& context, const arguments::fused_shuffle_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_shuffle(context, args));
  int64_t channels = 0;
  for (const Tensor& part : args.parts) channels += part.size(1);
  ShuffleBody body{};
  body.groups = args.groups;
  body.group_size = channels / args.groups;
  for (Tensor& to : args.out) {
    body.out = to.data<float>();
    for (int d = 0; d < 4; ++d) {
      body.sizes[d] = to.size(d);
      body.strides[d] = to.stride(d);
    }
    body.first = 0;
    for (size_t begin = 0; begin < args.parts.size(); begin += kMaxParts) {
      int64_t joined = 0;
      body.part_count = 0;
      for (size_t k = begin; k < args.parts.size() && k < begin + kMaxParts; ++k) {
        const Tensor& part = args.parts[k];
        body.parts[body.part_count++] = {part.data<float>(), part.size(1),   part.stride(0),
                                         part.stride(1),     part.stride(2), part.stride(3)};
        joined += part.size(1);
      }
      BERTH_RETURN_IF_ERROR(for_each(context, to.numel(), body));
      body.first += joined;
    }
    body.before += to.size(1);
  }
  return Error::kOk;
}

}  // namespace berth::cuda
