// Tensors of any type, as specialisation constant 64 + k says of the k-th: floats, bool and whole numbers of 8, 32 and
// 64 bits. Elements are their bits, in two words; what is computed with is an f32 or a whole number of 64 bits, which
// all others fit into. WORDS: for devices that store nothing narrower than 32 bits in buffers.
//
// Conversions are the host's (kernels/portable/convert.h), to the bit.
#include "types.glsl"

#ifdef WORDS
#define TYPED(place, access, Block, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) access buffer Block { uint name##_32[]; }
#define BITS(name, i) word_bits(name##_type, name##_32[WORD(name, i)], name##_32[SECOND(name, i)])
#define PUT_BITS(name, i, bits) PUT_WORDS(name, i, bits)
#else
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#define TYPED(place, access, Block, name) \
  layout(constant_id = 63 + place) const uint name##_type = F32; \
  layout(set = 0, binding = place) access buffer Block { uint name##_32[]; }; \
  layout(set = 0, binding = place) access buffer Block##16 { uint16_t name##_16[]; }; \
  layout(set = 0, binding = place) access buffer Block##8 { uint8_t name##_8[]; }
#define BITS(name, i) \
  (HAS_8(name##_type)    ? uvec2(uint(name##_8[i]), 0u) \
   : HAS_16(name##_type) ? uvec2(uint(name##_16[i]), 0u) \
                         : word_bits(name##_type, name##_32[WORD(name, i)], name##_32[SECOND(name, i)]))
#define PUT_BITS(name, i, bits) \
  if (HAS_8(name##_type)) name##_8[i] = uint8_t((bits).x); \
  else if (HAS_16(name##_type)) name##_16[i] = uint16_t((bits).x); \
  else { PUT_WORDS(name, i, bits) }
#endif

#define READS(place, Block, name) TYPED(place, readonly, Block, name)
#define WRITES(place, Block, name) TYPED(place, writeonly, Block, name)
#define WRITES_AND_READS(place, Block, name) TYPED(place, , Block, name)
#define COPY(name, i, from, j) PUT_BITS(name, i, BITS(from, j))

#define IS_REAL(type) ((type) <= BF16)
#define WORD(name, i) (name##_type == I64 ? 2 * (i) : (i))
#define SECOND(name, i) (name##_type == I64 ? 2 * (i) + 1 : (i))
#define PUT_WORDS(name, i, bits) \
  name##_32[WORD(name, i)] = (bits).x; \
  if (name##_type == I64) name##_32[SECOND(name, i)] = (bits).y;

uvec2 word_bits(uint type, uint low, uint high) { return uvec2(low, type == I64 ? high : 0u); }

uvec2 negated(uvec2 x) { return uvec2(~x.x + 1u, ~x.y + (x.x == 0u ? 1u : 0u)); }
bool is_negative(uvec2 x) { return int(x.y) < 0; }

// A whole number's 64 bits; of f32 those that are its own.
uvec2 whole_of(uint type, uvec2 bits) {
  if (type == I8) bits.x = uint(int(bits.x << 24) >> 24);
  if (type == BOOL) bits.x = bits.x != 0u ? 1u : 0u;
  if (type == I8 || type == I32) bits.y = uint(int(bits.x) >> 31);
  return bits;
}

// To the nearest, ties to even.
float real_from_whole(uvec2 x) {
  const bool negative = is_negative(x);
  const uvec2 size = negative ? negated(x) : x;
  if (size.y == 0u && size.x <= 0x1000000u) return negative ? -float(size.x) : float(size.x);
  const uint top = size.y != 0u ? 32u + uint(findMSB(size.y)) : uint(findMSB(size.x));
  const uint dropped = top - 23u;  // 1 to 40
  const uint kept = dropped >= 32u ? size.y >> dropped - 32u : size.x >> dropped | size.y << 32u - dropped;
  uvec2 rest;
  uvec2 middle;
  if (dropped > 32u) {
    rest = uvec2(size.x, size.y & (1u << dropped - 32u) - 1u);
    middle = uvec2(0u, 1u << dropped - 33u);
  } else {
    rest = uvec2(dropped == 32u ? size.x : size.x & (1u << dropped) - 1u, 0u);
    middle = uvec2(1u << dropped - 1u, 0u);
  }
  const bool above = rest.y > middle.y || (rest.y == middle.y && rest.x > middle.x);
  const uint up = above || (rest == middle && (kept & 1u) != 0u) ? 1u : 0u;
  const uint bits = (126u + top << 23) + kept + up;  // the leading digit of `kept` adds one to the exponent
  return uintBitsToFloat(bits | (negative ? 0x80000000u : 0u));
}

// Towards zero; what does not fit becomes the smallest number of 32 bits, or of 64.
uvec2 whole_from_real(float x, bool wide) {
  const uint bits = floatBitsToUint(x);
  const int power = int(bits >> 23 & 255u) - 127;
  if (power < 0) return uvec2(0u);
  if (power >= (wide ? 63 : 31)) return wide ? uvec2(0u, 0x80000000u) : uvec2(0x80000000u, 0xffffffffu);
  const uint digits = bits & 0x7fffffu | 0x800000u;
  uvec2 size;
  if (power <= 23) {
    size = uvec2(digits >> uint(23 - power), 0u);
  } else {
    const uint by = uint(power - 23);  // 1 to 39
    size = by >= 32u ? uvec2(0u, digits << by - 32u) : uvec2(digits << by, digits >> 32u - by);
  }
  return (bits & 0x80000000u) != 0u ? negated(size) : size;
}

float real_of(uint type, uvec2 bits) {
  if (type == F32) return uintBitsToFloat(bits.x);
  if (HAS_16(type)) return widened(type, bits.x);
  return real_from_whole(whole_of(type, bits));
}

// The bits of an element of `type`.
uvec2 bits_of_real(uint type, float x) {
  if (type == F32) return uvec2(floatBitsToUint(x), 0u);
  if (HAS_16(type)) return uvec2(narrowed(type, x), 0u);
  if (type == BOOL) return uvec2(x != 0.0 ? 1u : 0u, 0u);
  return whole_from_real(x, type == I64);
}
uvec2 bits_of_whole(uint type, uvec2 x) {
  if (IS_REAL(type)) return bits_of_real(type, real_from_whole(x));
  if (type == BOOL) return uvec2(x != uvec2(0u) ? 1u : 0u, 0u);
  return x;
}

// As numbers that are computed with in f32.
#define AT(name, i) real_of(name##_type, BITS(name, i))
#define PUT(name, i, value) PUT_BITS(name, i, bits_of_real(name##_type, value))
