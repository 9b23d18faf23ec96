// Tensors of f32, f16 and bf16, as specialisation constant 64 + k says of the k-th. A kernel computes in f32 and rounds
// what it writes once, to the nearest and ties to even, by itself: devices differ in that. Bytes of 16 bits are read
// and written one element at a time, which needs storageBuffer16BitAccess.
#include "halves.glsl"
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

float read_as(uint type, uint bits) {
  return uintBitsToFloat(type == F32_AS_BF16 ? to_bfloat16(bits) << 16 : bits);
}
vec4 four_read_as(uint type, uvec4 bits) {
  return vec4(read_as(type, bits.x), read_as(type, bits.y), read_as(type, bits.z), read_as(type, bits.w));
}
