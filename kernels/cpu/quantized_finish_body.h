// What happens to the sums of a quantised product, a register of them at a time. Included once by each
// quantized_tile_*.cc, inside its own namespace, after its BERTH_TARGET and its registers (quantized_simd_512.h).
//
// Operations and their order are those of kernels/portable/fused_quantized.cc. No include guard: the text is meant to
// be compiled several times.

// Stores of bytes may change anything for all the compiler knows: numbers that stay the same are brought into registers
// first.
struct Rounder {
  Floats factor, low, high;
  Ints zero;
  bool scaled, divides;
};

BERTH_LOCAL Rounder rounder_of(const portable::ByteRounding& rounding) {
  // Of the middle, the scale may be that of other numbers than the inverse.
  const float factor = rounding.divides ? rounding.scale : rounding.inverse;
  return {spread(factor),
          spread(static_cast<float>(rounding.low - rounding.zero_point)),
          spread(static_cast<float>(rounding.high - rounding.zero_point)),
          spread_int(rounding.zero_point),
          factor != 1.0f,
          rounding.divides};
}

// t, rounded, as the number that stands for it without its zero point. NaN becomes the lowest.
BERTH_LOCAL Ints rounded(const Rounder& rounder, Floats t) {
  if (rounder.scaled) t = rounder.divides ? over(t, rounder.factor) : times(t, rounder.factor);
  return to_ints(smaller(larger(t, rounder.low), rounder.high));
}

// As portable::activate() has them; other kinds stay for later.
struct Bounds {
  Floats low, high;
  bool is_low, is_high;
};

BERTH_LOCAL Bounds bounds_of(const portable::Activation& activation) {
  const bool relu = activation.kind == portable::ActivationKind::kRelu;
  const bool clamp = activation.kind == portable::ActivationKind::kClamp;
  return {spread(clamp ? activation.alpha : 0), spread(activation.beta), relu || clamp, clamp};
}

BERTH_LOCAL Floats bounded(const Bounds& bounds, Floats t) {
  if (bounds.is_low) t = larger(bounds.low, t);
  return bounds.is_high ? smaller(bounds.high, t) : t;
}

// The residual's numbers from `from` on, `step` elements apart; `left` of them are there.
struct Residual {
  Floats scale;
  Ints zero;
  int64_t step;
  bool is_float, is_signed;
};

BERTH_LOCAL Residual residual_of(const portable::QuantizedProduct& p, int64_t step) {
  const DType dtype = p.residual == nullptr ? DType::kF32 : p.residual->dtype();
  return {spread(p.residual_scale), spread_int(p.residual_zero), step, dtype == DType::kF32, dtype == DType::kI8};
}

BERTH_LOCAL Floats load_residual(const Residual& residual, const uint8_t* from, int64_t left) {
  const bool whole = residual.step == 1 && left >= kLane;
  if (residual.is_float) {
    const float* floats = reinterpret_cast<const float*>(from);
    if (whole) return load_floats(floats);
    float some[kLane] = {};
    for (int64_t i = 0; i < left && i < kLane; ++i) some[i] = floats[i * residual.step];
    return load_floats(some);
  }
  uint8_t some[kLane] = {};
  if (!whole) {
    for (int64_t i = 0; i < left && i < kLane; ++i) some[i] = from[i * residual.step];
    from = some;
  }
  return times(to_floats(minus_ints(load_bytes(from, residual.is_signed), residual.zero)), residual.scale);
}

BERTH_LOCAL void put_floats(uint8_t* to, int64_t step, int64_t left, Floats t) {
  float* floats = reinterpret_cast<float*>(to);
  if (step == 1 && left >= kLane) return store_floats(floats, t);
  float some[kLane];
  store_floats(some, t);
  for (int64_t i = 0; i < left && i < kLane; ++i) floats[i * step] = some[i];
}

BERTH_LOCAL void put_bytes(const Rounder& rounder, uint8_t* to, int64_t step, int64_t left, Floats t) {
  const Ints bytes = plus_ints(rounded(rounder, t), rounder.zero);
  if (step == 1 && left >= kLane) return store_bytes(to, bytes);
  uint8_t some[kLane];
  store_bytes(some, bytes);
  for (int64_t i = 0; i < left && i < kLane; ++i) to[i * step] = some[i];
}

// What differs from row to row, and what is rounded in between.
BERTH_LOCAL Ints own_sum(const QuantizedFinish& f, const QuantizedRows& rows, int64_t column, int64_t i, Ints sum) {
  if (f.totals != nullptr) {
    const Ints zero = spread_int(f.product->input_zero[rows.row + i] + f.input_shift);
    sum = minus_ints(sum, times_ints(load_ints(f.totals + column), zero));
  }
  if (f.zeros == nullptr) return sum;
  return minus_ints(sum, times_ints(load_ints(f.zeros + column), spread_int(rows.totals[i])));
}

