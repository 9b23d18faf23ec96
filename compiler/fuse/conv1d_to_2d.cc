#include "compiler/fuse/conv1d_to_2d.h"

#include <algorithm>
#include <map>

#include "compiler/fuse/replacements.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

// [n, c, l] as [n, c, 1, l]; what has fewer dimensions counts them from the last, as broadcasting does.
std::vector<Dim> image_shape(std::vector<Dim> shape) {
  while (shape.size() < 3) shape.insert(shape.begin(), Dim(1));
  shape.insert(shape.begin() + 2, Dim(1));
  return shape;
}

// A dimension of a signal in its image.
std::optional<int64_t> image_dim(const Argument& argument) {
  const Dim* dim = std::get_if<Dim>(&argument);
  if (dim == nullptr || !dim->is_constant()) return std::nullopt;
  const int64_t d = dim->value < 0 ? dim->value + 3 : dim->value;
  if (d < 0 || d > 2) return std::nullopt;
  return d == 2 ? 3 : d;
}

// Where convolutions have the arguments that say how many axes there are. Output padding 0: it has none.
struct ConvolutionArguments {
  size_t input, weight, residual;
  size_t stride, padding, dilation, output_padding;
};
constexpr ConvolutionArguments kConvolution = {arg::fused_conv_out::input,         arg::fused_conv_out::weight,
                                               arg::fused_conv_out::residual,      arg::fused_conv_out::stride,
                                               arg::fused_conv_out::padding,       arg::fused_conv_out::dilation,
                                               arg::fused_conv_out::output_padding};
constexpr ConvolutionArguments kQuantizedConvolution = {arg::quantized_conv_out::input,
                                                        arg::quantized_conv_out::weight,
                                                        arg::quantized_conv_out::residual,
                                                        arg::quantized_conv_out::stride,
                                                        arg::quantized_conv_out::padding,
                                                        arg::quantized_conv_out::dilation,
                                                        0};

// One element at a time, of operands that broadcast, in whatever order they have.
bool is_elementwise(const ir::Operator& op) { return op.layout_agnostic && op.in_place == ir::InPlaceClass::kElement; }

