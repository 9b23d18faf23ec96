#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr bool has_overload(const char* overload) { return overload[0] != '\0'; }

#define PLACED -1
#define UNPLACED(k) k
constexpr KernelEntry kKernels[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced) \
  {has_overload(out) ? name "." out : name, schema, &identifier, kTempBytes<&identifier>, unplaced},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace berth::portable
