#include "tools/tune_programs.h"

#include <fmt/format.h>

namespace berth::tool {
namespace {

using placement::WorkKind;

constexpr double kFloat = 4;  // bytes

TunedOperator product(int rows, int width) {
  return {WorkKind::kProduct, 2.0 * rows * width * width, fmt::format("f32[{0},{0}]", width),
          fmt::format("f32[{},{}]", rows, width), "aten::mm({}, %w)"};
}

TunedOperator convolution(int channels, int side, bool depthwise) {
  const int deep = depthwise ? 1 : channels;
  return {depthwise ? WorkKind::kDepthwise : WorkKind::kConvolution, 2.0 * channels * deep * 9 * side * side,
          fmt::format("f32[{},{},3,3]", channels, deep), fmt::format("f32[1,{},{},{}]", channels, side, side),
          fmt::format("aten::convolution({{}}, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], {})",
                      depthwise ? channels : 1)};
}

// Sums with the input of the chain; fused, all of them would be one.
TunedOperator elementwise(int rows, int width) {
  return {WorkKind::kElementwise,
          3 * kFloat * rows * width,
          "",
          fmt::format("f32[{},{}]", rows, width),
          "aten::add.Tensor({}, %x, 1)",
          false};
}

TunedOperator reduction(int rows, int width) {
  return {WorkKind::kReduction, 2 * kFloat * rows * width, "", fmt::format("f32[{},{}]", rows, width),
          "aten::_softmax({}, 1, false)"};
}

}  // namespace

std::vector<TunedOperator> tuned_operators() {
  return {product(16, 64),           product(64, 256),           product(128, 1024),
          convolution(8, 16, false), convolution(32, 32, false), convolution(64, 56, false),
          convolution(16, 16, true), convolution(64, 56, true),  convolution(192, 112, true),
          elementwise(16, 256),      elementwise(256, 512),      elementwise(2048, 1024),
          reduction(16, 64),         reduction(512, 256),        reduction(2048, 1024)};
}

TunedOperator launched_operator() { return product(1, 16); }

std::string chain_of(const TunedOperator& one, int length) {
  const bool weighted = !one.weight.empty();
  std::string text = weighted ? fmt::format("const @w: {} = splat<0.001>\n", one.weight) : "";
  text += fmt::format("method forward(%x: {}) {{\n", one.type);
  if (weighted) text += fmt::format("  %w: {} = const @w\n", one.weight);
  std::string last = "%x";
  for (int i = 0; i < length; ++i) {
    const std::string next = fmt::format("%y{}", i);
    text += fmt::format("  {}: {} = {}\n", next, one.type, fmt::format(fmt::runtime(one.operator_text), last));
    last = next;
  }
  return text + fmt::format("  return {}\n}}\n", last);
}

}  // namespace berth::tool
