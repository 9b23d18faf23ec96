#include "kernels/cpu/grid_sampler.h"

#include <algorithm>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/grid_sampler_run.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kBilinear = 0;
constexpr int64_t kBorder = 1;  // 0 is zeros, 2 reflection
constexpr int64_t kGrainElements = 1 << 13;
// Of an axis: floats number them, and there are no odd ones beyond.
constexpr int64_t kMostPixels = 1 << 24;

bool is_ours(const arguments::grid_sampler_2d_out& args) {
  const Tensor& input = args.input;
  const Tensor& grid = args.grid;
  if (args.interpolation_mode != kBilinear || args.padding_mode < 0 || args.padding_mode > kBorder) return false;
  if (!are_dense_f32(input, grid, args.out) || input.rank() != 4 || grid.rank() != 4) return false;
  if (grid.size(3) != 2 || grid.size(0) != input.size(0) || input.size(2) < 1 || input.size(3) < 1) return false;
  if (std::max(input.size(2), input.size(3)) > kMostPixels) return false;
  return input.size(2) * input.size(3) <= INT32_MAX;
}

// Runs of places are shared out, those of all images.
void sample_all(KernelContext& context, const arguments::grid_sampler_2d_out& args) {
  const Tensor& input = args.input;
  const int64_t channels = input.size(1);
  const int64_t pixels = input.size(2) * input.size(3);
  const int64_t places = args.grid.size(1) * args.grid.size(2);
  const int64_t runs = (places + kSampledPlaces - 1) / kSampledPlaces;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (std::min(places, kSampledPlaces) * (channels + 4)));
  context.parallel_for(input.size(0) * runs, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / runs;
      const int64_t first = i % runs * kSampledPlaces;
      SampleRun run;
      run.image = input.data<float>() + image * channels * pixels;
      run.grid = args.grid.data<float>() + 2 * (image * places + first);
      run.out = args.out.data<float>() + image * channels * places + first;
      run.places = std::min(kSampledPlaces, places - first);
      run.apart = places;
      run.channels = channels;
      run.height = input.size(2);
      run.width = input.size(3);
      run.border = args.padding_mode == kBorder;
      run.align_corners = args.align_corners;
      sample_places(run);
    }
  });
}

}  // namespace

Error grid_sampler_2d_out(KernelContext& context, const arguments::grid_sampler_2d_out& args) {
  if (!is_ours(args)) return portable::grid_sampler_2d_out(context, args);
  const Tensor& input = args.input;
  const Tensor& grid = args.grid;
  Tensor& out = args.out;
  const int32_t sizes[] = {input.sizes()[0], input.sizes()[1], grid.sizes()[1], grid.sizes()[2]};
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, sizes));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, input, grid));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, out));
  if (out.numel() > 0) sample_all(context, args);
  return Error::kOk;
}

}  // namespace berth::cpu
