#version 450
#extension GL_GOOGLE_include_directive : require
// A chain of the steps of format/elementwise_code.h, an element each; without steps, a copy. The steps are
// specialisation constants, so that the device compiles the chain and not an interpreter of it. A driver spends time on
// each step that there could be, so there are kernels for 4, 8 and 32; and, SIMPLE, for up to 4 that are a few
// instructions each, and for copies, as a driver reads all that a step could be.
//
// Numbers: where the first element of the input is and of the result; the constants; then, unless RANK is 0, which says
// that all tensors lie alike: the sizes, and the strides of the result and of each input.
#define BUFFERS 9
#include "common.glsl"

layout(constant_id = 0) const uint INPUTS = 1;
layout(constant_id = 1) const uint CONSTANTS = 0;
layout(constant_id = 2) const uint STEPS = 0;
layout(constant_id = 3) const uint RANK = 0;

layout(constant_id = 4) const uint STEP_0 = 0;
layout(constant_id = 5) const uint STEP_1 = 0;
layout(constant_id = 6) const uint STEP_2 = 0;
layout(constant_id = 7) const uint STEP_3 = 0;
#if MOST_STEPS > 4
layout(constant_id = 8) const uint STEP_4 = 0;
layout(constant_id = 9) const uint STEP_5 = 0;
layout(constant_id = 10) const uint STEP_6 = 0;
layout(constant_id = 11) const uint STEP_7 = 0;
#endif
#if MOST_STEPS > 8
layout(constant_id = 12) const uint STEP_8 = 0;
layout(constant_id = 13) const uint STEP_9 = 0;
layout(constant_id = 14) const uint STEP_10 = 0;
layout(constant_id = 15) const uint STEP_11 = 0;
layout(constant_id = 16) const uint STEP_12 = 0;
layout(constant_id = 17) const uint STEP_13 = 0;
layout(constant_id = 18) const uint STEP_14 = 0;
layout(constant_id = 19) const uint STEP_15 = 0;
layout(constant_id = 20) const uint STEP_16 = 0;
layout(constant_id = 21) const uint STEP_17 = 0;
layout(constant_id = 22) const uint STEP_18 = 0;
layout(constant_id = 23) const uint STEP_19 = 0;
layout(constant_id = 24) const uint STEP_20 = 0;
layout(constant_id = 25) const uint STEP_21 = 0;
layout(constant_id = 26) const uint STEP_22 = 0;
layout(constant_id = 27) const uint STEP_23 = 0;
layout(constant_id = 28) const uint STEP_24 = 0;
layout(constant_id = 29) const uint STEP_25 = 0;
layout(constant_id = 30) const uint STEP_26 = 0;
layout(constant_id = 31) const uint STEP_27 = 0;
layout(constant_id = 32) const uint STEP_28 = 0;
layout(constant_id = 33) const uint STEP_29 = 0;
layout(constant_id = 34) const uint STEP_30 = 0;
layout(constant_id = 35) const uint STEP_31 = 0;
#endif

WRITES(1, Result, result);
READS(2, Input0, input_0);
READS(3, Input1, input_1);
READS(4, Input2, input_2);
READS(5, Input3, input_3);
READS(6, Input4, input_4);
READS(7, Input5, input_5);
READS(8, Input6, input_6);
READS(9, Input7, input_7);

#ifdef FUNCTIONS
#include "functions.glsl"
#elif !defined(SIMPLE)
#include "sines.glsl"
float power(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (isnan(a) || isnan(b)) return a + b;
  if (b == 2.0) return a * a;
  const bool odd = abs(b) < 16777216.0 && floor(b) == b && mod(abs(b), 2.0) == 1.0;
  if (a == 0.0) return b > 0.0 ? (odd ? a : 0.0) : (odd ? 1.0 / a : kInfinity);
  if (a < 0.0 && floor(b) != b) return isinf(a) ? (b > 0.0 ? kInfinity : 0.0) : uintBitsToFloat(0x7fc00000u);
  if (isinf(b)) return abs(a) == 1.0 ? 1.0 : (abs(a) > 1.0) == (b > 0.0) ? kInfinity : 0.0;
  const float size = pow(abs(a), b);
  return a < 0.0 && odd ? -size : size;
}

// Towards zero, the low eight bits, 0 for what 32 do not hold.
int low_byte(float x) { return abs(x) < 2147483648.0 ? int(x) & 255 : 0; }
#endif

