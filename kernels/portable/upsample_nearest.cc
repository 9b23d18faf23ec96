// aten::upsample_nearest2d: elements of any dtype, moved as bytes.
#include <cstring>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/temp_bytes.h"
#include "kernels/portable/upsample_positions.h"

namespace berth::portable {
namespace {

template <typename T>
void fill_row(const T* in, int64_t in_stride, const int32_t* columns, int64_t n, T* out, int64_t out_stride) {
  if (in_stride == 1 && out_stride == 1) {
    for (int64_t x = 0; x < n; ++x) out[x] = in[columns[x]];
  } else {
    for (int64_t x = 0; x < n; ++x) out[x * out_stride] = in[columns[x] * in_stride];
  }
}

template <typename T>
void double_row(const T* in, int64_t n, T* out) {
  for (int64_t x = 0; x < n; ++x) {
    out[2 * x] = in[x];
    out[2 * x + 1] = in[x];
  }
}

template <typename T>
void fill_plane(const Upsampling& u, const int32_t* columns, int64_t first, int64_t n, int64_t plane) {
  const T* input = u.input->data<T>() + u.plane_offset(*u.input, plane);
  T* out = u.out->data<T>() + u.plane_offset(*u.out, plane);
  const int64_t in_stride = u.column_stride(*u.input);
  const int64_t out_stride = u.column_stride(*u.out);
  const bool dense = in_stride == 1 && out_stride == 1;
  int64_t last = -1;
  for (int64_t y = 0; y < u.axis[0].out; ++y) {
    T* row = out + y * u.row_stride(*u.out) + first * out_stride;
    const int64_t source = nearest_element(u.axis[0], u.factor[0], y);
    const T* from = input + source * u.row_stride(*u.input);
    if (source == last && dense) {
      std::memcpy(row, row - u.row_stride(*u.out), n * sizeof(T));
    } else if (dense && u.axis[1].out == 2 * u.axis[1].in) {
      double_row(from + first / 2, n / 2, row);
    } else {
      fill_row(from, in_stride, columns, n, row, out_stride);
    }
    last = source;
  }
}

}  // namespace

Error upsample_nearest2d_vec_out(KernelContext& context, const arguments::upsample_nearest2d_vec_out& args) {
  Upsampling u;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(read_upsampling(context, args.input, args.output_size, args.scale_factors, out, &u));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, pooling_sizes(u).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *u.input, out));
  if (out.numel() == 0) return Error::kOk;
  const size_t table = std::min(kTableColumns, u.axis[1].out) * sizeof(int32_t);
  int32_t* columns = static_cast<int32_t*>(context.allocate_temp(table));
  if (columns == nullptr) return Error::kMemoryAllocationFailed;
  return dispatch_bytes(context, out.dtype(), [&](auto tag) {
    for_each_table(u.axis[1].out, [&](int64_t first, int64_t count) {
      for (int64_t x = 0; x < count; ++x) {
        columns[x] = static_cast<int32_t>(nearest_element(u.axis[1], u.factor[1], first + x));
      }
      context.parallel_for(u.planes(), grain_of(u.axis[0].out * count), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
          fill_plane<typename decltype(tag)::type>(u, columns, first, count, plane);
        }
      });
    });
    return Error::kOk;
  });
}

size_t upsample_nearest2d_temp_bytes(const arguments::upsample_nearest2d_vec_out& args, int) {
  const Tensor& out = args.out;
  return out.rank() < 1 ? 0 : table_columns(out) * sizeof(int32_t) + kTempPadding;
}

}  // namespace berth::portable
