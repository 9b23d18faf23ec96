// The types of elements, as launch.cc numbers them.
#include "halves.glsl"
#define BOOL 4u
#define U8 5u
#define I8 6u
#define I32 7u
#define I64 8u

#define HAS_8(type) ((type) == BOOL || (type) == U8 || (type) == I8)
#define HAS_16(type) ((type) == F16 || (type) == BF16)