// In the order of elementwise::Op. Those of SIMPLE are in kernels/chain.cc too.
float apply(uint op, float a, float b, float c) {
  switch (op) {
    case 0u: return a + b;
    case 1u: return a - b;
    case 2u: return a * b;
    case 3u: return a / b;
    case 4u: return isnan(a) || a < b ? a : b;
    case 5u: return isnan(a) || a > b ? a : b;
    case 7u: return -a;
    case 8u: return abs(a);
    case 18u: return a < 0.0 ? 0.0 : a;
    case 19u: return bounded(a, b, c);
#if defined(SIMPLE)
    default: return a * b + c;
#elif defined(FUNCTIONS)
    default: return function_of(op, a, b);
#else
    case 6u: return power(a, b);
    case 9u: return exp(a);
    case 10u: return log(a);
    case 11u: return sqrt(a);
    case 12u: return 1.0 / sqrt(a);
    case 13u: return 1.0 / a;
    case 14u: return a * a;
    case 15u: return tanh_of(a);
    case 16u: return sigmoid_of(a);
    case 17u: return erf_of(a);
    case 20u: return a > 0.0 ? a : a * b;
    case 21u: return a > 0.0 ? a : b * exp_minus_1(a);
    case 22u: return a * sigmoid_of(a);
    case 23u: return hard_sigmoid_of(a);
    case 24u: return a * hard_sigmoid_of(a);
    case 25u: return a * 0.5 * (1.0 + erf_of(a * 0.70710678));
    case 26u: return gelu_tanh_of(a);
    case 27u: return a * b + c;
    case 28u: return sin_of(a);
    case 29u: return cos_of(a);
    case 30u: return roundEven(a);
    case 32u: return float(low_byte(a));
    case 33u: return float((low_byte(a) ^ 128) - 128);
    default: return isnan(a) ? b : a;
#endif
  }
}

void main() {
  ITEM
  const int constants = 2;
  int at[9];
  for (int k = 0; k < 9; ++k) at[k] = RANK == 0 ? item : 0;
  const int sizes = constants + int(CONSTANTS);
  int rest = item;
  for (int d = int(RANK) - 1; d >= 0; --d) {
    const int size = NUMBER(sizes + d);
    const int quotient = rest / size;
    const int place = rest - quotient * size;
    rest = quotient;
    for (int k = 0; k <= int(INPUTS); ++k) at[k] += place * NUMBER(sizes + (k + 1) * int(RANK) + d);
  }
  float values[8 + 32 + MOST_STEPS];
  if (INPUTS > 0u) values[0] = AT(input_0, BEGIN(1) + NUMBER(0) + at[1]);
  if (INPUTS > 1u) values[1] = AT(input_1, BEGIN(2) + at[2]);
  if (INPUTS > 2u) values[2] = AT(input_2, BEGIN(3) + at[3]);
  if (INPUTS > 3u) values[3] = AT(input_3, BEGIN(4) + at[4]);
  if (INPUTS > 4u) values[4] = AT(input_4, BEGIN(5) + at[5]);
  if (INPUTS > 5u) values[5] = AT(input_5, BEGIN(6) + at[6]);
  if (INPUTS > 6u) values[6] = AT(input_6, BEGIN(7) + at[7]);
  if (INPUTS > 7u) values[7] = AT(input_7, BEGIN(8) + at[8]);
  for (int k = 0; k < int(CONSTANTS); ++k) values[int(INPUTS) + k] = REAL(constants + k);
#define RUN(i, step) \
  if (STEPS > uint(i)) \
    values[INPUTS + CONSTANTS + uint(i)] = \
        apply(step & 255u, values[step >> 8 & 255u], values[step >> 16 & 255u], values[step >> 24]);
  RUN(0, STEP_0) RUN(1, STEP_1) RUN(2, STEP_2) RUN(3, STEP_3)
#if MOST_STEPS > 4
  RUN(4, STEP_4) RUN(5, STEP_5) RUN(6, STEP_6) RUN(7, STEP_7)
#endif
#if MOST_STEPS > 8
  RUN(8, STEP_8) RUN(9, STEP_9) RUN(10, STEP_10)
  RUN(11, STEP_11) RUN(12, STEP_12) RUN(13, STEP_13) RUN(14, STEP_14) RUN(15, STEP_15) RUN(16, STEP_16) RUN(17, STEP_17)
  RUN(18, STEP_18) RUN(19, STEP_19) RUN(20, STEP_20) RUN(21, STEP_21) RUN(22, STEP_22) RUN(23, STEP_23) RUN(24, STEP_24)
  RUN(25, STEP_25) RUN(26, STEP_26) RUN(27, STEP_27) RUN(28, STEP_28) RUN(29, STEP_29) RUN(30, STEP_30) RUN(31, STEP_31)
#endif
  const int to = BEGIN(0) + NUMBER(1) + at[0];
  if (wanted) {
#if defined(NARROW)
    if (STEPS == 0u) {
      COPY(result, to, input_0, BEGIN(1) + NUMBER(0) + at[1]);
      return;
    }
#endif
    PUT(result, to, values[STEPS == 0u ? 0u : INPUTS + CONSTANTS + STEPS - 1u]);
  }
}
