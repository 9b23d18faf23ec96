#version 450
#extension GL_GOOGLE_include_directive : require
// One element-wise operator on tensors and numbers of any type, an element each; or a copy, or a conversion. KIND and
// the types are constants, the operator of a kind is a number: one pipeline does for all sums and products of a type,
// where compiling one takes long. Whole numbers wrap in their own type, as the low bits of sums and products do.
//
// Numbers: where the first element of the first operand is and of the result; the operator (kernels/typed.h); which
// operands are tensors, a bit each; of each other operand its two words; the lowest and the highest result; how many
// dimensions there are, 0 where all tensors lie alike; the sizes, and the strides of the result and of each operand.
#define ANY_TYPE
#define BUFFERS 4
#include "common.glsl"
#include "wholes.glsl"

layout(constant_id = 0) const uint KIND = 0;  // as below

const uint kCopies = 0u;
const uint kWhole = 1u;    // computes with whole numbers
const uint kReal = 2u;     // compares f32
const uint kChooses = 3u;
const uint kQuantizes = 4u;
const uint kDequantizes = 5u;
const uint kCounts = 6u;
const uint kCountsReal = 7u;

WRITES(1, Result, result);
READS(2, A, a);
READS(3, B, b);
READS(4, C, c);

#define OPERATOR NUMBER(2)
#define HAS(k) ((NUMBER(3) >> (k) & 1) != 0)
const int kNumbers = 4;
const int kLimits = 10;
#define RANK NUMBER(12)
const int kSizes = 13;

uvec2 word_pair(int k) { return uvec2(uint(NUMBER(k)), uint(NUMBER(k + 1))); }

uvec2 truth(bool value) { return uvec2(value ? 1u : 0u, 0u); }

// Too far a shift leaves nothing but the sign.
uvec2 shifted_left(uvec2 x, uvec2 by) {
  if (by.y != 0u || by.x >= 64u) return uvec2(0u);
  if (by.x >= 32u) return uvec2(0u, x.x << by.x - 32u);
  return by.x == 0u ? x : uvec2(x.x << by.x, x.y << by.x | x.x >> 32u - by.x);
}
uvec2 shifted_right(uvec2 x, uvec2 by) {
  const uint sign = uint(int(x.y) >> 31);
  if (by.y != 0u || by.x >= 64u) return uvec2(sign);
  if (by.x >= 32u) return uvec2(uint(int(x.y) >> by.x - 32u), sign);
  return by.x == 0u ? x : uvec2(x.x >> by.x | x.y << 32u - by.x, uint(int(x.y) >> by.x));
}

uvec2 of_whole(uint op, uvec2 x, uvec2 y, uvec2 z) {
  const bool some_x = x != uvec2(0u);
  const bool some_y = y != uvec2(0u);
  switch (op) {
    case 1u: return sum_of(x, product_of(y, z));
    case 2u: return product_of(x, y);
    case 3u: return less(x, y) ? x : y;
    case 4u: return less(x, y) ? y : x;
    case 5u: return negated(x);
    case 6u: return is_negative(x) ? negated(x) : x;
    case 7u: {
      const uvec2 raised = less(x, y) ? y : x;
      return less(z, raised) ? z : raised;
    }
    case 8u: return truth(x == y);
    case 9u: return truth(x != y);
    case 10u: return truth(less(x, y));
    case 11u: return truth(!less(y, x));
    case 12u: return truth(less(y, x));
    case 13u: return truth(!less(x, y));
    case 14u: return truth(some_x && some_y);
    case 15u: return truth(some_x || some_y);
    case 16u: return truth(some_x != some_y);
    case 17u: return truth(!some_x);
    case 18u: return x & y;
    case 19u: return x | y;
    case 20u: return x ^ y;
    case 21u: return a_type == BOOL ? truth(!some_x) : ~x;
    case 25u:
    case 26u: return truth(false);
    case 27u: return shifted_left(x, y);
    case 28u: return shifted_right(x, y);
    default: return x;
  }
}