class RegionConverter {
 public:
  RegionConverter(ir::Module& module, ir::Method& method, Graph& graph)
      : module_(module), method_(method), graph_(graph), build_(module, method, graph) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      BERTH_ASSIGN_OR_RETURN(const bool done, visit(id));
      if (!done) graph_.nodes.push_back(id);
      changed_ = changed_ || done;
    }
    replaced_.apply(&graph_.outputs);
    return changed_;
  }

 private:
  // Whether something else does what the node did.
  Expected<bool> visit(NodeId id) {
    const Node& node = method_.node(id);
    const OpId op = node.op->id;
    if (op == OpId::fused_conv_out) return convolution(id, kConvolution);
    if (op == OpId::quantized_conv_out) return convolution(id, kQuantizedConvolution);
    if (op == OpId::view_copy_out) return view(node);
    if (!reads_images(node)) return false;
    if (is_elementwise(*node.op)) return again(id, node.args, {});
    if (op == OpId::permute_copy_out) return tokens(id);
    if (op == OpId::native_group_norm_out) return again(id, node.args, {1, 2});
    if (op == OpId::mean_out) return mean(id);
    if (op == OpId::amax_out) return largest(id);
    if (op == OpId::constant_pad_nd_out) return padded(id);
    if (node.op->layout_agnostic && node.op->joins_or_cuts()) {
      std::vector<Argument> args = node.args;
      Argument& named = args[node.op->dim_argument];
      const auto dim = image_dim(named);
      if (!dim) return false;
      named = Dim(*dim);
      return again(id, std::move(args), {});
    }
    return false;
  }

  bool is_line(ValueId value) const {
    const ir::TensorType* type = method_.value(value).tensor();
    return type != nullptr && type->rank() == 3 && type->is_contiguous();
  }

  bool reads_images(const Node& node) const {
    bool found = false;
    for (const Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) { found = found || image_.count(value) != 0; });
    }
    return found;
  }

  // The value as an image. REQUIRES: at most three dimensions, row-major.
  Expected<ValueId> image(ValueId value, const std::string& source) {
    const auto found = image_.find(value);
    if (found != image_.end()) return found->second;
    const ir::TensorType type = method_.tensor(value);
    const std::vector<Dim> shape = image_shape(type.shape);
    ValueId made;
    if (method_.value(value).kind == ir::ValueKind::kConstant) {
      made = constant(value, shape);
    } else if (const ValueId rows = rows_of(value); rows.valid()) {
      const DimList apart = {shape[0], Dim(1), shape[3], shape[1]};
      BERTH_ASSIGN_OR_RETURN(const ValueId places, build_.one(OpId::view_copy_out, {rows, apart}, source));
      BERTH_ASSIGN_OR_RETURN(made, build_.one(OpId::permute_copy_out, {places, ir::dims({0, 3, 1, 2})}, source));
    } else {
      BERTH_ASSIGN_OR_RETURN(made, build_.one(OpId::view_copy_out, {value, DimList(shape)}, source));
    }
    image_[value] = made;
    return made;
  }

  // What `value` is the permutation (0, 2, 1) of; invalid when it is none of a row-major tensor.
  ValueId rows_of(ValueId value) const {
    const Node* node = passes::defining_node(method_, Argument(value));
    if (node == nullptr || !is_swap(*node)) return {};
    const ValueId rows = std::get<ValueId>(node->args[arg::permute_copy_out::self]);
    return is_line(rows) ? rows : ValueId{};
  }

  static bool is_swap(const Node& node) {
    return node.is(OpId::permute_copy_out) &&
           std::get<DimList>(node.args[arg::permute_copy_out::dims]) == ir::dims({0, 2, 1});
  }

  ValueId constant(ValueId value, const std::vector<Dim>& shape) {
    const ir::Constant& own = module_.constants[method_.value(value).constant];
    ir::TensorType type = own.type;
    type.shape = shape;
    type.dim_order.clear();
    const std::string name = own.name + "_image";
    ir::Blob blob = own.blob;
    return method_.constant_value(module_, module_.add_constant(name, std::move(type), std::move(blob)));
  }

  // From here on an image stands for `result`; the others read the view.
  Status stands_for(ValueId result, ValueId made, const std::string& source) {
    const DimList shape = method_.tensor(result).shape;
    BERTH_ASSIGN_OR_RETURN(const ValueId signal, build_.one(OpId::view_copy_out, {made, shape}, source));
    image_[signal] = made;
    replaced_.add(result, signal);
    return Done{};
  }

  Expected<bool> convolution(NodeId id, const ConvolutionArguments& places) {
    const Node& node = method_.node(id);
    const OpId op = node.op->id;
    const ValueId result = node.results[0];
    std::vector<Argument> args = node.args;
    const std::string source = node.source;
    const size_t tensors[] = {places.input, places.weight, places.residual};
    for (size_t k : tensors) {
      if (k == places.residual && ir::is_none(args[k])) continue;
      if (!is_line(std::get<ValueId>(args[k]))) return false;
    }
    if (!is_line(result)) return false;
    for (size_t k : tensors) {
      if (ir::is_none(args[k])) continue;
      BERTH_ASSIGN_OR_RETURN(const ValueId moved, image(std::get<ValueId>(args[k]), source));
      args[k] = moved;
    }
    // Of the axis of one place.
    for (const auto& [k, number] : {std::pair<size_t, int64_t>{places.stride, 1},
                                    {places.padding, 0},
                                    {places.dilation, 1},
                                    {places.output_padding, 0}}) {
      if (k == 0) continue;
      DimList& list = std::get<DimList>(args[k]);
      list.insert(list.begin(), Dim(number));
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(op, std::move(args), source));
    BERTH_TRY(stands_for(result, made, source));
    return true;
  }

  // The same operator on images. Argument k is left as it is for k in `others`.
  Expected<bool> again(NodeId id, std::vector<Argument> args, const std::vector<size_t>& others) {
    const Node& node = method_.node(id);
    const std::vector<ValueId> results = node.results;
    const std::string source = node.source;
    const OpId op = node.op->id;
    for (size_t k = 0; k < args.size(); ++k) {
      if (std::find(others.begin(), others.end(), k) != others.end()) continue;
      bool fits = true;
      ir::for_each_value(args[k], [&](const ValueId& value) { fits = fits && can_be_image(value); });
      if (!fits) return false;
    }
    if (!is_line(results[0])) return false;
    for (size_t k = 0; k < args.size(); ++k) {
      if (std::find(others.begin(), others.end(), k) != others.end()) continue;
      std::optional<Failure> failed;
      ir::for_each_value(args[k], [&](ValueId& value) {
        if (failed || method_.tensor(value).rank() == 0) return;
        auto made = image(value, source);
        if (made.ok()) {
          value = *made;
        } else {
          failed = made.error();
        }
      });
      if (failed) return *failed;
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made, build_.create(op, std::move(args), source));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].valid()) continue;
      if (method_.tensor(made[i]).rank() != 4) {
        replaced_.add(results[i], made[i]);
      } else {
        BERTH_TRY(stands_for(results[i], made[i], source));
      }
    }
    return true;
  }

  bool can_be_image(ValueId value) const {
    const ir::TensorType* type = method_.value(value).tensor();
    return type != nullptr && type->rank() <= 3 && type->is_contiguous();
  }

  // Over the places alone.
  Expected<bool> mean(NodeId id) {
    const Node& node = method_.node(id);
    const DimList* dims = std::get_if<DimList>(&node.args[arg::mean_out::dim]);
    const ValueId result = node.results[0];
    if (dims == nullptr || dims->size() != 1 || image_dim((*dims)[0]) != 3) return false;
    std::vector<Argument> args = node.args;
    const std::string source = node.source;
    args[arg::mean_out::self] = image_.at(std::get<ValueId>(args[arg::mean_out::self]));
    args[arg::mean_out::dim] = ir::dims({2, 3});
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(OpId::mean_out, std::move(args), source));
    if (method_.tensor(made).rank() == 4) {
      BERTH_TRY(stands_for(result, made, source));
    } else {
      replaced_.add(result, made);
    }
    return true;
  }

  // Over the places alone.
  Expected<bool> largest(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId signal = std::get<ValueId>(node.args[arg::amax_out::self]), result = node.results[0];
    const DimList& dims = std::get<DimList>(node.args[arg::amax_out::dim]);
    const ir::TensorType& type = method_.tensor(signal);
    if (dims.size() != 1 || image_dim(dims[0]) != 3 || type.dtype != DType::kF32) return false;
    const Dim places = type.shape.back();
    if (!places.is_constant() || places.value < 1) return false;
    const std::string source = node.source;
    const DimList window = {Dim(1), places}, shape = method_.tensor(result).shape;
    std::vector<Argument> args = {image_.at(signal), window, window, ir::dims({0, 0}), ir::dims({1, 1}), false};
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                           build_.create(OpId::max_pool2d_with_indices_out, std::move(args), source));
    BERTH_ASSIGN_OR_RETURN(const ValueId rows,
                           build_.one(OpId::permute_copy_out, {made[0], ir::dims({0, 2, 3, 1})}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId seen, build_.one(OpId::view_copy_out, {rows, shape}, source));
    replaced_.add(result, seen);
    return true;
  }

  // Before the first place and behind the last one.
  Expected<bool> padded(NodeId id) {
    const Node node = method_.node(id);
    const ValueId signal = std::get<ValueId>(node.args[arg::constant_pad_nd_out::self]), result = node.results[0];
    const DimList& pads = std::get<DimList>(node.args[arg::constant_pad_nd_out::pad]);
    const auto known = [](const Dim& pad) { return pad.is_constant() && pad.value >= 0; };
    if (!is_line(result) || pads.size() != 2 || !std::all_of(pads.begin(), pads.end(), known)) return false;
    ValueList parts = {image_.at(signal)};
    for (size_t side = 0; side < 2; ++side) {
      if (pads[side].value == 0) continue;
      BERTH_ASSIGN_OR_RETURN(const ValueId filled, filled_line(node, pads[side]));
      parts.insert(side == 0 ? parts.begin() : parts.end(), filled);
    }
    if (parts.size() == 1) return false;
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(OpId::cat_out, {parts, Dim(3)}, node.source));
    BERTH_TRY(stands_for(result, made, node.source));
    return true;
  }

  // `places` of the number that `pad` pads with, the channels innermost.
  Expected<ValueId> filled_line(const Node& pad, Dim places) {
    const ir::TensorType type = method_.tensor(pad.results[0]);
    const DimList shape = {type.shape[0], Dim(1), places, type.shape[1]};
    const Argument dtype = Dim(static_cast<int64_t>(type.dtype));
    BERTH_ASSIGN_OR_RETURN(
        const ValueId rows,
        build_.one(OpId::full_out, {shape, pad.args[arg::constant_pad_nd_out::value], dtype}, pad.source));
    return build_.one(OpId::permute_copy_out, {rows, ir::dims({0, 3, 1, 2})}, pad.source);
  }

  // Channels as tokens.
  Expected<bool> tokens(NodeId id) {
    const Node& node = method_.node(id);
    if (!is_swap(node)) return false;
    const ValueId result = node.results[0];
    const std::string source = node.source;
    const ValueId from = image_.at(std::get<ValueId>(node.args[arg::permute_copy_out::self]));
    BERTH_ASSIGN_OR_RETURN(const ValueId rows,
                           build_.one(OpId::permute_copy_out, {from, ir::dims({0, 2, 3, 1})}, source));
    const DimList shape = method_.tensor(result).shape;
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(OpId::view_copy_out, {rows, shape}, source));
    replaced_.add(result, made);
    return true;
  }

  // Views between a signal and its image, such as those around pools over one axis.
  Expected<bool> view(const Node& node) {
    const ValueId from = std::get<ValueId>(node.args[arg::view_copy_out::self]);
    const ValueId to = node.results[0];
    const auto found = image_.find(from);
    if (found != image_.end() && method_.tensor(found->second).shape == method_.tensor(to).shape) {
      replaced_.add(to, found->second);
      return true;
    }
    if (!is_line(to) || method_.tensor(from).shape != image_shape(method_.tensor(to).shape)) return false;
    image_[to] = from;
    return false;
  }

  ir::Module& module_;
  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  std::map<ValueId, ValueId> image_;  // of each signal that has one
  Replacements replaced_;
  bool changed_ = false;
};

}  // namespace

Expected<passes::Changed> conv1d_to_2d(ir::Module& module, const Targets& targets, const passes::Options&) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, Graph& region) {
    return target.channels_last ? RegionConverter(module, method, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
