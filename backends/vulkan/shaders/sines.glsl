// Sines and cosines, of what is left of a multiple of pi/2, by the polynomials of Moshier's Cephes library, to 2^-23:
// Vulkan lets a device's own be off by 2^-11, and of large numbers by more. Small multiples are subtracted in three
// parts (Cody and Waite, "Software Manual for the Elementary Functions", 1980); of large numbers the fraction is taken
// of the product with 2/pi to 96 digits (Payne and Hanek, "Radian Reduction for Trigonometric Functions", 1983).

// 2/pi in binary digits behind the point, with 32 zeros before them.
const uint kTwoOverPi[9] = uint[9](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                                   0xfe5163abu, 0xdebbc561u);

float reduced_large(float x, out int quarters) {
  const uint bits = floatBitsToUint(abs(x));
  const uint digits = bits & 0x7fffffu | 0x800000u;  // of x = digits * 2^power
  const int power = int(bits >> 23) - 150;
  // Digits of 2/pi that stand for multiples of 4 are left out.
  const int begin = power - 2 + 32;
  const int first = begin >> 5;
  const int by = begin & 31;
  uint words[3];
  for (int i = 0; i < 3; ++i) {
    const uint high = kTwoOverPi[first + i];
    words[i] = by == 0 ? high : high << by | kTwoOverPi[first + i + 1] >> 32 - by;
  }
  uint high_1, low_1, high_2, low_2;
  umulExtended(digits, words[1], high_1, low_1);
  umulExtended(digits, words[2], high_2, low_2);
  const uint middle = low_1 + high_2;
  const uint top = digits * words[0] + high_1 + (middle < low_1 ? 1u : 0u);
  const int rest = int(top << 2 | middle >> 30);  // of a quarter, in 2^-32, from -1/2 to 1/2
  quarters = int(top >> 30) + (rest < 0 ? 1 : 0) & 3;
  const float angle = float(rest) * 2.3283064365e-10 * 1.57079632679;
  if (x >= 0.0) return angle;
  quarters = -quarters & 3;
  return -angle;
}

// x less the multiple `quarters` of pi/2 next to it.
float reduced(float x, out int quarters) {
  if (abs(x) > 30000.0) return reduced_large(x, quarters);
  const float turns = roundEven(x * 0.636619772);
  quarters = int(turns) & 3;
  precise float rest = x - turns * 1.5703125;
  rest = rest - turns * 4.837512969970703e-4;
  rest = rest - turns * 7.549789948768648e-8;
  return rest;
}
float sine_of_rest(float x) {
  const float y = x * x;
  return ((-1.9515295891e-4 * y + 8.3321608736e-3) * y - 1.6666654611e-1) * y * x + x;
}
float cosine_of_rest(float x) {
  const float y = x * x;
  return ((2.443315711809948e-5 * y - 1.388731625493765e-3) * y + 4.166664568298827e-2) * y * y - 0.5 * y + 1.0;
}
float not_a_number() { return uintBitsToFloat(0x7fc00000u); }
float sin_of(float x) {
  if (isinf(x) || isnan(x)) return not_a_number();
  int quarters;
  const float rest = reduced(x, quarters);
  const float size = (quarters & 1) != 0 ? cosine_of_rest(rest) : sine_of_rest(rest);
  return quarters >= 2 ? -size : size;
}
float cos_of(float x) {
  if (isinf(x) || isnan(x)) return not_a_number();
  int quarters;
  const float rest = reduced(x, quarters);
  const float size = (quarters & 1) != 0 ? sine_of_rest(rest) : cosine_of_rest(rest);
  return quarters == 1 || quarters == 2 ? -size : size;
}
