// aten::upsample_bilinear2d for floating dtypes: each output element is the weighted mean of the four around its
// position.
#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/temp_bytes.h"
#include "kernels/portable/upsample_positions.h"

namespace berth::portable {
namespace {

template <typename T, typename S>
BERTH_INLINE void blend_row(const T* above, const T* below, S down, int64_t in_stride, const Between<S>* columns,
                            int64_t n, T* out, int64_t out_stride) {
  for (int64_t x = 0; x < n; ++x) {
    const Between<S> c = columns[x];
    const int64_t first = c.first * in_stride;
    const int64_t second = c.second * in_stride;
    const S left = 1 - c.weight;
    const S top = left * static_cast<S>(above[first]) + c.weight * static_cast<S>(above[second]);
    const S bottom = left * static_cast<S>(below[first]) + c.weight * static_cast<S>(below[second]);
    out[x * out_stride] = static_cast<T>((1 - down) * top + down * bottom);
  }
}

BERTH_MULTIVERSION void blend_row_f32(const float* above, const float* below, float down, const Between<float>* columns,
                                      int64_t n, float* out) {
  blend_row(above, below, down, 1, columns, n, out, 1);
}

template <typename T, typename S>
void blend_plane(const Upsampling& u, const Positions<S>& rows, const Between<S>* columns, int64_t first, int64_t n,
                 int64_t plane) {
  const T* input = u.input->data<T>() + u.plane_offset(*u.input, plane);
  T* out = u.out->data<T>() + u.plane_offset(*u.out, plane);
  const int64_t in_stride = u.column_stride(*u.input);
  const int64_t out_stride = u.column_stride(*u.out);
  for (int64_t y = 0; y < u.axis[0].out; ++y) {
    const Between<S> row = rows(y);
    const T* above = input + row.first * u.row_stride(*u.input);
    const T* below = input + row.second * u.row_stride(*u.input);
    T* to = out + y * u.row_stride(*u.out) + first * out_stride;
    if constexpr (std::is_same_v<T, float>) {
      if (in_stride == 1 && out_stride == 1) {
        blend_row_f32(above, below, row.weight, columns, n, to);
        continue;
      }
    }
    blend_row<T, S>(above, below, row.weight, in_stride, columns, n, to, out_stride);
  }
}

template <typename T>
Error blend(KernelContext& context, const Upsampling& u, bool align_corners) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Positions<S> rows(u.axis[0], u.factor[0], align_corners);
  const Positions<S> positions(u.axis[1], u.factor[1], align_corners);
  const int64_t width = u.axis[1].out;
  auto* columns = static_cast<Between<S>*>(context.allocate_temp(std::min(kTableColumns, width) * sizeof(Between<S>)));
  if (columns == nullptr) return Error::kMemoryAllocationFailed;
  for_each_table(width, [&](int64_t first, int64_t count) {
    for (int64_t x = 0; x < count; ++x) columns[x] = positions(first + x);
    context.parallel_for(u.planes(), grain_of(4 * u.axis[0].out * count), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) blend_plane<T, S>(u, rows, columns, first, count, plane);
    });
  });
  return Error::kOk;
}

}  // namespace

Error upsample_bilinear2d_vec_out(KernelContext& context, const arguments::upsample_bilinear2d_vec_out& args) {
  Upsampling u;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(read_upsampling(context, args.input, args.output_size, args.scale_factors, out, &u));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, pooling_sizes(u).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *u.input, out));
  if (out.numel() == 0) return Error::kOk;
  const bool align_corners = args.align_corners;
  return dispatch_floating(context, out.dtype(),
                           [&](auto tag) { return blend<typename decltype(tag)::type>(context, u, align_corners); });
}

size_t upsample_bilinear2d_temp_bytes(const arguments::upsample_bilinear2d_vec_out& args, int) {
  const Tensor& out = args.out;
  return out.rank() < 1 ? 0 : table_columns(out) * sizeof(Between<double>) + kTempPadding;
}

}  // namespace berth::portable
