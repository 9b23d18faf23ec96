#include "backends/vulkan/kernels/kernels.h"
#include "runtime/arguments.h"

namespace berth::vulkan {
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
#define KERNEL(identifier, takes) \
  {k_##identifier.name, k_##identifier.schema, untyped<&identifier>, nullptr, k_##identifier.unplaced_output},
#include "backends/vulkan/operators.def"
#undef KERNEL
};

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace berth::vulkan