// kSimple: the same happens to every row, and nothing is rounded in between.
template <bool kSimple, bool kFloat, bool kResidual>
BERTH_TARGET void finish_rows(const QuantizedFinish& f, const QuantizedRows& rows) {
  const portable::QuantizedProduct& p = *f.product;
  const Rounder rounder = rounder_of(p.rounding);
  const Rounder middle = rounder_of(p.middle);
  const Floats middle_scale = spread(p.middle.scale);
  const Bounds bounds = bounds_of(f.activation);
  const Residual with = residual_of(p, rows.residual_step);
  const bool has_bias = f.bias != nullptr, has_middle = p.has_middle, row_scales = f.row_scales;
  const int64_t out_size = kFloat ? 4 : 1;
  const int64_t residual_size = with.is_float ? 4 : 1;
  const int64_t count = rows.count, height = rows.rows, sums_row = rows.sums_row;
  const int64_t out_step = rows.out_step, out_row = rows.out_row, residual_row = rows.residual_row;
  for (int64_t at = 0; at < count; at += kLane) {
    const int64_t column = rows.column + at;
    const int64_t left = count - at;
    const Ints start = load_ints(f.start + column);
    const Floats scale = load_floats(f.scale + column);
    const Floats bias = has_bias ? load_floats(f.bias + column) : spread(0);
    const int32_t* sums = rows.sums + at;
    uint8_t* out = rows.out + at * out_step * out_size;
    const uint8_t* residual = kResidual ? rows.residual + at * with.step * residual_size : nullptr;
    for (int64_t i = 0; i < height; ++i, sums += sums_row, out += out_row) {
      Ints sum = plus_ints(load_ints(sums), start);
      Floats factor = scale;
      if (!kSimple) {
        sum = own_sum(f, rows, column, i, sum);
        if (row_scales) factor = times(spread(p.input_scale[rows.row + i]), scale);
      }
      Floats t = times(to_floats(sum), factor);
      if (has_bias) t = plus(t, bias);
      if (!kSimple && has_middle) t = times(to_floats(rounded(middle, t)), middle_scale);
      if (kResidual) {
        t = plus(t, load_residual(with, residual, left));
        residual += residual_row;
      }
      t = bounded(bounds, t);
      if (kFloat) {
        put_floats(out, out_step, left, t);
      } else {
        put_bytes(rounder, out, out_step, left, t);
      }
    }
  }
}

template <bool kFloat>
BERTH_TARGET void finish_as(const QuantizedFinish& f, const QuantizedRows& rows) {
  const portable::QuantizedProduct& p = *f.product;
  const bool simple = f.totals == nullptr && f.zeros == nullptr && !f.row_scales && !p.has_middle;
  if (simple && p.residual == nullptr) return finish_rows<true, kFloat, false>(f, rows);
  if (simple) return finish_rows<true, kFloat, true>(f, rows);
  if (p.residual == nullptr) return finish_rows<false, kFloat, false>(f, rows);
  finish_rows<false, kFloat, true>(f, rows);
}

// Activations that are not done in registers: on floats, row by row.
BERTH_TARGET void finish_slowly(const QuantizedFinish& f, QuantizedRows rows) {
  const portable::QuantizedProduct& p = *f.product;
  alignas(64) float all[kMaxTileHeight * kMaxTilePanels * kPanelColumns];
  constexpr int64_t kStep = kMaxTilePanels * kPanelColumns;
  const QuantizedRows given = rows;
  rows.out = reinterpret_cast<uint8_t*>(all);
  rows.out_step = 1;
  rows.out_row = kStep * static_cast<int64_t>(sizeof(float));
  finish_as<true>(f, rows);
  const Rounder rounder = rounder_of(p.rounding);
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* row = all + i * kStep;
    portable::activate(p.activation, row, rows.count);
    uint8_t* out = given.out + i * given.out_row;
    for (int64_t at = 0; at < rows.count; at += kLane) {
      const int64_t left = rows.count - at;
      if (p.out->dtype() == DType::kF32) {
        put_floats(out + at * given.out_step * 4, given.out_step, left, load_floats(row + at));
      } else {
        put_bytes(rounder, out + at * given.out_step, given.out_step, left, load_floats(row + at));
      }
    }
  }
}

BERTH_TARGET void finish(const QuantizedFinish& f, const QuantizedRows& rows) {
  if (!f.in_registers) return finish_slowly(f, rows);
  if (f.product->out->dtype() == DType::kF32) return finish_as<true>(f, rows);
  finish_as<false>(f, rows);
}

BERTH_TARGET int32_t total_of(const uint8_t* bytes, int64_t count, uint32_t flip) {
  uint32_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += static_cast<uint8_t>(bytes[i] ^ static_cast<uint8_t>(flip));
  return static_cast<int32_t>(total);
}
