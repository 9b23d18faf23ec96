#version 450
#extension GL_GOOGLE_include_directive : require
// What a row of elements comes to, of any type: whether there is one that is not 0, the largest or smallest and where
// it is, the product, the variance; and the running sums of a row. A group has a row, and each of its invocations a
// part; EACH: an invocation has a row.
//
// Buffers: the result, the places (64 bits each), the input.
//
// Numbers: the elements of a row; what the squares of a variance are divided by; how many dimensions there are of rows;
// their sizes, and the strides of result, places and input; the same of a row's elements, with the strides of the
// result (of running sums) and of the input; whether there is a result.
#define ANY_TYPE
#define BUFFERS 3
#ifdef EACH
#define PARTS 1
#define BARRIER
#define SHARED
#else
#define GROUP 128
#define PARTS GROUP
#define BARRIER barrier();
#define SHARED shared
#endif
#include "common.glsl"
#include "wholes.glsl"

layout(constant_id = 0) const uint KIND = 0;  // as below
layout(constant_id = 1) const uint REAL_NUMBERS = 0;

const uint kAny = 0u;
const uint kLargest = 1u;
const uint kSmallest = 2u;
const uint kProduct = 3u;
const uint kVariance = 4u;
const uint kRunningSum = 5u;

WRITES(1, Result, result);
layout(set = 0, binding = 2) writeonly buffer Places { uint places[]; };
READS(3, Input, x);

SHARED uvec2 parts[PARTS];  // a whole number, or a real one in x
SHARED int part_places[PARTS];

float real_part(uvec2 bits) { return uintBitsToFloat(bits.x); }
uvec2 of_real(float x) { return uvec2(floatBitsToUint(x), 0u); }

// Element `at` of the input as it is computed with.
uvec2 number_at(int at) {
  const uvec2 bits = BITS(x, at);
  if (IS_REAL(x_type)) return of_real(real_of(x_type, bits));
  const uvec2 whole = whole_of(x_type, bits);
  return REAL_NUMBERS != 0u ? of_real(real_from_whole(whole)) : whole;
}
void put(int at, uvec2 number) {
  const uvec2 bits = REAL_NUMBERS != 0u ? bits_of_real(result_type, real_part(number)) : bits_of_whole(result_type, number);
  PUT_BITS(result, at, bits)
}

uvec2 joined(uvec2 a, uvec2 b) {
  if (KIND == kAny) return uvec2(a.x | b.x, 0u);
  if (REAL_NUMBERS != 0u) {
    return of_real(KIND == kProduct ? real_part(a) * real_part(b) : real_part(a) + real_part(b));
  }
  return KIND == kProduct ? product_of(a, b) : sum_of(a, b);
}
// What joins to any number and leaves it.
uvec2 neutral() {
  if (KIND != kProduct) return uvec2(0u);
  return REAL_NUMBERS != 0u ? of_real(1.0) : uvec2(1u, 0u);
}

// Whether a at place i comes before b at place j; -1 is no place. What is not a number is largest and smallest.
bool is_before(uvec2 a, int i, uvec2 b, int j) {
  if (i < 0 || j < 0) return j < 0 && i >= 0;
  bool better;
  bool worse;
  if (REAL_NUMBERS != 0u) {
    const float p = real_part(a);
    const float q = real_part(b);
    better = isnan(p) ? !isnan(q) : KIND == kLargest ? p > q : p < q;
    worse = isnan(q) ? !isnan(p) : KIND == kLargest ? q > p : q < p;
  } else {
    better = KIND == kLargest ? less(b, a) : less(a, b);
    worse = KIND == kLargest ? less(a, b) : less(b, a);
  }
  return better || (!worse && i < j);
}

// The join of what all invocations have.
uvec2 all_joined(int id, uvec2 own) {
  BARRIER
  parts[id] = own;
  for (int others = PARTS / 2; others > 0; others /= 2) {
    BARRIER
    if (id < others) parts[id] = joined(parts[id], parts[id + others]);
  }
  BARRIER
  return parts[0];
}

