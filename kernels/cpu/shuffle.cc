#include "kernels/cpu/shuffle.h"

#include <algorithm>

#include "kernels/cpu/interleave.h"
#include "kernels/cpu/layout_last.h"
#include "kernels/portable/fused_shuffle.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 14;

bool is_last(Span<EValue* const> images) {
  return std::all_of(images.begin(), images.end(),
                     [](const EValue* image) { return image->is_tensor() && is_last_f32(image->tensor()); });
}

// Channels 2 i and 2 i + 1 of the result are channel i of each.
bool is_merge(Span<EValue* const> args) {
  const Span<EValue* const> parts = args[0]->items();
  const Span<EValue* const> sizes = args[2]->items();
  if (parts.size() != 2 || args[1]->integer() != 2 || !is_last(parts) || !is_last(args[3]->items())) return false;
  return parts[0]->tensor().size(1) == parts[1]->tensor().size(1) &&
         std::all_of(sizes.begin(), sizes.end(), [](const EValue* size) { return size->integer() % 2 == 0; });
}

}  // namespace

Error shuffle_out(KernelContext& context, Span<EValue* const> args) {
  if (!is_merge(args)) return portable::fused_shuffle_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_shuffle(context, args));
  const Tensor& a = args[0]->items()[0]->tensor();
  const Tensor& b = args[0]->items()[1]->tensor();
  const int64_t channels = a.size(1);
  const int64_t pixels = a.size(0) * a.size(2) * a.size(3);
  if (pixels == 0 || channels == 0) return Error::kOk;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (2 * channels));
  context.parallel_for(pixels, grain, [&](int64_t begin, int64_t end) {
    int64_t first = 0;
    for (EValue* out : args[3]->items()) {
      Tensor& to = out->tensor();
      const int64_t each = to.size(1) / 2;
      interleave_rows({a.data<float>() + begin * channels + first, b.data<float>() + begin * channels + first, channels,
                       each, end - begin, to.data<float>() + begin * to.size(1)});
      first += each;
    }
  });
  return Error::kOk;
}

}  // namespace berth::cpu
