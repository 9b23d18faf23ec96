#include "compiler/fuse/widen_transposed.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

namespace conv = arg::fused_conv_out;

constexpr int64_t kLanes = 16;

/// One axis of a transposed convolution: `size` elements, each spread over `kernel` positions, `stride` apart.
struct TransposedAxis {
  int64_t size = 1, kernel = 1, stride = 1, padding = 0, result = 1;

  /// The most elements that reach one position.
  int64_t taps() const { return (kernel + stride - 1) / stride; }
  /// The number of strides in the result, with those that lie partly outside.
  int64_t steps() const { return size + taps() - 1; }
  bool holds_result() const { return padding + result <= steps() * stride; }
};

struct Transposed {
  int64_t in = 0, out = 0;
  std::array<TransposedAxis, 2> axes;

  int64_t places() const { return axes[0].stride * axes[1].stride; }
  int64_t taps() const { return axes[0].taps() * axes[1].taps(); }
};

int64_t whole_registers(int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

// Unused numbers of a register are computed too. Windows of three at strides of two, whose last stride is more than the
// image, are above a half.
bool is_worth_it(const Transposed& t) {
  constexpr int64_t kFewestInputs = 8;  // below them moves take longer than products
  constexpr double kMost = 0.59;        // of the products
  double before = static_cast<double>(whole_registers(t.out));
  double now = static_cast<double>(whole_registers(t.places() * t.out));
  for (const TransposedAxis& axis : t.axes) {
    before *= static_cast<double>(axis.kernel) * static_cast<double>(axis.size);
    now *= static_cast<double>(axis.taps()) * static_cast<double>(axis.steps());
  }
  return t.in >= kFewestInputs && now <= kMost * before;
}

// Element `i` of a list of two numbers, or of one for both.
std::optional<int64_t> element(const Argument& list, size_t i) {
  const DimList* dims = std::get_if<DimList>(&list);
  if (dims == nullptr || dims->size() != 2 || !(*dims)[i].is_constant()) return std::nullopt;
  return (*dims)[i].value;
}

std::optional<Transposed> read(const Context& context, const Node& node) {
  if (!node.is(OpId::fused_conv_out) || !std::get<bool>(node.args[conv::transposed]) ||
      node.args[conv::groups] != Argument(Dim(1)) || !ir::is_none(node.args[conv::residual])) {
    return std::nullopt;
  }
  const ir::Constant* weight = context.constant(node.args[conv::weight]);
  const ir::TensorType& input = context.type(value_argument(node, conv::input));
  const ir::TensorType& result = context.type(node.results[0]);
  const bool bias = ir::is_none(node.args[conv::bias]) || context.constant(node.args[conv::bias]) != nullptr;
  if (weight == nullptr || !bias || weight->type.rank() != 4 || weight->type.dtype != DType::kF32 ||
      !weight->type.is_contiguous() || input.rank() != 4 || input.dtype != DType::kF32) {
    return std::nullopt;
  }
  Transposed t;
  t.in = weight->type.shape[0].value;
  t.out = weight->type.shape[1].value;
  for (size_t i = 0; i < 2; ++i) {
    const auto stride = element(node.args[conv::stride], i), padding = element(node.args[conv::padding], i);
    const Dim size = input.shape[2 + i], end = result.shape[2 + i];
    if (!stride || !padding || element(node.args[conv::dilation], i) != 1 || !size.is_constant() ||
        !end.is_constant()) {
      return std::nullopt;
    }
    t.axes[i] = {size.value, weight->type.shape[2 + i].value, *stride, *padding, end.value};
    if (t.axes[i].kernel < 1 || t.axes[i].size < 1 || !t.axes[i].holds_result()) return std::nullopt;
  }
  return t;
}

// [(ky, kx, out), in, steps back…] of [in, out, places…]: the last step back is the element itself.
std::vector<float> widened(const std::vector<float>& weight, const Transposed& t) {
  const auto& [y, x] = t.axes;
  std::vector<float> result(t.places() * t.out * t.in * t.taps(), 0);
  for (int64_t d = 0; d < t.in; ++d) {
    for (int64_t c = 0; c < t.out; ++c) {
      for (int64_t i = 0; i < y.kernel; ++i) {
        for (int64_t j = 0; j < x.kernel; ++j) {
          const int64_t channel = (i % y.stride * x.stride + j % x.stride) * t.out + c;
          const int64_t row = y.taps() - 1 - i / y.stride, column = x.taps() - 1 - j / x.stride;
          result[((channel * t.in + d) * y.taps() + row) * x.taps() + column] =
              weight[((d * t.out + c) * y.kernel + i) * x.kernel + j];
        }
      }
    }
  }
  return result;
}

class Widening {
 public:
  Widening(Context& context, ir::Builder& build, const Node& node, const Transposed& t)
      : context_(context), build_(build), node_(node), t_(t) {}

  Expected<ValueId> run() {
    BERTH_ASSIGN_OR_RETURN(const ValueId wide, convolution());
    const Dim batch = context_.type(wide).shape[0];
    const auto& [y, x] = t_.axes;
    BERTH_ASSIGN_OR_RETURN(ValueId image, permuted(wide, {0, 2, 3, 1}));
    if (y.stride > 1) {
      BERTH_ASSIGN_OR_RETURN(
          image, viewed(image, {batch, Dim(y.steps()), Dim(x.steps()), Dim(y.stride), Dim(x.stride * t_.out)}));
      BERTH_ASSIGN_OR_RETURN(image, permuted(image, {0, 1, 3, 2, 4}));
    }
    BERTH_ASSIGN_OR_RETURN(image,
                           viewed(image, {batch, Dim(y.steps() * y.stride), Dim(x.steps() * x.stride), Dim(t_.out)}));
    BERTH_ASSIGN_OR_RETURN(image, cut(image, 1, y));
    BERTH_ASSIGN_OR_RETURN(image, cut(image, 2, x));
    return permuted(image, {0, 3, 1, 2});
  }

 private:
  Expected<ValueId> convolution() {
    const auto& [y, x] = t_.axes;
    const ir::Constant weight = *context_.constant(node_.args[conv::weight]);
    std::vector<Argument> args = node_.args;
    args[conv::weight] = float_constant(build_, {t_.places() * t_.out, t_.in, y.taps(), x.taps()},
                                        widened(floats_of(weight), t_), weight.name + "_wide");
    if (!ir::is_none(args[conv::bias])) {
      const ir::Constant bias = *context_.constant(args[conv::bias]);
      const std::vector<float> one = floats_of(bias);
      std::vector<float> all;
      for (int64_t i = 0; i < t_.places(); ++i) all.insert(all.end(), one.begin(), one.end());
      args[conv::bias] = float_constant(build_, {t_.places() * t_.out}, all, bias.name + "_wide");
    }
    args[conv::stride] = DimList{Dim(1), Dim(1)};
    args[conv::padding] = DimList{Dim(y.taps() - 1), Dim(x.taps() - 1)};
    args[conv::transposed] = false;
    args[conv::output_padding] = DimList{Dim(0), Dim(0)};
    return build_.one(OpId::fused_conv_out, std::move(args), node_.source);
  }

  Expected<ValueId> permuted(ValueId value, std::initializer_list<int64_t> order) {
    return build_.one(OpId::permute_copy_out, {value, DimList(ir::dims(order))}, node_.source);
  }

  Expected<ValueId> viewed(ValueId value, DimList shape) {
    return build_.one(OpId::view_copy_out, {value, std::move(shape)}, node_.source);
  }

  // What is beyond the padding.
  Expected<ValueId> cut(ValueId value, int64_t dim, const TransposedAxis& axis) {
    if (axis.padding == 0 && axis.result == axis.steps() * axis.stride) return value;
    return build_.one(OpId::slice_copy_Tensor_out,
                      {value, Dim(dim), Dim(axis.padding), Dim(axis.padding + axis.result), Dim(1)}, node_.source);
  }

  Context& context_;
  ir::Builder& build_;
  Node node_;
  Transposed t_;
};

Expected<passes::Action> widen(Context& context, ir::Builder& build, NodeId id) {
  const auto t = read(context, context.node(id));
  if (!t || !is_worth_it(*t)) return passes::Action::keep();
  context.remark(context.node(id), Reason::kFused, "a convolution to all positions of a stride");
  BERTH_ASSIGN_OR_RETURN(const ValueId image, Widening(context, build, context.node(id), *t).run());
  return context.replace(id, image);
}

}  // namespace

Expected<passes::Changed> widen_transposed(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] { return Visit(widen); });
}

}  // namespace berth::fuse
