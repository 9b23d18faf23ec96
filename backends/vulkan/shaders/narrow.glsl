// Tensors of f32, f16 and bf16, as specialisation constant 64 + k says of the k-th. A kernel computes in f32 and rounds
// what it writes once, to the nearest and ties to even, by itself: devices differ in that. Bytes of 16 bits are read and
// written one element at a time, which needs storageBuffer16BitAccess.
#define F32 0u
#define F16 1u
#define BF16 2u
#define F32_AS_BF16 3u  // f32 that is rounded to bf16 when it is read

#define READS(place, Block, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) readonly buffer Block { uint name##_32[]; }; \
  layout(set = 0, binding = place) readonly buffer Block##16 { uint16_t name##_16[]; }
#define WRITES(place, Block, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) writeonly buffer Block { uint name##_32[]; }; \
  layout(set = 0, binding = place) writeonly buffer Block##16 { uint16_t name##_16[]; }
// Four elements a place.
#define READS_FOUR(place, Block, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) readonly buffer Block { uvec4 name##_32[]; }; \
  layout(set = 0, binding = place) readonly buffer Block##16 { uvec2 name##_16[]; }

#define HAS_16_BITS(name) (name##_type == F16 || name##_type == BF16)
#define AT(name, i) \
  (HAS_16_BITS(name) ? widened(name##_type, uint(name##_16[i])) : read_as(name##_type, name##_32[i]))
#define FOUR_AT(name, i) \
  (HAS_16_BITS(name) ? widened_four(name##_type, name##_16[i]) : four_read_as(name##_type, name##_32[i]))
#define PUT(name, i, value) \
  if (HAS_16_BITS(name)) name##_16[i] = uint16_t(narrowed(name##_type, value)); \
  else name##_32[i] = floatBitsToUint(value)
// Elements of one type are copied bit by bit.
#define COPY(name, i, from, j) \
  if (name##_type != from##_type) { PUT(name, i, AT(from, j)); } \
  else if (HAS_16_BITS(name)) name##_16[i] = from##_16[j]; \
  else name##_32[i] = from##_32[j]

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

float read_as(uint type, uint bits) {
  return uintBitsToFloat(type == F32_AS_BF16 ? to_bfloat16(bits) << 16 : bits);
}
vec4 four_read_as(uint type, uvec4 bits) {
  return vec4(read_as(type, bits.x), read_as(type, bits.y), read_as(type, bits.z), read_as(type, bits.w));
}
