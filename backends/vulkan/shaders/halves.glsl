// Elements of 16 bits as f32 and back.
#define F32 0u
#define F16 1u
#define BF16 2u

float widened(uint type, uint bits) {
  return type == F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}
vec4 widened_four(uint type, uvec2 bits) {
  if (type == F16) return vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
  return uintBitsToFloat(uvec4(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u));
}

uint to_bfloat16(uint bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;  // still not a number
  return bits + 0x7fffu + (bits >> 16 & 1u) >> 16;
}

uint to_half(uint bits) {
  const uint sign = bits >> 16 & 0x8000u;
  const uint size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return sign | 0x7e00u;
  if (size >= 0x477ff000u) return sign | 0x7c00u;  // half a step above the largest
  if (size >= 0x38800000u) return sign | size + 0xfffu + (size >> 13 & 1u) - 0x38000000u >> 13;
  // Below the smallest normal number, steps are 2^-24.
  const uint dropped = 126u - (size >> 23);
  if (dropped > 24u) return sign;
  const uint digits = size & 0x7fffffu | 0x800000u;
  const uint rest = digits & (1u << dropped) - 1u;
  const uint middle = 1u << dropped - 1u;
  const uint steps = digits >> dropped;
  return sign | steps + (rest > middle || (rest == middle && (steps & 1u) != 0u) ? 1u : 0u);
}

uint narrowed(uint type, float value) {
  return type == F16 ? to_half(floatBitsToUint(value)) : to_bfloat16(floatBitsToUint(value));
}
