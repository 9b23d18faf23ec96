// What kernels of berth::quantized_conv and quantized_linear share: their tensors, and what follows a sum
// (kernels/portable/fused_quantized.h), operation by operation, so that the bits are the host's where the device
// divides exactly. REQUIRES: product_numbers.glsl.
//
// The result is C, the weight A, the input B: a row is a channel of the result, a column one of its positions.
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const uint PARTS = 0;  // what there is, a bit each
#define HAS(part) ((PARTS & part) != 0u)
const uint kWholeBias = 1u;
const uint kRealBias = 2u;
const uint kInputScale = 4u;
const uint kInputZero = 8u;
const uint kWeightZero = 16u;
const uint kMiddle = 32u;
const uint kMiddleDivides = 64u;
const uint kResidual = 128u;
const uint kDivides = 256u;
const uint kWords = 512u;  // four rows of the result are one word

#ifdef TEXELS
#include "types.glsl"
// Texels of words: f32 and i32 an element each, bytes four. The result is written in whole words.
#define READS_WORDS(place, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) uniform usamplerBuffer name;
#define WORD_AT(name, i) texelFetch(name, i).x
#undef AT
#define AT(name, i) uintBitsToFloat(WORD_AT(name, i))
#define WHOLE(name, i) \
  (HAS_8(name##_type) ? number_of(name##_type, WORD_AT(name, (i) >> 2) >> 8 * ((i) & 3)) : int(WORD_AT(name, i)))
int number_of(uint type, uint byte) { return type == U8 ? int(byte & 255u) : int(byte) << 24 >> 24; }
layout(constant_id = 64) const uint c_type = F32;
layout(set = 0, binding = 1, r32ui) uniform writeonly uimageBuffer c;
#define PUT_WORD(i, word) imageStore(c, i, uvec4(word))
#else
#define READS_WORDS(place, name) READS(place, name##_block, name);
// A whole number of at most 32 bits.
#define WHOLE(name, i) int(whole_of(name##_type, BITS(name, i)).x)
WRITES(1, C, c);
#define PUT_WORD(i, word) c_32[i] = word
#endif
READS_WORDS(2, a)
READS_WORDS(3, b)
READS_WORDS(4, scale)
READS_WORDS(5, bias)
READS_WORDS(6, residual)
READS_WORDS(7, input_scale)
READS_WORDS(8, input_zero)
READS_WORDS(9, weight_zero)

// In the order of quantized_products.cc. A step is that of a tensor from one row or column to the next.
#define OWN(k) NUMBER(54 + (k))
#define SCALE_STEP OWN(0)
#define INPUT_SCALE_STEP OWN(1)
#define INPUT_ZERO_STEP OWN(2)
#define WEIGHT_ZERO_STEP OWN(3)
#define RESIDUAL_SCALE REAL(54 + 4)
#define RESIDUAL_ZERO OWN(5)
#define RESIDUAL_ROW OWN(6)
#define RESIDUAL_BATCH(i) OWN(7 + (i))
#define RESIDUAL_AXES ivec3(OWN(9), OWN(10), OWN(11))
const int kOfMiddle = 54 + 12;
const int kOfResult = 54 + 17;
const int kOfTile = 54 + 22;  // of quantized_tile.comp alone

int input_zero_of(int column) {
  return HAS(kInputZero) ? WHOLE(input_zero, BEGIN(7) + column * INPUT_ZERO_STEP) : 0;
}
int weight_zero_of(int row) { return HAS(kWeightZero) ? WHOLE(weight_zero, BEGIN(8) + row * WEIGHT_ZERO_STEP) : 0; }

// portable::ByteRounding. Its numbers: the scale, its inverse, the zero point, the limits.
int byte_of(float x, int at, bool divides) {
  precise const float quotient = x / REAL(at);
  precise const float product = x * REAL(at + 1);
  const float rounded = roundEven(divides ? quotient : product);
  const int zero = NUMBER(at + 2);
  const int low = NUMBER(at + 3);
  const int high = NUMBER(at + 4);
  if (!(rounded > float(low - zero))) return low;
  return rounded < float(high - zero) ? int(rounded) + zero : high;
}

// The bits of an element of the result. `row` is one of all groups' channels, `place` that of the residual.
uint finished(int sum, int row, int column, int place) {
  if (HAS(kWholeBias)) sum += WHOLE(bias, BEGIN(4) + row);
  precise float factor = AT(scale, BEGIN(3) + row * SCALE_STEP);
  if (HAS(kInputScale)) factor = AT(input_scale, BEGIN(6) + column * INPUT_SCALE_STEP) * factor;
  precise float x = float(sum) * factor;
  if (HAS(kRealBias)) x = x + AT(bias, BEGIN(4) + row);
  if (HAS(kMiddle)) {
    x = float(byte_of(x, kOfMiddle, HAS(kMiddleDivides)) - NUMBER(kOfMiddle + 2)) * REAL(kOfMiddle);
  }
  if (HAS(kResidual)) {
    precise float added;
    if (residual_type == F32) {
      added = AT(residual, BEGIN(5) + place);
    } else {
      added = float(WHOLE(residual, BEGIN(5) + place) - RESIDUAL_ZERO) * RESIDUAL_SCALE;
    }
    x = x + added;
  }
  x = activated(ACTIVATION, x, ALPHA, BETA);
  return c_type == F32 ? floatBitsToUint(x) : uint(byte_of(x, kOfResult, HAS(kDivides))) & 255u;
}

// The sums of ROWS rows by four columns, columns outermost, and where they go.
int ends[4 * ROWS];
struct Places {
  int row;        // the first
  int column;     // likewise
  int step;       // from one column to the next
  int channel;    // of row 0 among all groups
  int c;          // of row 0 and column 0
  int residual;
};

// Loops by numbers, which are not unrolled, so that what follows a sum is compiled once: unrolled it is most of all.
void put_all(Places at, int last_row) {
  const int columns = N_COLUMNS;
  const int fours = ITEMS > 0 ? ROWS / 4 : 0;
  const int four = ITEMS > 0 ? 4 : 0;
  for (int j = 0; j < four; ++j) {
    const int column = at.column + j * at.step;
    const int safe_column = min(column, columns - 1);
    const ivec3 position = position_of(safe_column, AXES(0));
    const int to = at.c + along(position, AXES(8));
    const int from = at.residual + along(position, RESIDUAL_AXES);
    for (int k = 0; k < fours; ++k) {
      uint word = 0u;
      for (int i = 0; i < four; ++i) {
        const int row = at.row + 4 * k + i;
        const int safe = min(row, N_ROWS - 1);
        const int sum = ends[ROWS * j + 4 * k + i];
        const uint bits = finished(sum, at.channel + safe, safe_column, from + safe * RESIDUAL_ROW);
        word |= bits << 8 * i;
        if (!HAS(kWords) && column < columns && row < last_row) {
#ifdef TEXELS
          PUT_WORD(to + row * ROW_C, bits);
#else
          PUT_BITS(c, to + row * ROW_C, uvec2(bits, 0u))
#endif
        }
      }
      const int first = at.row + 4 * k;
      if (HAS(kWords) && column < columns && first < last_row) PUT_WORD(to + first >> 2, word);
    }
  }
}

// Numbers of u8 become those of i8 by taking away 128, from their zero points too.
uint signs(uint type) { return type == U8 ? 0x80808080u : 0u; }
int moved(uint type, int zero) { return type == U8 ? zero - 128 : zero; }

// The four numbers of i8 in a word.
vec4 numbers_of(uint word) { return vec4((ivec4(word) << ivec4(24, 16, 8, 0)) >> 24); }

#ifdef WORDS_OF_BYTES
#ifdef DOT
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int signed_dot(uint x, uint y, spirv_literal int format);
// The sum of products of four numbers of i8.
int dot_of(uint x, uint y) { return signed_dot(x, y, 0); }
#else
int dot_of(uint x, uint y) {
  const int i = int(x);
  const int j = int(y);
  return (i << 24 >> 24) * (j << 24 >> 24) + (i << 16 >> 24) * (j << 16 >> 24) + (i << 8 >> 24) * (j << 8 >> 24) +
         (i >> 24) * (j >> 24);
}
#endif

uint four_of(int byte) { return uint(byte & 255) * 0x01010101u; }
#endif
