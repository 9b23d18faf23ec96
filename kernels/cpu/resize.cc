#include "kernels/cpu/resize.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/resize_last.h"
#include "kernels/portable/temp_bytes.h"
#include "kernels/portable/upsample_positions.h"

namespace berth::cpu {
namespace {

using portable::kTableColumns;
using portable::nearest_element;
using portable::Upsampling;
using Blend = portable::Between<float>;
using Positions = portable::Positions<float>;

constexpr int64_t kGrainElements = 1 << 15;

// Whether this is ours, whatever the elements are; then the output has its sizes, or `*error` says why not.
template <typename Args>
bool begin(KernelContext& context, const Args& args, Upsampling* u, Error* error) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  if (!is_channels_last(input) || !is_channels_last(out)) return false;
  if (portable::read_upsampling(context, input, args.output_size, args.scale_factors, out, u) != Error::kOk)
    return false;
  *error = portable::resize_out(context, out, portable::pooling_sizes(*u).span());
  if (*error == Error::kOk) *error = portable::check_memory(context, input, out);
  return true;
}

// The columns of the output that there is a table for.
struct Columns {
  int64_t first = 0, count = 0;
};

// Calls f(image, y, at) for all rows of the output, of which these columns begin with element `at`.
template <typename F>
void for_each_row(KernelContext& context, const Upsampling& u, Columns columns, F&& f) {
  const int64_t line = u.axis[1].out * u.channels;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, columns.count * u.channels));
  context.parallel_for(u.batch * u.axis[0].out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      f(row / u.axis[0].out, row % u.axis[0].out, row * line + columns.first * u.channels);
    }
  });
}

// The element of the input that a row begins with.
int64_t input_row(const Upsampling& u, int64_t image, int64_t y) {
  return (image * u.axis[0].in + y) * u.axis[1].in * u.channels;
}

size_t table_bytes(const Tensor& out, size_t entry) {
  return out.rank() != 4 ? 0 : portable::table_columns(out) * entry + portable::kTempPadding;
}

// `table`: of each pixel of these columns, the one of the input that it is. Elements have `size` bytes.
void move_pixels(KernelContext& context, const Upsampling& u, Columns columns, int64_t size, const int64_t* table) {
  const int64_t pixel = u.channels * size;
  const char* const input = static_cast<const char*>(u.input->raw());
  char* const out = static_cast<char*>(u.out->raw());
  for_each_row(context, u, columns, [&](int64_t image, int64_t y, int64_t at) {
    const char* from = input + input_row(u, image, nearest_element(u.axis[0], u.factor[0], y)) * size;
    char* to = out + at * size;
    for (int64_t x = 0; x < columns.count; ++x, to += pixel) std::memcpy(to, from + table[x] * pixel, pixel);
  });
}

}  // namespace

Error upsample_nearest2d_out(KernelContext& context, const arguments::upsample_nearest2d_vec_out& args) {
  Upsampling u;
  Error error = Error::kOk;
  Tensor& out = args.out;
  const size_t size = element_size(out.dtype());
  if (size > sizeof(float) || !begin(context, args, &u, &error)) {
    return portable::upsample_nearest2d_vec_out(context, args);
  }
  if (error != Error::kOk || out.numel() == 0) return error;
  const int64_t width = u.axis[1].out;
  auto* table = static_cast<int64_t*>(context.allocate_temp(std::min(width, kTableColumns) * sizeof(int64_t)));
  if (table == nullptr) return Error::kMemoryAllocationFailed;
  portable::for_each_table(width, [&](int64_t first, int64_t count) {
    for (int64_t x = 0; x < count; ++x) table[x] = nearest_element(u.axis[1], u.factor[1], first + x);
    move_pixels(context, u, {first, count}, static_cast<int64_t>(size), table);
  });
  return Error::kOk;
}

Error upsample_bilinear2d_out(KernelContext& context, const arguments::upsample_bilinear2d_vec_out& args) {
  Upsampling u;
  Error error = Error::kOk;
  Tensor& out = args.out;
  const bool align = args.align_corners;
  if (out.dtype() != DType::kF32 || !begin(context, args, &u, &error)) {
    return portable::upsample_bilinear2d_vec_out(context, args);
  }
  if (error != Error::kOk || out.numel() == 0) return error;
  const int64_t width = u.axis[1].out;
  auto* table = static_cast<Blend*>(context.allocate_temp(std::min(width, kTableColumns) * sizeof(Blend)));
  if (table == nullptr) return Error::kMemoryAllocationFailed;
  const Positions positions(u.axis[1], u.factor[1], align);
  const Positions lines(u.axis[0], u.factor[0], align);
  portable::for_each_table(width, [&](int64_t first, int64_t count) {
    for (int64_t x = 0; x < count; ++x) table[x] = positions(first + x);
    for_each_row(context, u, {first, count}, [&](int64_t image, int64_t y, int64_t at) {
      const Blend rows = lines(y);
      const float* const input = u.input->data<float>();
      blend_row({input + input_row(u, image, rows.first), input + input_row(u, image, rows.second), rows.weight, table,
                 count, u.channels, u.out->data<float>() + at});
    });
  });
  return Error::kOk;
}

size_t upsample_nearest2d_temp_bytes(const arguments::upsample_nearest2d_vec_out& args, int threads) {
  return std::max(portable::upsample_nearest2d_temp_bytes(args, threads), table_bytes(args.out, sizeof(int64_t)));
}

size_t upsample_bilinear2d_temp_bytes(const arguments::upsample_bilinear2d_vec_out& args, int threads) {
  return std::max(portable::upsample_bilinear2d_temp_bytes(args, threads), table_bytes(args.out, sizeof(Blend)));
}

}  // namespace berth::cpu