// Comparisons and logic of real numbers: NaN is not equal to anything, and true.
bool holds(uint op, float x, float y) {
  switch (op) {
    case 8u: return x == y;
    case 9u: return !(x == y);
    case 10u: return x < y;
    case 11u: return x <= y;
    case 12u: return x > y;
    case 13u: return x >= y;
    case 14u: return !(x == 0.0) && !(y == 0.0);
    case 15u: return !(x == 0.0) || !(y == 0.0);
    case 16u: return (x == 0.0) != (y == 0.0);
    case 25u: return isnan(x);
    case 26u: return isinf(x);
    default: return x == 0.0;
  }
}

// round(x / scale) + zero point, within the limits; NaN is the lowest.
uvec2 quantized(float x, float inverse, float zero) {
  precise const float scaled = x * inverse;
  precise const float exact = roundEven(scaled) + zero;
  const float rounded = roundEven(exact);
  const uvec2 lowest = word_pair(kLimits);
  const uvec2 low = uvec2(lowest.x, uint(int(lowest.x) >> 31));
  const uvec2 high = uvec2(lowest.y, uint(int(lowest.y) >> 31));
  if (!(rounded > real_from_whole(low))) return low;
  return rounded < real_from_whole(high) ? whole_from_real(rounded, true) : high;
}

void main() {
  ITEM
  const int rank = RANK;
  const ivec4 there = ivec4(1, HAS(0), HAS(1), HAS(2));
  ivec4 at = rank == 0 ? item * there : ivec4(0);
  int rest = item;
  for (int d = rank - 1; d >= 0; --d) {
    const int size = NUMBER(kSizes + d);
    const int quotient = rest / size;
    const int place = rest - quotient * size;
    rest = quotient;
    for (int k = 0; k < 4; ++k) at[k] += place * NUMBER(kSizes + (k + 1) * rank + d);
  }
  const uvec2 found_x = BITS(a, BEGIN(1) + NUMBER(0) + at[1]);
  const uvec2 found_y = BITS(b, BEGIN(2) + at[2]);
  const uvec2 found_z = BITS(c, BEGIN(3) + at[3]);
  const uvec2 x = HAS(0) ? found_x : word_pair(kNumbers);
  const uvec2 y = HAS(1) ? found_y : word_pair(kNumbers + 2);
  const uvec2 z = HAS(2) ? found_z : word_pair(kNumbers + 4);

  uvec2 bits;
  if (KIND == kCopies) {
    bits = a_type == result_type ? x
           : IS_REAL(a_type)     ? bits_of_real(result_type, real_of(a_type, x))
                                 : bits_of_whole(result_type, whole_of(a_type, x));
  } else if (KIND == kChooses) {
    // A number is already what an element is.
    bits = x.x != 0u ? y : z;
  } else if (KIND == kQuantizes) {
    const float scale = HAS(1) ? real_of(b_type, y) : uintBitsToFloat(y.x);
    const float zero = HAS(2) ? real_of(c_type, z) : uintBitsToFloat(z.x);
    bits = quantized(real_of(a_type, x), HAS(1) ? 1.0 / scale : scale, zero);
  } else if (KIND == kDequantizes) {
    const uvec2 distance = sum_of(whole_of(a_type, x), negated(HAS(2) ? whole_of(c_type, z) : z));
    const float scale = HAS(1) ? real_of(b_type, y) : uintBitsToFloat(y.x);
    bits = bits_of_real(result_type, real_from_whole(distance) * scale);
  } else if (KIND == kCounts) {
    bits = bits_of_whole(result_type, sum_of(x, product_of(y, uvec2(uint(item), 0u))));
  } else if (KIND == kCountsReal) {
    precise const float sum = uintBitsToFloat(x.x) + uintBitsToFloat(y.x) * float(item);
    bits = bits_of_real(result_type, sum);
  } else if (KIND == kReal) {
    const float left = HAS(0) ? real_of(a_type, x) : uintBitsToFloat(x.x);
    const float right = HAS(1) ? real_of(b_type, y) : uintBitsToFloat(y.x);
    bits = bits_of_whole(result_type, truth(holds(uint(OPERATOR), left, right)));
  } else {
    const uvec2 first = HAS(0) ? whole_of(a_type, x) : x;
    const uvec2 second = HAS(1) ? whole_of(b_type, y) : y;
    const uvec2 third = HAS(2) ? whole_of(c_type, z) : z;
    bits = bits_of_whole(result_type, of_whole(uint(OPERATOR), first, second, third));
  }
  PUT_BITS(result, BEGIN(0) + NUMBER(1) + at[0], bits)
}
