#include "compiler/import/lowering/window.h"

namespace berth::lowering {

bool Window::symmetric() const {
  for (size_t i = 0; i < rank(); ++i) {
    if (begins[i] != ends[i] || !begins[i].is_constant()) return false;
  }
  return true;
}

bool Window::padded() const {
  for (size_t i = 0; i < rank(); ++i) {
    if (begins[i] != Dim(0) || ends[i] != Dim(0)) return true;
  }
  return false;
}

ValueId pad_spatial(Lowering& n, ValueId x, const Window& window, double value) {
  if (!window.padded()) return x;
  DimList pads;  // from the last dimension to the first, begin and end of each
  for (size_t i = window.rank(); i-- > 0;) {
    pads.push_back(window.begins[i]);
    pads.push_back(window.ends[i]);
  }
  const Argument fill = is_floating(n.dtype(x)) ? Argument(value) : Argument(Dim(static_cast<int64_t>(value)));
  return n.op(OpId::constant_pad_nd_out, {x, pads, fill});
}

}  // namespace berth::lowering
