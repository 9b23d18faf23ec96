// Sums of a few columns in registers that hold numbers of the depth: those of a column's weight lie side by side for
// it. Included once by each quantized_tile_*.cc, after add_products(). No include guard.

BERTH_TARGET void few_columns(const QuantizedFew& few) {
  const Raw flip = spread_int(static_cast<int32_t>(few.flip));
  constexpr int64_t kBytes = sizeof(Raw);
  const int64_t bytes = few.quads * kQuad, whole = bytes / kBytes * kBytes;
  const SomeRaw some = some_raw(bytes - whole);
  const uint8_t* w = few.weight;
  for (int64_t column = 0; column < few.columns; ++column, w += few.runs * few.run_bytes()) {
    for (int64_t row = 0; row < few.rows; ++row) {
      Sum sum = spread_int(0);
      for (int64_t run = 0; run < few.runs; ++run) {
        const uint8_t* const a = few.a[run] + row * few.a_step;
        const uint8_t* const b = w + run * few.run_bytes();
        for (int64_t k = 0; k < whole; k += kBytes) {
          sum = add_products(sum, row_of(flipped(load_raw(a + k), flip)), columns_of(load_raw(b + k)));
        }
        if (whole == bytes) continue;
        // What lies behind the run is multiplied by weights of 0.
        const Raw last = flipped(load_raw_some(a + whole, some), flip);
        sum = add_products(sum, row_of(last), columns_of(load_raw(b + whole)));
      }
      few.sums[row * kPanelColumns + column] = total_of_ints(sum);
    }
  }
}
