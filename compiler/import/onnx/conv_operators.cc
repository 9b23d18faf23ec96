// Conv and ConvTranspose.
#include <algorithm>

#include "compiler/import/lowering/convolution.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/window.h"

namespace berth::onnx {
namespace {

using ConvInputs = lowering::Convolution;

constexpr int64_t kMaxStride = 1 << 20;

std::vector<int64_t> kernel_of(NodeContext& n, ValueId weight) {
  std::vector<int64_t> kernel;
  for (int i = 2; i < n.rank(weight); ++i) kernel.push_back(n.fixed(n.dim(weight, i), "the kernel's size"));
  return kernel;
}

ConvInputs read_inputs(NodeContext& n) {
  ConvInputs in{n.input(0), n.input(1), None(), n.integer("group", 1)};
  if (n.has_input(2)) in.bias = n.input(2);
  if (in.groups < 1) n.invalid("attribute 'group' must be at least 1");
  if (n.ok() && n.rank(in.x) != n.rank(in.weight)) {
    n.invalid("the weight " + n.type_text(in.weight) + " and the input " + n.type_text(in.x) +
              " have different numbers of dimensions");
  }
  return in;
}

}  // namespace

ValueId convolved(NodeContext& n) {
  const ConvInputs in = read_inputs(n);
  const Window window = read_window(n, in.x, kernel_of(n, in.weight));
  return n.ok() ? lowering::convolution(n, in, window) : ValueId();
}

namespace {

void import_conv(NodeContext& n) { n.output(0, convolved(n)); }

using Trim = lowering::Trim;

// The formulas are those of the ONNX page on ConvTranspose. Sizes of the input matter only where it asks for an output
// of a given size.
std::vector<Trim> read_trims(NodeContext& n, ValueId x, const std::vector<int64_t>& kernel,
                             const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations) {
  const size_t count = kernel.size();
  std::vector<int64_t> extra = n.integers("output_padding", std::vector<int64_t>(count, 0));
  std::vector<int64_t> pads = n.integers("pads", std::vector<int64_t>(2 * count, 0));
  std::vector<int64_t> wanted = n.integers("output_shape");
  const std::string mode = n.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID") n.invalid("attribute 'auto_pad' is \"" + mode + "\"");
  if (mode == "VALID") pads.assign(2 * count, 0);
  if (wanted.size() == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);  // some files write N and C too
  if (extra.size() != count || pads.size() != 2 * count || (!wanted.empty() && wanted.size() != count)) {
    n.invalid("attributes 'output_padding', 'pads' and 'output_shape' need a number for each spatial dimension");
  }
  for (const std::vector<int64_t>* numbers : {&extra, &pads, &wanted}) {
    for (int64_t number : *numbers) {
      if (number < 0 || number > INT32_MAX) n.invalid("padding and sizes must not be negative");
    }
  }
  if (!n.ok()) return {};
  std::vector<Trim> trims(count);
  for (size_t i = 0; i < count; ++i) {
    trims[i] = {pads[i], pads[count + i], extra[i]};
    if (wanted.empty() && !same) continue;
    // Of an input as large as the result over the stride, the windows reach this much further, whatever the size.
    int64_t total = extra[i] + (kernel[i] - 1) * dilations[i] + 1 - strides[i];
    if (!wanted.empty()) {
      total += n.fixed(n.dim(x, static_cast<int>(i) + 2), "the input's size") * strides[i] - wanted[i];
    }
    // A larger output than the windows reach grows at its end.
    trims[i].begin = total < 0 ? 0 : mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    trims[i].end = total - trims[i].begin;
  }
  return trims;
}

/// ATen trims both ends alike and adds less than a stride at the end; the rest is sliced off.
ValueId transposed(NodeContext& n, const ConvInputs& in, const std::vector<Trim>& trims,
                   const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations) {
  const size_t count = trims.size();
  DimList padding;
  DimList extra;
  std::vector<Trim> rest(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t both = trims[i].begin;
    const int64_t more = trims[i].extra + trims[i].begin - trims[i].end;
    const bool direct = both >= 0 && more >= 0 && more < std::max(strides[i], dilations[i]);
    const int64_t least = std::min(trims[i].begin, trims[i].end);
    if (!direct && least < 0) {
      n.unsupported("an output larger than the window reaches is not supported");
      return {};
    }
    padding.emplace_back(direct ? both : least);
    extra.emplace_back(direct ? more : trims[i].extra);
    if (!direct) rest[i] = {trims[i].begin - least, trims[i].end - least, 0};
  }
  ValueId y = n.op(OpId::convolution_out, {in.x, in.weight, in.bias, ir::dims(strides), padding, ir::dims(dilations),
                                           true, extra, Dim(in.groups)});
  for (size_t i = 0; i < count; ++i) {
    if (rest[i].begin == 0 && rest[i].end == 0) continue;
    const int axis = static_cast<int>(i) + 2;
    const Dim end = n.symbols().add(n.dim(y, axis), Dim(-rest[i].end));
    y = n.slice(y, axis, Dim(rest[i].begin), end);
  }
  return y;
}

void import_conv_transpose(NodeContext& n) {
  const ConvInputs in = read_inputs(n);
  const std::vector<int64_t> kernel = kernel_of(n, in.weight);
  const size_t count = kernel.size();
  if (!n.ok()) return;
  if (count < 1 || count > 3) return n.unsupported("only one to three spatial dimensions are supported");
  const std::vector<int64_t> strides = n.integers("strides", std::vector<int64_t>(count, 1));
  const std::vector<int64_t> dilations = n.integers("dilations", std::vector<int64_t>(count, 1));
  if (strides.size() != count || dilations.size() != count) {
    return n.invalid("attributes 'strides' and 'dilations' need a number for each spatial dimension");
  }
  for (size_t i = 0; i < count; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || strides[i] > kMaxStride || dilations[i] > kMaxStride) {
      return n.invalid("strides and dilations must be from 1 to " + std::to_string(kMaxStride));
    }
  }
  const std::vector<Trim> trims = read_trims(n, in.x, kernel, strides, dilations);
  if (!n.ok()) return;
  if (count < 3) return n.output(0, transposed(n, in, trims, strides, dilations));
  n.output(0, lowering::deep_transposed(n, in, strides, dilations, trims));
}

constexpr OperatorRow kConvRows[] = {
    {"Conv", 2, 3, import_conv},
    {"ConvTranspose", 2, 3, import_conv_transpose},
};

}  // namespace

OperatorTable conv_operators() { return kConvRows; }

}  // namespace berth::onnx
