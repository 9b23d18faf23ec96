// Functions of real numbers that GLSL lacks, or computes too roughly for what they are named after: Vulkan lets an arc
// tangent be off by 2^-11 of itself. Its polynomial is that of Moshier's Cephes library.
#include "sines.glsl"
const float kHalfPi = 1.57079632679;

bool is_negative(float x) { return int(floatBitsToUint(x)) < 0; }
float with_sign(float size, float of) { return is_negative(of) ? -size : size; }

float atan_of(float x) {
  const float size = abs(x);
  float from = 0.0;
  float rest = size;
  if (size > 2.414213562) {
    from = kHalfPi;
    rest = -1.0 / size;
  } else if (size > 0.4142135624) {
    from = 0.5 * kHalfPi;
    rest = (size - 1.0) / (size + 1.0);
  }
  const float y = rest * rest;
  const float sum =
      (((8.05374449538e-2 * y - 1.38776856032e-1) * y + 1.99777106478e-1) * y - 3.33329491539e-1) * y * rest + rest;
  return isnan(x) ? x : with_sign(from + sum, x);
}
float atan2_of(float y, float x) {
  if (isnan(x) || isnan(y)) return x + y;
  float size;
  if (isinf(x) && isinf(y)) {
    size = 0.5 * kHalfPi;
  } else if (y == 0.0) {
    size = 0.0;
  } else {
    size = abs(x) == 0.0 ? kHalfPi : atan_of(abs(y) / abs(x));
  }
  if (is_negative(x)) size = 2.0 * kHalfPi - size;
  return is_negative(y) ? -size : size;
}
float asin_of(float x) { return abs(x) > 1.0 ? not_a_number() : atan_of(x / sqrt((1.0 - x) * (1.0 + x))); }
float acos_of(float x) { return abs(x) > 1.0 ? not_a_number() : 2.0 * atan_of(sqrt((1.0 - x) / (1.0 + x))); }

// Next to 1 a device's logarithm is off by a part of 1, and not of itself: there it is 2 artanh(x / (2 + x)), by its
// series. Elsewhere what rounding 1 + x lost is in the quotient (Kahan).
float log_1_plus(float x) {
  if (x > -0.3 && x < 0.5) {
    const float s = x / (2.0 + x);
    const float y = s * s;
    return 2.0 * s * (1.0 + y * (1.0 / 3 + y * (1.0 / 5 + y * (1.0 / 7 + y * (1.0 / 9 + y * (1.0 / 11))))));
  }
  precise const float sum = 1.0 + x;
  if (isinf(sum) || isnan(sum) || sum <= 0.0) return log(sum);
  precise const float kept = sum - 1.0;
  return log(sum) * (x / kept);
}
float sinh_of(float x) {
  const float size = abs(x);
  const float e = exp_minus_1(size);
  // e^|x| is infinite before half of it is.
  const float sum = size > 80.0 ? 0.5 * exp(0.5 * size) * exp(0.5 * size) : 0.5 * (e + e / (e + 1.0));
  return isnan(x) ? x : with_sign(sum, x);
}
float cosh_of(float x) {
  const float size = abs(x);
  return size > 80.0 ? 0.5 * exp(0.5 * size) * exp(0.5 * size) : 0.5 * (exp(size) + exp(-size));
}
float asinh_of(float x) {
  const float size = abs(x);
  const float sum = size > 1e9 ? log(size) + 0.69314718056
                               : log_1_plus(size + size * size / (1.0 + sqrt(size * size + 1.0)));
  return isnan(x) ? x : with_sign(sum, x);
}
float acosh_of(float x) {
  if (x < 1.0) return not_a_number();
  const float rest = x - 1.0;
  return x > 1e9 ? log(x) + 0.69314718056 : log_1_plus(rest + sqrt(2.0 * rest + rest * rest));
}
float atanh_of(float x) { return with_sign(0.5 * log_1_plus(2.0 * abs(x) / (1.0 - abs(x))), x); }

// What is left of a whole multiple of b, with the sign of a: exactly, by a division digit by digit.
float fmod_of(float a, float b) {
  if (isnan(a) || isnan(b) || isinf(a) || b == 0.0) return not_a_number();
  if (isinf(b) || abs(a) < abs(b)) return a;
  const uint bits = floatBitsToUint(abs(a));
  const uint bits_b = floatBitsToUint(abs(b));
  const int power = max(int(bits >> 23), 1);
  const int power_b = max(int(bits_b >> 23), 1);
  uint rest = bits & 0x7fffffu | (bits >> 23 != 0u ? 0x800000u : 0u);
  const uint divisor = bits_b & 0x7fffffu | (bits_b >> 23 != 0u ? 0x800000u : 0u);
  for (int k = power; k > power_b; --k) {
    rest = (rest >= divisor ? rest - divisor : rest) << 1;
  }
  if (rest >= divisor) rest -= divisor;
  const float size = float(rest) * 1.1920928955e-7 * uintBitsToFloat(uint(power_b) << 23);
  return with_sign(size, a);
}
// With the sign of b.
float remainder_of(float a, float b) {
  const float rest = fmod_of(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
float floor_divided(float a, float b) {
  if (b == 0.0) return a / b;
  const float rest = fmod_of(a, b);
  precise float quotient = (a - rest) / b;
  if (rest != 0.0 && (rest < 0.0) != (b < 0.0)) quotient = quotient - 1.0;
  const float below = floor(quotient);
  return quotient - below > 0.5 ? below + 1.0 : below;
}

// In the order of kernels/chain.h's Function.
float function_of(uint op, float a, float b) {
  switch (op) {
    case 64u: return acos_of(a);
    case 65u: return acosh_of(a);
    case 66u: return asin_of(a);
    case 67u: return asinh_of(a);
    case 68u: return atan_of(a);
    case 69u: return atanh_of(a);
    case 70u: return ceil(a);
    case 71u: return cos_of(a);
    case 72u: return cosh_of(a);
    case 73u: return exp_minus_1(a);
    case 74u: return floor(a);
    case 75u: return log(a) * 0.43429448190;
    case 76u: return log_1_plus(a);
    case 77u: return log(a) * 1.44269504089;
    case 78u: return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0;
    case 79u: return sin_of(a);
    case 80u: return sinh_of(a);
    case 81u: return sin_of(a) / cos_of(a);
    case 82u: return trunc(a);
    case 83u: return log(a / (1.0 - a));
    case 84u: return atan2_of(a, b);
    case 85u: return fmod_of(a, b);
    case 86u: return remainder_of(a, b);
    default: return floor_divided(a, b);
  }
}
