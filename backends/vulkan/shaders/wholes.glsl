// Whole numbers of 64 bits, in two words.
bool less(uvec2 x, uvec2 y) { return int(x.y) < int(y.y) || (x.y == y.y && x.x < y.x); }
uvec2 sum_of(uvec2 x, uvec2 y) {
  const uint low = x.x + y.x;
  return uvec2(low, x.y + y.y + (low < x.x ? 1u : 0u));
}
uvec2 product_of(uvec2 x, uvec2 y) {
  uint high;
  uint low;
  umulExtended(x.x, y.x, high, low);
  return uvec2(low, high + x.x * y.y + x.y * y.x);
}
