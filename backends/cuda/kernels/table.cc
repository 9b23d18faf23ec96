#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/queue.h"

namespace berth::cuda {
namespace {

constexpr bool has_overload(const char* overload) { return overload[0] != '\0'; }

struct Row {
  const char* name;
  const char* schema;
  int unplaced_output;
};

// Every operator's row; those that no kernel is for cost nothing.
#define PLACED -1
#define UNPLACED(k) k
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) \
  [[maybe_unused]] constexpr Row k_##identifier = {has_overload(out) ? name "." out : name, schema, unplaced};
#include "format/operators.def"
#undef OP
#undef PLACED
#undef UNPLACED

constexpr KernelEntry kKernels[] = {
#define KERNEL(identifier) \
  {k_##identifier.name, k_##identifier.schema, untyped<&identifier>, nullptr, k_##identifier.unplaced_output},
#include "backends/cuda/operators.def"
#undef KERNEL
};

}  // namespace

KernelTable kernels() { return kKernels; }

const char* to_string(Fault fault) {
  switch (fault) {
    case kNoFault: return "no fault";
    case kIndexOutOfRange: return "an index is outside the dimension that it selects from";
    case kDivisionByZero: return "integer division by zero";
  }
  return "unknown fault";
}

}  // namespace berth::cuda