void main() {
#ifdef EACH
  ITEM
  const int id = 0;
#else
  const int item = group_number();
  if (item >= ITEMS) return;
  const int id = int(gl_LocalInvocationID.x);
#endif
  const int length = NUMBER(0);
  const int outer = NUMBER(2);
  int to = BEGIN(0);
  int to_place = BEGIN(1);
  int from = BEGIN(2);
  int rest = item;
  for (int d = outer - 1; d >= 0; --d) {
    const int size = NUMBER(3 + d);
    const int quotient = rest / size;
    const int place = rest - quotient * size;
    rest = quotient;
    to += place * NUMBER(3 + outer + d);
    to_place += place * NUMBER(3 + 2 * outer + d);
    from += place * NUMBER(3 + 3 * outer + d);
  }
  const int inner = 3 + 4 * outer;
  const int dims = NUMBER(inner);
  // Invocations have parts that lie apart, those of running sums parts that follow one another.
  const int each = (length + PARTS - 1) / PARTS;
  const int first = KIND == kRunningSum ? id * each : id;
  const int step = KIND == kRunningSum ? 1 : PARTS;
  const int end = KIND == kRunningSum ? min(first + each, length) : length;
  float mean = 0.0;
  uvec2 own = neutral();
  int own_place = -1;
  const int passes = KIND == kVariance || KIND == kRunningSum ? 2 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (int k = first; k < end; k += step) {
      int at = from;
      int write = to;
      int left = k;
      for (int d = dims - 1; d >= 0; --d) {
        const int size = NUMBER(inner + 1 + d);
        const int quotient = left / size;
        const int place = left - quotient * size;
        left = quotient;
        write += place * NUMBER(inner + 1 + dims + d);
        at += place * NUMBER(inner + 1 + 2 * dims + d);
      }
      const uvec2 found = number_at(at);
      if (KIND == kAny) {
        const bool holds = REAL_NUMBERS != 0u ? !(real_part(found) == 0.0) : found != uvec2(0u);
        own.x |= holds ? 1u : 0u;
      } else if (KIND == kLargest || KIND == kSmallest) {
        if (is_before(found, k, own, own_place)) {
          own = found;
          own_place = k;
        }
      } else if (KIND == kVariance && pass == 1) {
        const float apart = real_part(found) - mean;
        own = of_real(real_part(own) + apart * apart);
      } else {
        own = joined(own, found);
        if (KIND == kRunningSum && pass == 1) put(write, own);
      }
    }
    if (KIND == kVariance) {
      const float sum = real_part(all_joined(id, own));
      if (pass == 0) {
        mean = sum / float(length);
        own = neutral();
      } else if (id == 0) {
        put(to, of_real(sum / REAL(1)));
      }
    }
    if (KIND == kRunningSum && pass == 0) {
      // The sums of all parts before each.
      parts[id] = own;
      for (int by = 1; by < PARTS; by *= 2) {
        BARRIER
        const uvec2 sum = id >= by ? joined(parts[id - by], parts[id]) : parts[id];
        BARRIER
        parts[id] = sum;
      }
      BARRIER
      own = id == 0 ? neutral() : parts[max(id - 1, 0)];
    }
  }
  if (KIND == kAny || KIND == kProduct) {
    const uvec2 all = all_joined(id, own);
    if (id == 0 && KIND == kProduct) put(to, all);
    if (id == 0 && KIND == kAny) {
      PUT_BITS(result, to, all)
    }
  }
  if (KIND == kLargest || KIND == kSmallest) {
    parts[id] = own;
    part_places[id] = own_place;
    for (int others = PARTS / 2; others > 0; others /= 2) {
      BARRIER
      if (id < others && is_before(parts[id + others], part_places[id + others], parts[id], part_places[id])) {
        parts[id] = parts[id + others];
        part_places[id] = part_places[id + others];
      }
    }
    if (id == 0) {
      if (NUMBER(inner + 1 + 3 * dims) != 0) put(to, parts[0]);
      places[2 * to_place] = uint(part_places[0]);
      places[2 * to_place + 1] = 0u;
    }
  }
}
