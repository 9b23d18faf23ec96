// grid_sampler_2d and 3d: an image read at positions that lie between its pixels. The grid gives x, y (and z) from -1,
// the left, upper or front end, to 1; with align_corners the ends are the centres of the outermost pixels, else their
// outer edges.
//
// Coefficients of bicubic interpolation: Keys's cubic convolution with a = -0.75, as PyTorch has it.
#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/narrow.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

enum class Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampler {
  const Tensor& input;
  const Tensor& grid;
  Tensor& out;
  Interpolation interpolation;
  Padding padding;
  bool align_corners;

  double unnormalize(double x, int64_t size) const {
    const double n = static_cast<double>(size);
    return align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  // Mirrored at the ends until it lies between them.
  double reflect(double x, int64_t size) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return 0;
    const double distance = std::abs(x - low);
    const double extra = std::fmod(distance, span);
    const bool even = std::fmod(std::floor(distance / span), 2) == 0;
    return even ? extra + low : span - extra + low;
  }

  double clip(double x, int64_t size) const {
    const double most = static_cast<double>(size - 1);
    return x > 0 ? (x < most ? x : most) : 0;  // NaN becomes 0
  }

  double pad(double x, int64_t size) const {
    if (padding == Padding::kBorder) return clip(x, size);
    return padding == Padding::kReflection ? clip(reflect(x, size), size) : x;
  }
};

// At most four pixels along an axis, with what each counts.
struct Taps {
  int count = 0;
  int64_t position[4];
  double weight[4];
};

void add_tap(Taps* taps, const Sampler& s, double position, double weight, int64_t size) {
  // Bicubic taps are padded one by one; the others' centre has been already.
  const double padded = s.interpolation == Interpolation::kBicubic ? s.pad(position, size) : position;
  if (!(padded >= 0 && padded < static_cast<double>(size))) return;  // zero; NaN too
  taps->position[taps->count] = static_cast<int64_t>(padded);
  taps->weight[taps->count++] = weight;
}

double cubic_near(double x) { return ((-0.75 + 2) * x - (-0.75 + 3)) * x * x + 1; }
double cubic_far(double x) { return ((-0.75 * x - 5 * -0.75) * x + 8 * -0.75) * x - 4 * -0.75; }

Taps find_taps(const Sampler& s, double coordinate, int64_t size) {
  Taps taps;
  const double exact = s.unnormalize(coordinate, size);
  if (s.interpolation == Interpolation::kBicubic) {
    const double base = std::floor(exact);
    const double t = exact - base;
    const double weights[] = {cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)};
    for (int i = 0; i < 4; ++i) add_tap(&taps, s, base - 1 + i, weights[i], size);
    return taps;
  }
  const double x = s.pad(exact, size);
  if (s.interpolation == Interpolation::kNearest) {
    add_tap(&taps, s, std::nearbyint(x), 1, size);
    return taps;
  }
  const double base = std::floor(x);
  add_tap(&taps, s, base, base + 1 - x, size);
  add_tap(&taps, s, base + 1, x - base, size);
  return taps;
}

template <typename T>
void sample_place(const Sampler& s, int64_t image, int64_t y, int64_t x) {
  const T* at = s.grid.data<T>() + image * s.grid.stride(0) + y * s.grid.stride(1) + x * s.grid.stride(2);
  const Taps columns = find_taps(s, static_cast<double>(at[0]), s.input.size(3));
  const Taps rows = find_taps(s, static_cast<double>(at[s.grid.stride(3)]), s.input.size(2));
  const T* from = s.input.data<T>() + image * s.input.stride(0);
  T* to = s.out.data<T>() + image * s.out.stride(0) + y * s.out.stride(2) + x * s.out.stride(3);
  for (int64_t c = 0; c < s.input.size(1); ++c) {
    double sum = 0;
    for (int i = 0; i < rows.count; ++i) {
      const T* row = from + c * s.input.stride(1) + rows.position[i] * s.input.stride(2);
      double part = 0;
      for (int j = 0; j < columns.count; ++j) {
        part += static_cast<double>(row[columns.position[j] * s.input.stride(3)]) * columns.weight[j];
      }
      sum += part * rows.weight[i];
    }
    to[c * s.out.stride(1)] = narrow<T>(sum);
  }
}

template <typename T>
void sample_all(KernelContext& context, const Sampler& s) {
  const int64_t height = s.out.size(2);
  const int64_t width = s.out.size(3);
  context.parallel_for(s.out.size(0) * height, grain_of(16 * width * s.out.size(1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t x = 0; x < width; ++x) sample_place<T>(s, i / height, i % height, x);
    }
  });
}

