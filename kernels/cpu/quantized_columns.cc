#include "kernels/cpu/quantized_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/quantized_gather.h"

namespace berth::cpu {
namespace {

// bias - zero * total; `bias` may be null.
void subtract(const int32_t* bias, uint32_t zero, const int32_t* totals, int64_t count, int32_t* out) {
  const auto less = [&](int64_t c) { return zero * static_cast<uint32_t>(totals[c]); };
  if (bias == nullptr) {
    for (int64_t c = 0; c < count; ++c) out[c] = static_cast<int32_t>(0 - less(c));
  } else {
    for (int64_t c = 0; c < count; ++c) out[c] = static_cast<int32_t>(static_cast<uint32_t>(bias[c]) - less(c));
  }
}

// Scales `step` apart, times that of the input if it is not null.
void multiply(const float* scale, int64_t step, const float* input, int64_t count, float* out) {
  const float factor = input == nullptr ? 1 : *input;  // which changes nothing
  if (step == 0) {
    std::fill(out, out + count, factor * *scale);
  } else {
    for (int64_t c = 0; c < count; ++c) out[c] = factor * scale[c];
  }
}

// Sums of two products with these are not infinite, nor are their quotients.
constexpr float kMostNumber = 0x1p60f, kMostColumnScale = 0x1p28f;

bool are_small(const float* numbers, int64_t count, float most) {
  bool small = true;
  for (int64_t i = 0; i < count; ++i) small = small & (std::fabs(numbers[i]) <= most);  // not NaN
  return small;
}

// Whether everything that is divided is a number; of residuals of f32 no quotient is asked for.
bool divides_numbers(const portable::QuantizedProduct& p, const float* scales, const float* bias, int64_t count) {
  const portable::Activation& a = p.activation;
  const bool bounds = a.kind != portable::ActivationKind::kClamp || (a.alpha <= kMostNumber && a.beta >= -kMostNumber);
  return bounds && are_small(&p.residual_scale, 1, kMostNumber) && are_small(&p.middle.scale, 1, kMostNumber) &&
         are_small(scales, count, kMostColumnScale) && (p.bias == nullptr || are_small(bias, count, kMostNumber));
}

}  // namespace

size_t QuantizedColumns::bytes(const QuantizedLayout& layout) {
  return (kArrays + (layout.depthwise ? kTurned : 0)) * layout.padded_columns() * sizeof(float);
}

QuantizedColumns::QuantizedColumns(const QuantizedJob& job, void* memory) {
  const QuantizedLayout& layout = *job.layout;
  const portable::QuantizedProduct& product = *job.product;
  const int64_t padded = layout.padded_columns();
  auto* const start = static_cast<int32_t*>(memory);
  auto* const scales = static_cast<float*>(memory) + padded;
  auto* const bias = static_cast<float*>(memory) + 2 * padded;
  auto* const zeros = static_cast<int32_t*>(memory) + 3 * padded;
  auto* const totals = static_cast<int32_t*>(memory) + 4 * padded;
  // What fills up panels is 0; all else is written.
  if (layout.columns % layout.panel_columns() != 0) std::memset(memory, 0, bytes(layout));
  std::memcpy(totals, job.packed + layout.weight_bytes(), padded * sizeof(int32_t));
  const bool rows_differ = product.input_zero.data != nullptr && product.input_zero.step != 0;
  using Kind = portable::ActivationKind;
  const Kind kind = product.activation.kind;
  finish_.product = &product;
  finish_.start = start;
  finish_.scale = scales;
  finish_.bias = product.bias == nullptr ? nullptr : bias;
  finish_.totals = rows_differ ? totals : nullptr;
  finish_.input_shift = product.signed_input && job.matrix == nullptr ? 128 : 0;
  finish_.row_scales = product.input_scale != nullptr && product.input_scale_step != 0;
  finish_.in_registers = kind == Kind::kNone || kind == Kind::kRelu || kind == Kind::kClamp;
  if (finish_.in_registers) finish_.activation = product.activation;
  const auto zero = static_cast<uint32_t>(rows_differ ? 0 : product.input_zero[0] + finish_.input_shift);
  const float* const together = finish_.row_scales ? nullptr : product.input_scale;
  const bool has_zeros = product.weight_zero.data != nullptr || !product.signed_weight;
  bool any = false;
  const int64_t count = layout.columns;
  for (int64_t group = 0; group < layout.groups; ++group) {
    const int64_t at = group * layout.panels() * layout.panel_columns();
    const int64_t first = group * count;
    subtract(product.whole_bias == nullptr ? nullptr : product.whole_bias + first, zero, totals + at, count,
             start + at);
    multiply(product.scale + first * product.scale_step, product.scale_step, together, count, scales + at);
    if (product.bias != nullptr) std::memcpy(bias + at, product.bias + first, count * sizeof(float));
    for (int64_t c = 0; c < count && has_zeros; ++c) {
      zeros[at + c] = product.weight_zero[first + c] - (product.signed_weight ? 0 : 128);
      any = any || zeros[at + c] != 0;
    }
  }
  finish_.zeros = any ? zeros : nullptr;
  const bool quotients = job.quotients.out.exact || job.quotients.middle.exact;
  if (quotients && divides_numbers(product, scales, bias, padded)) finish_.quotients = job.quotients;
  if (layout.depthwise) turn(layout, static_cast<float*>(memory) + kArrays * padded);
}

void QuantizedColumns::turn(const QuantizedLayout& layout, float* memory) {
  const int64_t padded = layout.padded_columns();
  auto* const start = reinterpret_cast<int32_t*>(memory);
  float* const scale = memory + padded;
  float* const bias = memory + 2 * padded;
  const auto turn_one = [&](const auto* from, auto* to) {
    // [block][part][register][4] becomes [block][register][part][4].
    for (int64_t block = 0; block < padded; block += kDepthwiseChannels) {
      for (int64_t i = 0; i < 16; ++i) std::copy_n(from + block + i * 4, 4, to + block + i % 4 * 16 + i / 4 * 4);
    }
  };
  turn_one(finish_.start, start);
  turn_one(finish_.scale, scale);
  if (finish_.bias != nullptr) turn_one(finish_.bias, bias);
  finish_.turned_start = start;
  finish_.turned_scale = scale;
  finish_.turned_bias = bias;
}

QuantizedPlaces::QuantizedPlaces(const QuantizedJob& job) : conv_(job.convolution != nullptr) {
  out_ = place_of(job, *job.product->out);
  if (job.product->residual != nullptr) residual_ = place_of(job, *job.product->residual);
}

QuantizedPlaces::Place QuantizedPlaces::place_of(const QuantizedJob& job, const Tensor& tensor) {
  Place place;
  place.tensor = &tensor;
  place.plain = job.convolution == nullptr || is_channels_last(tensor);
  place.size = static_cast<int64_t>(element_size(tensor.dtype()));
  place.columns = job.layout->groups * job.layout->columns;
  return place;
}

int64_t QuantizedPlaces::Place::offset(int64_t row, int64_t column) const {
  return ((plain ? row * columns : pixel_offset(*tensor, row)) + column * step()) * size;
}

void QuantizedPlaces::finish(const QuantizedFunctions& functions, const QuantizedFinish& finish, QuantizedRows* part,
                             int64_t first, int64_t count, int64_t column) const {
  const bool together = out_.plain && (residual_.tensor == nullptr || residual_.plain);
  const int64_t step = together ? count : 1;
  part->rows = step;
  part->out_step = out_.step();
  part->out_row = out_.row_bytes();
  if (residual_.tensor != nullptr) {
    part->residual_step = residual_.step();
    part->residual_row = residual_.row_bytes();
  }
  for (int64_t row = first; row < first + count; row += step) {
    part->row = conv_ ? 0 : row;
    part->out = static_cast<uint8_t*>(out_.tensor->raw()) + out_.offset(row, column);
    if (residual_.tensor != nullptr) {
      part->residual = residual_.tensor->data<uint8_t>() + residual_.offset(row, column);
    }
    functions.finish(finish, *part);
    part->sums += part->sums_row;
    if (part->totals != nullptr) ++part->totals;
  }
}

}  // namespace berth::cpu
