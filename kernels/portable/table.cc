#include <string_view>

#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr bool has_overload(const char* overload) { return overload[0] != '\0'; }

// Everything else here is code of the host, which must not follow a device's address.
constexpr bool takes_devices(std::string_view name) {
  return name == "et_copy::_h2d_copy" || name == "et_copy::_d2h_copy" || name == "berth::_d2d_copy";
}

// Of these a call reads the rows or elements that its indices name.
constexpr int picked_argument(std::string_view name) {
  return name == "aten::embedding" || name == "aten::index_select" || name == "aten::index" || name == "aten::gather" ||
                 name.substr(0, 31) == "quantized_decomposed::embedding"
             ? 0
             : -1;
}

#define PLACED -1
#define UNPLACED(k) k
constexpr KernelEntry kKernels[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced) \
  {has_overload(out) ? name "." out : name, \
   schema, \
   &identifier, \
   kTempBytes<&identifier>, \
   unplaced, \
   takes_devices(name), \
   nullptr, \
   nullptr, \
   picked_argument(name)},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED

}  // namespace

KernelTable kernels() { return kKernels; }

}  // namespace berth::portable