template <typename T>
void sample_volume_place(const Sampler& s, int64_t image, int64_t z, int64_t y, int64_t x) {
  const T* at =
      s.grid.data<T>() + image * s.grid.stride(0) + z * s.grid.stride(1) + y * s.grid.stride(2) + x * s.grid.stride(3);
  const Taps columns = find_taps(s, static_cast<double>(at[0]), s.input.size(4));
  const Taps rows = find_taps(s, static_cast<double>(at[s.grid.stride(4)]), s.input.size(3));
  const Taps slices = find_taps(s, static_cast<double>(at[2 * s.grid.stride(4)]), s.input.size(2));
  const T* from = s.input.data<T>() + image * s.input.stride(0);
  T* to = s.out.data<T>() + image * s.out.stride(0) + z * s.out.stride(2) + y * s.out.stride(3) + x * s.out.stride(4);
  for (int64_t c = 0; c < s.input.size(1); ++c) {
    double sum = 0;
    for (int k = 0; k < slices.count; ++k) {
      for (int i = 0; i < rows.count; ++i) {
        const T* row = from + c * s.input.stride(1) + slices.position[k] * s.input.stride(2) +
                       rows.position[i] * s.input.stride(3);
        double part = 0;
        for (int j = 0; j < columns.count; ++j) {
          part += static_cast<double>(row[columns.position[j] * s.input.stride(4)]) * columns.weight[j];
        }
        sum += part * rows.weight[i] * slices.weight[k];
      }
    }
    to[c * s.out.stride(1)] = narrow<T>(sum);
  }
}

template <typename T>
void sample_volumes(KernelContext& context, const Sampler& s) {
  const int64_t depth = s.out.size(2);
  const int64_t height = s.out.size(3);
  const int64_t width = s.out.size(4);
  context.parallel_for(s.out.size(0) * depth, grain_of(64 * height * width * s.out.size(1)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           for (int64_t y = 0; y < height; ++y) {
                             for (int64_t x = 0; x < width; ++x) {
                               sample_volume_place<T>(s, i / depth, i % depth, y, x);
                             }
                           }
                         }
                       });
}

Error check_types(KernelContext& context, const Sampler& s) {
  if (!is_floating(s.input.dtype())) return unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, s.input, s.out));
  return check_same_dtype(context, s.grid, s.out);
}

Error check_volume(KernelContext& context, const Sampler& s) {
  const Tensor& input = s.input;
  const Tensor& grid = s.grid;
  if (input.rank() != 5 || grid.rank() != 5 || grid.size(4) != 3 || grid.size(0) != input.size(0)) {
    return context.fail(Error::kInvalidArgument, "grid_sampler_3d takes images [N,C,D,H,W] and a grid [N,d,h,w,3]");
  }
  if (input.size(2) < 1 || input.size(3) < 1 || input.size(4) < 1) {
    return context.fail(Error::kInvalidArgument, "grid_sampler_3d: the images are empty");
  }
  return check_types(context, s);
}

Error check_arguments(KernelContext& context, const Sampler& s) {
  const Tensor& input = s.input;
  const Tensor& grid = s.grid;
  if (input.rank() != 4 || grid.rank() != 4 || grid.size(3) != 2 || grid.size(0) != input.size(0)) {
    return context.fail(Error::kInvalidArgument, "grid_sampler_2d takes images [N,C,H,W] and a grid [N,h,w,2]");
  }
  if (input.size(2) < 1 || input.size(3) < 1) {
    return context.fail(Error::kInvalidArgument, "grid_sampler_2d: the images are empty");
  }
  return check_types(context, s);
}

/// The kernel of images or volumes, which `check` looks at and `sample` computes. Interpolations are numbered up to
/// `most_interpolation`.
template <typename Arguments, typename Sample>
Error run_sampler(KernelContext& context, const Arguments& args, int64_t most_interpolation, const char* unknown,
                  Error (*check)(KernelContext&, const Sampler&), const Sample& sample) {
  const int64_t interpolation = args.interpolation_mode;
  const int64_t padding = args.padding_mode;
  if (interpolation < 0 || interpolation > most_interpolation || padding < 0 || padding > 2) {
    return context.fail(Error::kInvalidArgument, unknown);
  }
  const Sampler s = {
      args.input,        args.grid, args.out, static_cast<Interpolation>(interpolation), static_cast<Padding>(padding),
      args.align_corners};
  BERTH_RETURN_IF_ERROR(check(context, s));
  int32_t sizes[kMaxRank] = {s.input.sizes()[0], s.input.sizes()[1]};
  const int rank = s.input.rank();
  for (int axis = 2; axis < rank; ++axis) sizes[axis] = s.grid.sizes()[axis - 1];
  BERTH_RETURN_IF_ERROR(resize_out(context, s.out, Span<const int32_t>(sizes, rank)));
  BERTH_RETURN_IF_ERROR(check_memory(context, s.input, s.grid));
  BERTH_RETURN_IF_ERROR(check_memory(context, s.out));
  if (s.out.numel() == 0) return Error::kOk;
  return dispatch_floating(context, s.out.dtype(), [&](auto tag) {
    sample(tag, s);
    return Error::kOk;
  });
}

}  // namespace

Error grid_sampler_2d_out(KernelContext& context, const arguments::grid_sampler_2d_out& args) {
  return run_sampler(context, args, 2, "grid_sampler_2d: unknown interpolation or padding mode", check_arguments,
                     [&](auto tag, const Sampler& s) { sample_all<typename decltype(tag)::type>(context, s); });
}

Error grid_sampler_3d_out(KernelContext& context, const arguments::grid_sampler_3d_out& args) {
  return run_sampler(context, args, 1, "grid_sampler_3d: unknown interpolation or padding mode", check_volume,
                     [&](auto tag, const Sampler& s) { sample_volumes<typename decltype(tag)::type>(context, s); });
}

}  // namespace berth::portable
