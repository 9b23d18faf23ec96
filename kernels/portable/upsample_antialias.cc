// _upsample_bilinear2d_aa: resizing with a triangle that is as wide as the scale when it makes images smaller, so that
// every input element counts. The weights of a row and of a column are found where they are used: both together read
// each input element about four times.
#include <algorithm>
#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/narrow.h"
#include "kernels/portable/pool_arguments.h"

namespace berth::portable {
namespace {

// The input elements that an output element is made of, and their weights.
class Triangle {
 public:
  Triangle(const WindowAxis& axis, double scale, int64_t position) {
    const double support = std::max(scale, 1.0);
    center_ = scale * (static_cast<double>(position) + 0.5);
    slope_ = 1 / support;
    first_ = std::max<int64_t>(static_cast<int64_t>(std::floor(center_ - support + 0.5)), 0);
    end_ = std::min<int64_t>(static_cast<int64_t>(std::floor(center_ + support + 0.5)), axis.in);
    double sum = 0;
    for (int64_t i = first_; i < end_; ++i) sum += raw(i);
    unit_ = sum == 0 ? 0 : 1 / sum;
  }

  int64_t first() const { return first_; }
  int64_t end() const { return end_; }
  double weight(int64_t i) const { return raw(i) * unit_; }

 private:
  double raw(int64_t i) const { return std::max(0.0, 1 - std::abs((static_cast<double>(i) - center_ + 0.5) * slope_)); }

  double center_ = 0, slope_ = 1, unit_ = 1;
  int64_t first_ = 0, end_ = 0;
};

double scale_of(const WindowAxis& axis, std::optional<double> given, bool align_corners) {
  const double in = static_cast<double>(axis.in);
  const double out = static_cast<double>(axis.out);
  if (align_corners) return axis.out > 1 ? (in - 1) / (out - 1) : 0;
  const double factor = given.value_or(0);
  return factor > 0 ? 1 / factor : in / out;
}

template <typename T>
void resize_plane(const Pooling& p, const double (&scale)[2], int64_t plane) {
  const T* input = p.input->data<T>() + p.plane_offset(*p.input, plane);
  T* out = p.out->data<T>() + p.plane_offset(*p.out, plane);
  for (int64_t oy = 0; oy < p.axis[0].out; ++oy) {
    const Triangle rows(p.axis[0], scale[0], oy);
    for (int64_t ox = 0; ox < p.axis[1].out; ++ox) {
      const Triangle columns(p.axis[1], scale[1], ox);
      double sum = 0;
      for (int64_t y = rows.first(); y < rows.end(); ++y) {
        const T* row = input + y * p.row_stride(*p.input);
        double part = 0;
        for (int64_t x = columns.first(); x < columns.end(); ++x) {
          part += columns.weight(x) * static_cast<double>(row[x * p.column_stride(*p.input)]);
        }
        sum += rows.weight(y) * part;
      }
      out[oy * p.row_stride(*p.out) + ox * p.column_stride(*p.out)] = narrow<T>(sum);
    }
  }
}

Error read_output_size(KernelContext& context, IntList list, Pooling* p) {
  Integers sizes;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &sizes));
  for (int i = 0; i < 2; ++i) {
    if (sizes.count != 2 || sizes[i] < 1 || sizes[i] > INT32_MAX) {
      return context.fail(Error::kInvalidArgument, "an upsampling needs two output sizes of at least 1");
    }
    p->axis[i].out = sizes[i];
  }
  return Error::kOk;
}

// Whether the scale has to do with the sizes: then each input element is read a few times. One that has not may ask for
// all of the input at each element of the result, or overflow. False for NaN.
bool is_sane(const WindowAxis& axis, double scale) {
  const double in = static_cast<double>(axis.in);
  const double out = static_cast<double>(axis.out);
  return scale >= 0 && scale < 4294967296.0 && out * std::min(in, 2 * scale + 2) <= 64 * (in + out);
}

}  // namespace

Error upsample_bilinear2d_aa_out(KernelContext& context, const arguments::upsample_bilinear2d_aa_out& args) {
  Pooling p;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(read_planes(context, args.self, out, &p));
  BERTH_RETURN_IF_ERROR(read_output_size(context, args.output_size, &p));
  BERTH_RETURN_IF_ERROR(prepare_out(context, *p.input, out, pooling_sizes(p)));
  const bool align_corners = args.align_corners;
  const double scale[2] = {scale_of(p.axis[0], args.scales_h, align_corners),
                           scale_of(p.axis[1], args.scales_w, align_corners)};
  if (!is_sane(p.axis[0], scale[0]) || !is_sane(p.axis[1], scale[1])) {
    return context.fail(Error::kInvalidArgument, "an upsampling's scale does not go with its sizes");
  }
  if (out.numel() == 0) return Error::kOk;
  return dispatch_floating(context, out.dtype(), [&](auto tag) {
    context.parallel_for(p.planes(), grain_of(4 * p.axis[0].in * p.axis[1].in), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) resize_plane<typename decltype(tag)::type>(p, scale, plane);
    });
    return Error::kOk;
  });
}

}  // namespace berth::portable
