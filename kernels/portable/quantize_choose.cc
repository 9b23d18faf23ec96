// choose_qparams: scale and zero point for a tensor, or for each of its rows, from the smallest and largest element.
// Computed in the type of the input, f32 for narrower ones, as torch.ao's definitions are.
#include <algorithm>

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/quantize.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 16384;

// Smallest and largest of a row; both NaN when one element is.
struct Extent {
  double low = INFINITY;
  double high = -INFINITY;
};

Extent extent_of(const RowReader& reader, const char* row) {
  Extent extent;
  double values[RowReader::kChunk];
  for (int64_t begin = 0; begin < reader.walk.count; begin += RowReader::kChunk) {
    const int64_t n = std::min(reader.walk.count - begin, RowReader::kChunk);
    reader.load(row, begin, n, values);
    for (int64_t i = 0; i < n; ++i) {
      if (values[i] < extent.low || std::isnan(values[i])) extent.low = values[i];
      if (values[i] > extent.high || std::isnan(values[i])) extent.high = values[i];
    }
    if (std::isnan(extent.low)) return {NAN, NAN};
  }
  return extent;
}

struct Choice {
  double scale;
  int64_t zero_point;
};

// Zero is always a quantised number: the range is stretched to it.
template <typename T>
Choice choose(const Extent& extent, const QuantRange& range, double eps) {
  const T low = std::min(static_cast<T>(extent.low), T{0});
  const T high = std::max(static_cast<T>(extent.high), T{0});
  const T steps = static_cast<T>(range.high - range.low);
  const T scale = std::max((high - low) / steps, static_cast<T>(static_cast<float>(eps)));
  // The exact zero point is the same number for all that follows, so it may be clamped before it is subtracted.
  const T most = static_cast<T>(INT32_MAX);
  const T below = std::clamp(std::nearbyint(low / scale), -most, most);
  return {static_cast<double>(scale), std::clamp(range.low - static_cast<int64_t>(below), range.low, range.high)};
}

// After XNNPACK: the zero point with the smaller error at the ends.
template <typename T>
Choice choose_for_token(const Extent& extent) {
  constexpr T kLow = -128;
  constexpr T kHigh = 127;
  constexpr T kEps = static_cast<T>(1.1920928955078125e-07);  // of f32
  const T low = std::min(static_cast<T>(extent.low), T{0});
  const T high = std::max(static_cast<T>(extent.high), T{0});
  const T scale = std::max((high - low) / (kHigh - kLow), kEps);
  const T below = low / scale;
  const T above = high / scale;
  const T zero_point = (kLow + below) + (kHigh + above) > 0 ? kLow - below : kHigh - above;
  return {static_cast<double>(scale), round_to_range(zero_point, -128, 127)};
}

Error check_arguments(KernelContext& context, const Tensor& input, const Tensor& scale, const Tensor& zero_point) {
  if (!is_floating(input.dtype())) return unsupported_dtype(context);
  if (!is_floating(scale.dtype()) || !is_integer(zero_point.dtype())) {
    return context.fail(Error::kInvalidArgument, "choose_qparams gives a floating scale and an integer zero point");
  }
  return check_memory(context, input);
}

void store(const Choice& choice, int64_t index, Tensor& scale, Tensor& zero_point) {
  store_element(scale, index, choice.scale);
  store_element(zero_point, index, static_cast<double>(choice.zero_point));
}

void choose_rows(KernelContext& context, const Tensor& input, Tensor& scale, Tensor& zero_point) {
  const int last = input.rank() - 1;
  const Tensor* tensors[] = {&input};
  const RowReader reader = {input.dtype(), walk_dims(tensors, uint32_t{1} << last)};
  const int64_t bytes = static_cast<int64_t>(element_size(input.dtype()));
  context.parallel_for(scale.numel(), kGrainElements / reader.walk.count + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = element_offset(input, i * reader.walk.count);
      const Extent extent = extent_of(reader, input.data<char>() + first * bytes);
      const bool wide = input.dtype() == DType::kF64;
      const Choice choice = wide ? choose_for_token<double>(extent) : choose_for_token<float>(extent);
      store_element(scale, element_offset(scale, i), choice.scale);
      store_element(zero_point, element_offset(zero_point, i), static_cast<double>(choice.zero_point));
    }
  });
}

}  // namespace

// A tensor whose elements are not all numbers has scale 1 and zero point 0.
Error choose_qparams_Tensor_out(KernelContext& context, const arguments::choose_qparams_Tensor_out& args) {
  const Tensor& input = args.input;
  const QuantRange range = {args.quant_min, args.quant_max};
  Tensor& scale = args.scale_out;
  Tensor& zero_point = args.zero_point_out;
  BERTH_RETURN_IF_ERROR(check_arguments(context, input, scale, zero_point));
  if (range.low >= range.high || range.low < INT32_MIN || range.high > INT32_MAX || input.numel() == 0) {
    return context.fail(Error::kInvalidArgument, "choose_qparams needs elements, and quant_min below quant_max");
  }
  const int32_t one[] = {1};
  BERTH_RETURN_IF_ERROR(resize_out(context, scale, one));
  BERTH_RETURN_IF_ERROR(resize_out(context, zero_point, one));
  BERTH_RETURN_IF_ERROR(check_memory(context, scale, zero_point));
  const Tensor* tensors[] = {&input};
  const RowReader reader = {input.dtype(), walk_broadcast(tensors)};
  const Extent extent = extent_of(reader, input.data<char>());
  const double eps = args.eps;
  Choice choice = {1, 0};
  const bool wide = input.dtype() == DType::kF64;
  if (!std::isnan(extent.low)) choice = wide ? choose<double>(extent, range, eps) : choose<float>(extent, range, eps);
  store(choice, 0, scale, zero_point);
  return Error::kOk;
}

Error choose_qparams_per_token_asymmetric_out(KernelContext& context,
                                              const arguments::choose_qparams_per_token_asymmetric_out& args) {
  const Tensor& input = args.input;
  Tensor& scale = args.scale_out;
  Tensor& zero_point = args.zero_point_out;
  BERTH_RETURN_IF_ERROR(check_arguments(context, input, scale, zero_point));
  if (input.rank() == 0 || input.size(input.rank() - 1) == 0) {
    return context.fail(Error::kInvalidArgument, "choose_qparams_per_token_asymmetric needs rows with elements");
  }
  Sizes sizes = sizes_of(input);
  sizes.data[sizes.rank - 1] = 1;
  BERTH_RETURN_IF_ERROR(resize_out(context, scale, sizes.span()));
  BERTH_RETURN_IF_ERROR(resize_out(context, zero_point, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, scale, zero_point));
  choose_rows(context, input, scale, zero_point);
  return Error::kOk;
}

}  // namespace berth::portable
