// Sines and cosines, of what is left of a multiple of pi/2, which is subtracted in three parts (Cody and Waite,
// "Software Manual for the Elementary Functions", 1980), by the polynomials of Moshier's Cephes library, to 2^-23:
// Vulkan lets a device's own be off by 2^-11, and of large numbers by more.

// x less the multiple `quarters` of pi/2 next to it, for |x| below 2^17; beyond, digits are lost.
float reduced(float x, out int quarters) {
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
  if (isinf(x)) return not_a_number();
  int quarters;
  const float rest = reduced(x, quarters);
  const float size = (quarters & 1) != 0 ? cosine_of_rest(rest) : sine_of_rest(rest);
  return quarters >= 2 ? -size : size;
}
float cos_of(float x) {
  if (isinf(x)) return not_a_number();
  int quarters;
  const float rest = reduced(x, quarters);
  const float size = (quarters & 1) != 0 ? sine_of_rest(rest) : cosine_of_rest(rest);
  return quarters == 1 || quarters == 2 ? -size : size;
}
