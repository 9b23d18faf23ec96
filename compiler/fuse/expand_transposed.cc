#include "compiler/fuse/expand_transposed.h"

#include <algorithm>
#include <iterator>

#include "compiler/fuse/quantized_pairs.h"
#include "compiler/fuse/quantized_product.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

namespace conv = arg::convolution_out;

// A window of `height` x `width` places, of each of which `out` channels see `in`.
struct Window {
  int64_t in, out, height, width;

  int64_t places() const { return height * width; }
};

// All numbers of `argument`, a list, are `number`.
bool are_all(const Argument& argument, int64_t number) {
  const DimList* list = std::get_if<DimList>(&argument);
  return list != nullptr && std::all_of(list->begin(), list->end(), [&](Dim d) { return d == Dim(number); });
}

bool is_stride(const Argument& argument, const Window& window) {
  const DimList* list = std::get_if<DimList>(&argument);
  return list != nullptr && list->size() == 2 && (*list)[0] == Dim(window.height) && (*list)[1] == Dim(window.width);
}

// [ky, kx, out, in] of [in, out, ky, kx], which have one byte each.
std::vector<uint8_t> turned(const std::vector<uint8_t>& bytes, const Window& window) {
  std::vector<uint8_t> result(bytes.size());
  auto to = result.begin();
  for (int64_t place = 0; place < window.places(); ++place) {
    for (int64_t c = 0; c < window.out; ++c) {
      for (int64_t d = 0; d < window.in; ++d) *to++ = bytes[(d * window.out + c) * window.places() + place];
    }
  }
  return result;
}

// Numbers of the channels, once for each place.
std::vector<float> repeated(const std::vector<double>& numbers, const Window& window) {
  std::vector<float> result;
  for (int64_t i = 0; i < window.places() * window.out; ++i) {
    result.push_back(static_cast<float>(numbers[numbers.size() == 1 ? 0 : i % window.out]));
  }
  return result;
}

class Expansion {
 public:
  Expansion(Context& context, ir::Builder& build) : context_(context), build_(build) {}

  Expected<passes::Action> visit(NodeId id) {
    const Node node = context_.node(id);
    if (!node.is(OpId::convolution_out) || !std::get<bool>(node.args[conv::transposed])) return passes::Action::keep();
    const ValueId input = value_argument(node, conv::input);
    const auto weight = dequantized_constant(context_, value_argument(node, conv::weight));
    if (!product_input(context_, input) || !weight || weight->type.rank() != 4) return passes::Action::keep();
    const auto size = [&](int d) { return weight->type.shape[d].value; };
    const Window window = {size(0), size(1), size(2), size(3)};
    const auto bias = numbers_of_bias(node.args[conv::bias], window);
    const bool fits = is_stride(node.args[conv::stride], window) && are_all(node.args[conv::padding], 0) &&
                      are_all(node.args[conv::dilation], 1) && are_all(node.args[conv::output_padding], 0) &&
                      node.args[conv::groups] == Argument(Dim(1)) && are_known(input) && bias;
    if (!fits || !of_channels(weight->scale) || !of_channels(weight->zero_point)) {
      context_.remark(node, Reason::kShape);
      return passes::Action::keep();
    }
    context_.remark(node, Reason::kFused, "a convolution of one tap");
    BERTH_ASSIGN_OR_RETURN(const ValueId numbers, dequantised(*weight, window, node.source));
    const Argument added =
        bias->empty()
            ? Argument(ir::None{})
            : Argument(float_constant(build_, {window.places() * window.out}, repeated(*bias, window), "bias"));
    const DimList ones = {Dim(1), Dim(1)}, none = {Dim(0), Dim(0)};
    BERTH_ASSIGN_OR_RETURN(
        const ValueId products,
        build_.one(OpId::convolution_out, {input, numbers, added, ones, none, ones, false, none, Dim(1)}, node.source));
    BERTH_ASSIGN_OR_RETURN(const ValueId moved,
                           side_by_side(products, context_.type(input).shape, window, node.source));
    return context_.replace(id, moved);
  }

 private:
  static bool of_channels(const Parameter& parameter) {
    return !parameter.known.empty() && (parameter.known.size() == 1 || parameter.axis == 1);
  }

  bool are_known(ValueId image) const {
    const std::vector<Dim>& shape = context_.type(image).shape;
    return shape.size() == 4 &&
           std::all_of(shape.begin() + 1, shape.end(), [](const Dim& d) { return d.is_constant(); });
  }

  // Of each channel, or one; empty where there is no bias.
  std::optional<std::vector<double>> numbers_of_bias(const Argument& bias, const Window& window) const {
    if (ir::is_none(bias)) return std::vector<double>();
    ir::TensorType line;
    line.shape = {Dim(window.out)};
    const auto numbers = broadcast(context_, bias, line);
    if (!numbers || numbers->known.empty()) return std::nullopt;
    return numbers->known;
  }

  Expected<ValueId> dequantised(const DequantizedConstant& weight, const Window& window, const std::string& source) {
    const int64_t columns = window.places() * window.out;
    ir::TensorType type;
    type.dtype = weight.type.dtype;
    type.shape = ir::dims({columns, window.in, 1, 1});
    const ValueId bytes = build_.constant(type, ir::Blob::owned(turned(weight.bytes, window)), "weight");
    const auto line = [&](const Parameter& parameter, const char* name) {
      return float_constant(build_, {columns, 1, 1, 1}, repeated(parameter.known, window), name);
    };
    const std::vector<Argument> cast = {bytes, false, ir::None(), Dim(static_cast<int64_t>(DType::kF32))};
    BERTH_ASSIGN_OR_RETURN(ValueId numbers, build_.one(OpId::to_dim_order_copy_out, cast, source));
    if (!weight.zero_point.is(0)) {
      BERTH_ASSIGN_OR_RETURN(
          numbers, build_.one(OpId::sub_out, {numbers, line(weight.zero_point, "zero_points"), Dim(1)}, source));
    }
    return build_.one(OpId::mul_out, {numbers, line(weight.scale, "scale")}, source);
  }

  Expected<ValueId> permuted(ValueId value, std::initializer_list<int64_t> order, const std::string& source) {
    return build_.one(OpId::permute_copy_out, {value, DimList(ir::dims(order))}, source);
  }

  // The places of each window where they belong. `shape` is that of the input.
  Expected<ValueId> side_by_side(ValueId products, const std::vector<Dim>& shape, const Window& window,
                                 const std::string& source) {
    const Dim batch = shape[0];
    const int64_t h = shape[2].value, w = shape[3].value;
    BERTH_ASSIGN_OR_RETURN(const ValueId last, permuted(products, {0, 2, 3, 1}, source));
    const DimList apart = {batch, Dim(h), Dim(w), Dim(window.height), Dim(window.width * window.out)};
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, build_.one(OpId::view_copy_out, {last, apart}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId lines, permuted(rows, {0, 1, 3, 2, 4}, source));
    const DimList image = {batch, Dim(h * window.height), Dim(w * window.width), Dim(window.out)};
    BERTH_ASSIGN_OR_RETURN(const ValueId pixels, build_.one(OpId::view_copy_out, {lines, image}, source));
    return permuted(pixels, {0, 3, 1, 2}, source);
  }

  Context& context_;
  ir::Builder& build_;
};

}  // namespace

Expected<passes::Changed> expand_transposed(ir::Module& module, const Targets& targets,
                                            const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] {
    return Visit([](Context& context, ir::Builder& build, NodeId id) { return Expansion(context, build).visit(id); });
  });
}

}  // namespace berth::fuse
