#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr bool has_overload(const char* overload) { return overload[0] != '\0'; }

// The arguments of which a call reads only the rows or elements that its indices name.
#define WHOLE -1
#define PICKED(i) i
// Kernels follow the addresses of devices when they copy between devices, and are code of the host otherwise.
#define PLAIN false
#define RANDOM false
#define FUSED false
#define HOST_TO_DEVICE true
#define DEVICE_TO_HOST true
#define DEVICE_TO_DEVICE true
#define DEQUANTIZES false
#define OVERWRITES false
#define PLACED -1
#define UNPLACED(k) k
constexpr KernelEntry kKernels[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, sizes, \
           role) \
  {has_overload(out) ? name "." out : name, \
   schema, \
   untyped<&identifier>, \
   kTempBytes<&identifier>, \
   unplaced, \
   role, \
   nullptr, \
   nullptr, \
   reads},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED
#undef WHOLE
#undef PICKED
#undef PLAIN
#undef RANDOM
#undef FUSED
#undef HOST_TO_DEVICE
#undef DEVICE_TO_HOST
#undef DEVICE_TO_DEVICE
#undef DEQUANTIZES
#undef OVERWRITES

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace berth::portable
