// What happens to the sums of a quantised product, sixteen at a time. Included once by each quantized_tile_*.cc, inside
// its own namespace, after
//
//   BERTH_TARGET   the attribute that allows the instruction set; may be empty
//
// The vectors are the compiler's, which divides them into registers. Operations and their order are those of
// kernels/portable/fused_quantized.cc. No include guard: the text is meant to be compiled several times.

using Floats = float __attribute__((vector_size(64)));
using Ints = int32_t __attribute__((vector_size(64)));
using Words = uint32_t __attribute__((vector_size(64)));
using Bytes = uint8_t __attribute__((vector_size(16)));
using SignedBytes = int8_t __attribute__((vector_size(16)));

constexpr int64_t kLane = 16;

#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

// A number between -2^22 and 2^22 plus this has no place for fractions, and is rounded to even.
constexpr float kRound = 12582912.0f;

BERTH_LOCAL void load_floats(const float* from, Floats& to) { __builtin_memcpy(&to, from, sizeof(to)); }
BERTH_LOCAL void load_ints(const int32_t* from, Ints& to) { __builtin_memcpy(&to, from, sizeof(to)); }

// x, rounded, as the number that stands for it without its zero point. NaN becomes the lowest.
BERTH_LOCAL void round_bytes(const portable::ByteRounding& rounding, Floats& x, Ints& to) {
  if (rounding.scale != 1.0f) x = rounding.divides ? x / rounding.scale : x * rounding.inverse;
  const Floats low = Floats{} + static_cast<float>(rounding.low - rounding.zero_point);
  const Floats high = Floats{} + static_cast<float>(rounding.high - rounding.zero_point);
  x = x > low ? x : low;
  x = x < high ? x : high;
  to = reinterpret_cast<Ints>(x + kRound) - reinterpret_cast<Ints>(Floats{} + kRound);
}

// Sixteen sums, or `left` if that is less, of a row from `at` on, up to the activation.
BERTH_LOCAL void scale_sums(const QuantizedFinish& f, const QuantizedRow& row, int64_t at, int64_t left, Floats& t) {
  const portable::QuantizedProduct& p = *f.product;
  Ints sums, start;
  load_ints(row.sums + at, sums);
  load_ints(f.start + row.column + at, start);
  Words sum = reinterpret_cast<Words>(sums) + reinterpret_cast<Words>(start);
  if (f.totals != nullptr) {
    Ints totals;
    load_ints(f.totals + row.column + at, totals);
    sum -= reinterpret_cast<Words>(totals) * static_cast<uint32_t>(row.input_zero);
  }
  if (f.zeros != nullptr) {
    Ints zeros;
    load_ints(f.zeros + row.column + at, zeros);
    sum -= reinterpret_cast<Words>(zeros) * static_cast<uint32_t>(row.row_total);
  }
  Floats scale;
  load_floats(f.scale + row.column + at, scale);
  if (f.row_scales) scale = p.input_scale[row.row] * scale;
  t = __builtin_convertvector(reinterpret_cast<Ints>(sum), Floats) * scale;
  if (f.bias != nullptr) {
    Floats bias;
    load_floats(f.bias + row.column + at, bias);
    t = t + bias;
  }
  if (p.has_middle) {
    Ints rounded;
    round_bytes(p.middle, t, rounded);
    t = __builtin_convertvector(rounded, Floats) * p.middle.scale;
  }
  if (row.residual == nullptr) return;
  Floats residual;
  if (p.residual->dtype() == DType::kF32) {
    const float* from = static_cast<const float*>(row.residual) + at * row.residual_step;
    float some[kLane] = {};
    if (row.residual_step != 1 || left < kLane) {
      for (int64_t i = 0; i < left && i < kLane; ++i) some[i] = from[i * row.residual_step];
      from = some;
    }
    load_floats(from, residual);
  } else {
    const uint8_t* from = static_cast<const uint8_t*>(row.residual) + at * row.residual_step;
    uint8_t some[kLane] = {};
    if (row.residual_step != 1 || left < kLane) {
      for (int64_t i = 0; i < left && i < kLane; ++i) some[i] = from[i * row.residual_step];
      from = some;
    }
    Bytes bytes;
    __builtin_memcpy(&bytes, from, sizeof(bytes));
    Ints wide;
    if (p.residual->dtype() == DType::kU8) {
      wide = __builtin_convertvector(bytes, Ints);
    } else {
      wide = __builtin_convertvector(reinterpret_cast<SignedBytes>(bytes), Ints);
    }
    residual = __builtin_convertvector(wide - p.residual_zero, Floats) * p.residual_scale;
  }
  t = t + residual;
}

// As portable::activate() has them.
BERTH_LOCAL void keep_within(const portable::Activation& activation, Floats& t) {
  if (activation.kind == portable::ActivationKind::kRelu) t = t < Floats{} ? Floats{} : t;
  if (activation.kind != portable::ActivationKind::kClamp) return;
  const Floats low = Floats{} + activation.alpha, high = Floats{} + activation.beta;
  t = t < low ? low : t;
  t = t > high ? high : t;
}

BERTH_LOCAL void store_sums(const portable::QuantizedProduct& p, const QuantizedRow& row, int64_t at, int64_t left,
                            Floats& t) {
  if (p.out->dtype() == DType::kF32) {
    float* to = static_cast<float*>(row.out) + at * row.out_step;
    if (row.out_step == 1 && left >= kLane) {
      __builtin_memcpy(to, &t, sizeof(t));
      return;
    }
    float some[kLane];
    __builtin_memcpy(some, &t, sizeof(t));
    for (int64_t i = 0; i < left && i < kLane; ++i) to[i * row.out_step] = some[i];
    return;
  }
  Ints rounded;
  round_bytes(p.rounding, t, rounded);
  const Bytes bytes = __builtin_convertvector(rounded + p.rounding.zero_point, Bytes);
  uint8_t* to = static_cast<uint8_t*>(row.out) + at * row.out_step;
  if (row.out_step == 1 && left >= kLane) {
    __builtin_memcpy(to, &bytes, sizeof(bytes));
    return;
  }
  uint8_t some[kLane];
  __builtin_memcpy(some, &bytes, sizeof(bytes));
  for (int64_t i = 0; i < left && i < kLane; ++i) to[i * row.out_step] = some[i];
}

BERTH_TARGET void finish_row(const QuantizedFinish& f, const QuantizedRow& row) {
  const portable::QuantizedProduct& p = *f.product;
  if (f.in_registers) {
    for (int64_t at = 0; at < row.count; at += kLane) {
      Floats t;
      scale_sums(f, row, at, row.count - at, t);
      keep_within(p.activation, t);
      store_sums(p, row, at, row.count - at, t);
    }
    return;
  }
  float all[kMaxTilePanels * kPanelColumns];
  for (int64_t at = 0; at < row.count; at += kLane) {
    Floats t;
    scale_sums(f, row, at, row.count - at, t);
    __builtin_memcpy(all + at, &t, sizeof(t));
  }
  portable::activate(p.activation, all, row.count);
  for (int64_t at = 0; at < row.count; at += kLane) {
    Floats t;
    load_floats(all + at, t);
    store_sums(p, row, at, row.count - at, t);
  }
}

BERTH_TARGET int32_t total_of(const uint8_t* bytes, int64_t count, uint32_t flip) {
  uint32_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += static_cast<uint8_t>(bytes[i] ^ static_cast<uint8_t>(flip));
  return static_cast<int32_t>(total);
}
