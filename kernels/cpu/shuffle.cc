#include "kernels/cpu/shuffle.h"

#include <algorithm>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/interleave.h"
#include "kernels/portable/fused_shuffle.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 14;

bool is_last(TensorList images) {
  for (const Tensor& image : images) {
    if (!is_channels_last_f32(image)) return false;
  }
  return true;
}

bool are_even(IntList sizes) {
  for (const int64_t size : sizes) {
    if (size % 2 != 0) return false;
  }
  return true;
}

// Channels 2 i and 2 i + 1 of the result are channel i of each.
bool is_merge(const arguments::fused_shuffle_out& args) {
  const TensorList parts = args.parts;
  if (parts.size() != 2 || args.groups != 2 || !is_last(parts) || !is_last(args.out)) return false;
  return parts[0].size(1) == parts[1].size(1) && are_even(args.sizes);
}

}  // namespace

Error shuffle_out(KernelContext& context, const arguments::fused_shuffle_out& args) {
  if (!is_merge(args)) return portable::fused_shuffle_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_shuffle(context, args));
  const Tensor& a = args.parts[0];
  const Tensor& b = args.parts[1];
  const int64_t channels = a.size(1);
  const int64_t pixels = a.size(0) * a.size(2) * a.size(3);
  if (pixels == 0 || channels == 0) return Error::kOk;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (2 * channels));
  context.parallel_for(pixels, grain, [&](int64_t begin, int64_t end) {
    int64_t first = 0;
    for (Tensor& to : args.out) {
      const int64_t each = to.size(1) / 2;
      interleave_rows({a.data<float>() + begin * channels + first, b.data<float>() + begin * channels + first, channels,
                       each, end - begin, to.data<float>() + begin * to.size(1)});
      first += each;
    }
  });
  return Error::kOk;
}

}  // namespace berth::cpu
