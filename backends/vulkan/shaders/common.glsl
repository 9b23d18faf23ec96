// What every kernel begins with: its numbers, and which work item an invocation is. REQUIRES: BUFFERS, the number of
// buffers in shaders.def.
//
// Numbers: how many work items there are; at which element of its buffer each tensor begins; then the kernel's own.
//
// TEXELS: for devices that are processors, where texels are read eight at a time and elements of a buffer one after the
// other, and where numbers that are read behind a branch are too. So tensors are read as texels, and ITEM does not
// return.
//
// NARROW: each tensor is f32, f16 or bf16, as a specialisation constant says (narrow.glsl). ANY_TYPE: each is of any
// type (typed.glsl).
#ifdef NARROW
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifndef GROUP
#define GROUP 64
#endif
layout(local_size_x = GROUP) in;

// As many as Gpu::kMostNumbers. A uniform buffer: lavapipe compiles a loop over its lanes for each element that is read
// of a storage buffer.
layout(set = 0, binding = 0, std140) uniform Numbers { ivec4 numbers[64]; };

// Not at a place that the compiler knows: lavapipe would make a kernel anew, in each run, for the values of uniforms
// that its branches and loops go by. The place is the same for all lanes, which it sees of a push constant, so that a
// number is read once. `origin` is 0.
layout(push_constant) uniform Origin { int origin; };
#define NUMBER_AT(i) numbers[((i) >> 2) + origin][(i) & 3]
#define ITEMS NUMBER_AT(0)
#define BEGIN(k) NUMBER_AT(1 + (k))
#define NUMBER(i) NUMBER_AT(1 + BUFFERS + (i))
#define REAL(i) intBitsToFloat(NUMBER(i))

int group_number() { return int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x); }
int item_number() { return group_number() * int(gl_WorkGroupSize.x) + int(gl_LocalInvocationID.x); }

// A tensor that is read, and one of its elements; one that is written, and an element that becomes `value` or, as it
// is, one of another tensor.
#if defined(ANY_TYPE)
#include "typed.glsl"
#elif defined(NARROW)
#include "narrow.glsl"
#else
#ifdef TEXELS
#define READS(place, Block, name) layout(set = 0, binding = place) uniform samplerBuffer name
#define AT(name, i) texelFetch(name, i).x
#else
#define READS(place, Block, name) \
  layout(set = 0, binding = place) readonly buffer Block { float name[]; }
#define AT(name, i) name[i]
#endif
#define READS_FOUR(place, Block, name) \
  layout(set = 0, binding = place) readonly buffer Block { vec4 name[]; }
#define FOUR_AT(name, i) name[i]
#define WRITES(place, Block, name) \
  layout(set = 0, binding = place) writeonly buffer Block { float name[]; }
#define PUT(name, i, value) name[i] = value
#define COPY(name, i, from, j) name[i] = AT(from, j)
#endif

#ifdef TEXELS
#define ITEM \
  const bool wanted = item_number() < ITEMS; \
  const int item = max(min(item_number(), ITEMS - 1), 0);
#else
#define ITEM \
  const int item = item_number(); \
  const bool wanted = true; \
  if (item >= ITEMS) return;
#endif

#define MOST_DIMS 16

#define kInfinity uintBitsToFloat(0x7f800000u)

float exp_minus_1(float x) {
  if (abs(x) > 0.25) return exp(x) - 1.0;
  return x * (1.0 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720))))));
}

// GLSL's own loses small numbers on some devices.
float tanh_of(float x) {
  const float y = x * x;
  if (y < 0.0625) return x * (1.0 + y * (-1.0 / 3 + y * (2.0 / 15 + y * (-17.0 / 315 + y * (62.0 / 2835)))));
  if (abs(x) > 10.0) return x > 0.0 ? 1.0 : -1.0;
  return 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
}

float sigmoid_of(float x) { return 1.0 / (1.0 + exp(-x)); }

// By its series near 0; else by formula 7.1.26 of Abramowitz and Stegun's handbook, to 1.5e-7.
float erf_of(float x) {
  const float y = x * x;
  if (y < 0.25) {
    return 1.12837917 * x *
           (1.0 + y * (-1.0 / 3 + y * (1.0 / 10 + y * (-1.0 / 42 + y * (1.0 / 216 + y * (-1.0 / 1320))))));
  }
  const float t = 1.0 / (1.0 + 0.3275911 * abs(x));
  const float sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const float result = 1.0 - sum * exp(-y);
  return x < 0.0 ? -result : isnan(x) ? x : result;
}

float bounded(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
float hard_sigmoid_of(float x) { return bounded(x + 3.0, 0.0, 6.0) * (1.0 / 6); }
float gelu_tanh_of(float x) { return 0.5 * x * (1.0 + tanh_of(0.79788456 * (x + 0.044715 * (x * x * x)))); }

// The activations of fused operators, in the order of portable::ActivationKind.
float activated(uint kind, float x, float alpha, float beta) {
  switch (kind) {
    case 1u: return x < 0.0 ? 0.0 : x;
    case 2u: return bounded(x, alpha, beta);
    case 3u: return x > 0.0 ? x : x * alpha;
    case 4u: return sigmoid_of(x);
    case 5u: return tanh_of(x);
    case 6u: return x * sigmoid_of(x);
    case 7u: return hard_sigmoid_of(x);
    case 8u: return x * hard_sigmoid_of(x);
    case 9u: return x * 0.5 * (1.0 + erf_of(x * 0.70710678));
    case 10u: return gelu_tanh_of(x);
    case 11u: return x > 0.0 ? x : exp_minus_1(x) * alpha;
    default: return x;
  }
}
