// roi_align: regions of images, each cut into height × width bins whose value is the mean, or the largest, of samples
// that are read between the pixels. input [N, C, H, W]; rois [count, 4]: x, y, x, y in pixels times 1 / scale;
// images [count]: which image a region is of.
//
// Source: the definition of ONNX's RoiAlign. With `largest` it takes the largest of a sample's four pixels, each times
// its weight, as ONNX's definition and ONNX Runtime do.
#include <algorithm>
#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/index_reader.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/narrow.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Two neighbours along one axis and what each counts; none where the place lies outside.
struct Neighbours {
  bool inside = false;
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

Neighbours neighbours(double place, int64_t size) {
  Neighbours n;
  n.inside = place >= -1 && place <= static_cast<double>(size);
  if (!n.inside) return n;
  place = std::max(place, 0.0);
  n.low = static_cast<int64_t>(place);
  if (n.low >= size - 1) {
    n.low = n.high = size - 1;
    n.low_weight = 1;
  } else {
    n.high = n.low + 1;
    n.high_weight = place - static_cast<double>(n.low);
    n.low_weight = 1 - n.high_weight;
  }
  return n;
}

// A region along one axis: where it begins, how long a bin is, how many samples a bin has.
struct Axis {
  double start, bin;
  int64_t samples;

  double place(int64_t bin_number, int64_t sample) const {
    return start + static_cast<double>(bin_number) * bin +
           (static_cast<double>(sample) + 0.5) * bin / static_cast<double>(samples);
  }
};

Axis axis_of(const arguments::roi_align_out& args, double low, double high, int64_t bins) {
  const double offset = args.half_pixel ? 0.5 : 0;
  const double start = low * args.scale - offset;
  double length = high * args.scale - offset - start;
  if (!args.half_pixel) length = std::max(length, 1.0);
  const double bin = length / static_cast<double>(bins);
  // A region of a hostile size would be sampled for ever.
  constexpr double kMostSamples = 1 << 12;
  const double needed = std::ceil(bin);
  // Nothing for a region that ends before it begins, and for NaN.
  const int64_t own = needed > 0 ? static_cast<int64_t>(std::min(needed, kMostSamples)) : 0;
  const int64_t samples = args.samples > 0 ? args.samples : own;
  return {start, bin, needed == needed ? samples : 0};
}

// Channels that a bin is pooled of together, so that its samples' places are computed once for all of them.
constexpr int64_t kTogether = 64;

// A bin of `channels` channels from `image` on, each `area` elements behind the one before.
template <typename T>
void pool_bin(const arguments::roi_align_out& args, const T* image, int64_t channels, const Axis& rows,
              const Axis& columns, int64_t y, int64_t x, T* to) {
  const int64_t height = args.input.size(2), width = args.input.size(3), area = height * width;
  double sum[kTogether] = {};
  double most[kTogether] = {};
  bool any = false;
  for (int64_t i = 0; i < rows.samples; ++i) {
    const Neighbours r = neighbours(rows.place(y, i), height);
    for (int64_t j = 0; j < columns.samples; ++j, any = true) {
      const Neighbours c = neighbours(columns.place(x, j), width);
      if (!r.inside || !c.inside) {
        for (int64_t k = 0; k < channels; ++k) most[k] = any ? std::max(most[k], 0.0) : 0;
        continue;
      }
      const double weight[] = {r.low_weight * c.low_weight, r.low_weight * c.high_weight, r.high_weight * c.low_weight,
                               r.high_weight * c.high_weight};
      const int64_t place[] = {r.low * width + c.low, r.low * width + c.high, r.high * width + c.low,
                               r.high * width + c.high};
      for (int64_t k = 0; k < channels; ++k) {
        double part[4];
        for (int p = 0; p < 4; ++p) part[p] = weight[p] * static_cast<double>(image[k * area + place[p]]);
        sum[k] += part[0] + part[1] + part[2] + part[3];
        if (!args.largest) continue;
        const double best = *std::max_element(part, part + 4);
        most[k] = any ? std::max(most[k], best) : best;
      }
    }
  }
  const double count = std::max(static_cast<double>(rows.samples) * static_cast<double>(columns.samples), 1.0);
  const int64_t bins = args.height * args.width;
  for (int64_t k = 0; k < channels; ++k) to[k * bins] = narrow<T>(args.largest ? most[k] : sum[k] / count);
}

template <typename T>
void pool_region(const arguments::roi_align_out& args, int64_t region, int64_t image) {
  const T* roi = args.rois.data<T>() + region * 4;
  const Axis columns = axis_of(args, static_cast<double>(roi[0]), static_cast<double>(roi[2]), args.width);
  const Axis rows = axis_of(args, static_cast<double>(roi[1]), static_cast<double>(roi[3]), args.height);
  const int64_t channels = args.input.size(1);
  const int64_t area = args.input.size(2) * args.input.size(3), bins = args.height * args.width;
  for (int64_t c = 0; c < channels; c += kTogether) {
    const T* from = args.input.data<T>() + (image * channels + c) * area;
    T* to = args.out.data<T>() + (region * channels + c) * bins;
    const int64_t count = std::min(kTogether, channels - c);
    for (int64_t bin = 0; bin < bins; ++bin) {
      pool_bin(args, from, count, rows, columns, bin / args.width, bin % args.width, to + bin);
    }
  }
}

Error check_arguments(KernelContext& context, const arguments::roi_align_out& args) {
  const Tensor& input = args.input;
  const Tensor& rois = args.rois;
  if (input.rank() != 4 || rois.rank() != 2 || rois.size(1) != 4 || args.images.rank() != 1 ||
      args.images.size(0) != rois.size(0)) {
    return context.fail(Error::kInvalidArgument, "roi_align takes images [N,C,H,W], regions [count,4] and [count]");
  }
  if (args.height < 1 || args.width < 1 || args.height > INT32_MAX || args.width > INT32_MAX || args.samples < 0 ||
      args.samples > 1 << 12) {
    return context.fail(Error::kInvalidArgument, "roi_align: the numbers of bins or samples are out of range");
  }
  if (input.size(2) < 1 || input.size(3) < 1) {
    return context.fail(Error::kInvalidArgument, "roi_align: the images are empty");
  }
  if (!input.is_contiguous() || !rois.is_contiguous() || !args.out.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "roi_align takes and gives tensors in row-major order");
  }
  if (!is_floating(input.dtype())) return unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, input, args.out));
  return check_same_dtype(context, rois, args.out);
}

}  // namespace

Error roi_align_out(KernelContext& context, const arguments::roi_align_out& args) {
  BERTH_RETURN_IF_ERROR(check_arguments(context, args));
  const int32_t sizes[] = {args.rois.sizes()[0], args.input.sizes()[1], static_cast<int32_t>(args.height),
                           static_cast<int32_t>(args.width)};
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, sizes));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.input, args.rois));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.images, args.out));
  if (args.out.numel() == 0) return Error::kOk;
  return dispatch_index(context, args.images.dtype(), [&](auto index) {
    using Index = typename decltype(index)::type;
    const Index* images = args.images.data<Index>();
    const int64_t stride = args.images.stride(0);
    return dispatch_floating(context, args.out.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      AllOf in_range;
      context.parallel_for(args.rois.size(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = images[i * stride];
          if (image < 0 || image >= args.input.size(0)) return in_range.also(false);
          pool_region<T>(args, i, image);
        }
      });
      return in_range ? Error::kOk : index_out_of_range(context);
    });
  });
}

}  // namespace berth::portable
