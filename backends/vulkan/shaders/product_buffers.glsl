// What the kernels of products on storage buffers share: their tensors (C, A, B, the bias, what is added: `start`),
// their constants, and what follows a sum. REQUIRES: product_numbers.glsl.
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const uint BIAS = 0;   // 1: one a row of a group; 2: one a column
layout(constant_id = 2) const uint START = 0;  // 1: it lies like C; 2: with strides of its own
layout(constant_id = 3) const uint TAPS = 0;   // 0: one tap, on each position's own element

WRITES(1, C, c);
#ifdef VECTORS
READS_FOUR(2, A, a);
READS_FOUR(3, B, b);
#else
READS(2, A, a);
READS(3, B, b);
#endif
READS(4, Bias, bias);
READS(5, Start, start);

// Writes the element of `row` and `column`, whose place in C is `place`.
void finish(float sum, int row, int column, int outer, int inner, int place) {
  sum *= A_SCALE;
  if (BIAS == 1u) sum += AT(bias, BEGIN(3) + outer * BIAS_BATCH(0) + inner * BIAS_BATCH(1) + row);
  if (BIAS == 2u) sum += AT(bias, BEGIN(3) + column);
  if (START == 1u) sum += AT(start, BEGIN(4) + place);
  if (START == 2u) {
    const int from = outer * BATCH(0, 3) + inner * BATCH(1, 3) + row * START_ROW + column * START_COLUMN;
    sum += START_SCALE * AT(start, BEGIN(4) + from);
  }
  PUT(c, BEGIN(0) + place, activated(ACTIVATION, sum, ALPHA, BETA));
}
