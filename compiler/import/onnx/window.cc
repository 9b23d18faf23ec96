#include "compiler/import/onnx/window.h"

namespace berth::onnx {
namespace {

constexpr int64_t kMaxWindowNumber = int64_t{1} << 30;

/// An attribute of one number a spatial dimension, each from `low` up.
std::vector<int64_t> spatial(NodeContext& n, std::string_view name, size_t count, int64_t fallback, int64_t low) {
  std::vector<int64_t> numbers = n.integers(name);
  if (numbers.empty()) numbers.assign(count, fallback);
  if (numbers.size() != count) {
    n.invalid("attribute '" + std::string(name) + "' has " + std::to_string(numbers.size()) + " numbers, expected " +
              std::to_string(count));
  }
  for (int64_t number : numbers) {
    if (number < low || number > kMaxWindowNumber) {
      n.invalid("attribute '" + std::string(name) + "' holds " + std::to_string(number) + "; at least " +
                std::to_string(low) + " is allowed");
    }
  }
  numbers.resize(count, fallback);
  return numbers;
}

/// Padding so that the output has ceil(size / stride) places; the odd one at the end for SAME_UPPER.
void same_padding(NodeContext& n, Window& window, size_t axis, Dim size, bool upper) {
  ir::Symbols& s = n.symbols();
  const Dim places = s.ceil_div(size, Dim(window.strides[axis]));
  const Dim reach = s.add(s.mul(s.add(places, Dim(-1)), Dim(window.strides[axis])),
                          Dim((window.kernel[axis] - 1) * window.dilations[axis] + 1));
  const Dim total = s.max(s.sub(reach, size), Dim(0));
  const Dim half = s.floor_div(total, Dim(2));
  const Dim rest = s.sub(total, half);
  window.begins[axis] = upper ? half : rest;
  window.ends[axis] = upper ? rest : half;
}

}  // namespace

Window read_window(NodeContext& n, ValueId x, std::vector<int64_t> kernel) {
  Window window;
  const size_t count = n.rank(x) > 2 ? n.rank(x) - 2 : 0;
  if (n.ok() && count == 0) n.invalid("needs an input [N, C, spatial…], found " + n.type_text(x));
  if (kernel.empty() && n.ok() && !n.has_attribute("kernel_shape")) n.invalid("needs the attribute 'kernel_shape'");
  window.kernel = kernel.empty() ? spatial(n, "kernel_shape", count, 1, 1) : std::move(kernel);
  for (int64_t k : window.kernel) {
    if (k < 1 || k > kMaxWindowNumber) n.invalid("a kernel of size " + std::to_string(k) + " has no window");
  }
  if (n.ok() && window.kernel.size() != count) {
    n.invalid("the kernel has " + std::to_string(window.kernel.size()) + " spatial dimensions, the input " +
              std::to_string(count));
  }
  window.strides = spatial(n, "strides", count, 1, 1);
  window.dilations = spatial(n, "dilations", count, 1, 1);
  window.ceil = n.integer("ceil_mode", 0) != 0;
  window.begins.assign(count, Dim(0));
  window.ends.assign(count, Dim(0));
  const std::string mode = n.text("auto_pad", "NOTSET");
  if (!n.ok()) return Window();
  if (mode == "NOTSET") {
    const std::vector<int64_t> pads = spatial(n, "pads", 2 * count, 0, 0);
    for (size_t i = 0; i < count; ++i) {
      window.begins[i] = Dim(pads[i]);
      window.ends[i] = Dim(pads[count + i]);
    }
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      same_padding(n, window, i, n.dim(x, static_cast<int>(i) + 2), mode == "SAME_UPPER");
    }
  } else if (mode != "VALID") {
    n.invalid("attribute 'auto_pad' is \"" + mode + "\"; expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  return n.ok() ? window : Window();
}

}  // namespace berth::onnx
