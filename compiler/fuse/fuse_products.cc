#include "compiler/fuse/fuse_products.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "compiler/fuse/fuse_activations.h"
#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Where the arguments of a fused product stand.
struct Places {
  size_t bias, residual, activation;
};
constexpr Places kConv = {2, 3, 10};
constexpr Places kLinear = {2, 3, 4};
constexpr Places kNarrowLinear = {arg::fused_narrow_linear_out::bias, arg::fused_narrow_linear_out::residual,
                                  arg::fused_narrow_linear_out::activation};

bool is_matrix_product(const Node& node) {
  return node.is(OpId::fused_linear_out) || node.is(OpId::fused_narrow_linear_out);
}
bool is_product(const Node& node) { return node.is(OpId::fused_conv_out) || is_matrix_product(node); }
Places places_of(const Node& node) {
  return node.is(OpId::fused_conv_out) ? kConv : node.is(OpId::fused_linear_out) ? kLinear : kNarrowLinear;
}

class Products {
 public:
  Expected<passes::Action> visit(Context& context, ir::Builder& build, NodeId id) {
    const Node& node = context.node(id);
    switch (node.op->id) {
      case OpId::convolution_out: return convolution(context, build, id);
      case OpId::mm_out: return product(context, build, id, 0, 1);
      case OpId::addmm_out: return product(context, build, id, 1, 2);
      case OpId::add_out: return sum(context, build, id);
      case OpId::mul_out: return scaled(context, build, id);
      default: break;
    }
    if (const auto activation = activation_of(context, node)) return finish(context, build, id, *activation);
    return passes::Action::keep();
  }

 private:
  // The element type that arguments [0, count) have in common, those that are values; none when it differs.
  static std::optional<DType> common_type(const Context& context, const Node& node, size_t count) {
    const DType type = context.type(node.results[0]).dtype;
    for (size_t k = 0; k < count; ++k) {
      const ValueId* value = std::get_if<ValueId>(&node.args[k]);
      if (value != nullptr && context.type(*value).dtype != type) return std::nullopt;
    }
    return type;
  }

  // Whether products of such numbers are those of f32, or those with a narrow weight between casts.
  static bool takes(const Context& context, NodeId id, std::optional<DType> type) {
    if (!type || *type == DType::kF32) return type.has_value();
    return has_16_bits(*type) && widens_halves(context.target(id));
  }

  static bool is_finite(const ir::Constant& weight) {
    const std::vector<float> numbers = floats_of(weight);
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  }

  passes::Action keep(const Context& context, NodeId id, Reason reason) {
    context.remark(context.node(id), reason);
    return passes::Action::keep();
  }

  Expected<passes::Action> make(Context& context, ir::Builder& build, NodeId id, OpId op, std::vector<Argument> args) {
    const Node& node = context.node(id);
    const std::string source = node.source;
    const std::string name = context.method().value(node.results[0]).name;
    context.remark(node, Reason::kFused, op == OpId::fused_conv_out ? "berth::conv" : "berth::linear");
    const DType type = context.type(node.results[0]).dtype;
    BERTH_ASSIGN_OR_RETURN(args[0], wide_value(context, build, std::get<ValueId>(args[0]), source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build.one(op, std::move(args), source, name));
    BERTH_ASSIGN_OR_RETURN(const ValueId result, narrowed_value(build, made, type, source, name));
    return context.replace(id, result);
  }

  // Convolutions that narrow weights have no kernel for stay what they are. It wants to know sizes.
  static bool has_narrow_kernel(const Context& context, const Node& node) {
    const ir::TensorType& input = context.type(std::get<ValueId>(node.args[arg::convolution_out::input]));
    if (!input.is_static()) return false;
    const ir::Dim groups = std::get<ir::Dim>(node.args[arg::convolution_out::groups]);
    const bool depthwise = groups != ir::Dim(1) && groups == input.shape[1];
    return !std::get<bool>(node.args[arg::convolution_out::transposed]) && !depthwise && input.rank() <= 4;
  }

  Expected<passes::Action> convolution(Context& context, ir::Builder& build, NodeId id) {
    const Node& node = context.node(id);
    const std::optional<DType> type = common_type(context, node, 3);
    if (!takes(context, id, type) || (type != DType::kF32 && !has_narrow_kernel(context, node))) {
      return keep(context, id, Reason::kDType);
    }
    const ir::Constant* weight = context.constant(node.args[arg::convolution_out::weight]);
    const bool bias = ir::is_none(node.args[arg::convolution_out::bias]) ||
                      context.constant(node.args[arg::convolution_out::bias]) != nullptr;
    if (weight == nullptr || !bias) return keep(context, id, Reason::kNotConstant);
    if (!weight->type.is_contiguous()) return keep(context, id, Reason::kOrder);
    const bool transposed = std::get<bool>(node.args[arg::convolution_out::transposed]);
    if (transposed && !is_finite(*weight)) return keep(context, id, Reason::kNotFinite);
    std::vector<Argument> args = {node.args[arg::convolution_out::input], node.args[arg::convolution_out::weight],
                                  wide_constant(context, build, node.args[arg::convolution_out::bias]), ir::None{}};
    args.insert(args.end(), node.args.begin() + 3, node.args.begin() + 9);
    for (Argument last : {Argument(std::string("none")), Argument(0.0), Argument(0.0), Argument(std::string())}) {
      args.push_back(std::move(last));
    }
    return make(context, build, id, OpId::fused_conv_out, std::move(args));
  }

  Expected<passes::Action> product(Context& context, ir::Builder& build, NodeId id, size_t a, size_t b) {
    const Node node = context.node(id);  // casts are appended to the list that it stands in
    if (!takes(context, id, common_type(context, node, b + 1))) return keep(context, id, Reason::kDType);
    const ir::Constant* weight = context.constant(node.args[b]);
    if (weight == nullptr) return keep(context, id, Reason::kNotConstant);
    if (!weight->type.is_contiguous() || !context.type(std::get<ValueId>(node.args[a])).is_contiguous()) {
      return keep(context, id, Reason::kOrder);
    }
    Argument bias;
    Argument residual;
    if (node.is(OpId::addmm_out)) {
      if (context.number(node.args[arg::addmm_out::beta]) != 1.0 ||
          context.number(node.args[arg::addmm_out::alpha]) != 1.0) {
        return keep(context, id, Reason::kScaled);
      }
      const ir::TensorType& added = context.type(std::get<ValueId>(node.args[arg::addmm_out::self]));
      const ir::TensorType& out = context.type(node.results[0]);
      if (added.rank() == 1 && added.shape[0] == out.shape[1] &&
          context.constant(node.args[arg::addmm_out::self]) != nullptr) {
        bias = wide_constant(context, build, node.args[arg::addmm_out::self]);
      } else if (added.shape == out.shape && added.is_contiguous()) {
        BERTH_ASSIGN_OR_RETURN(
            residual, wide_value(context, build, std::get<ValueId>(node.args[arg::addmm_out::self]), node.source));
      } else {
        return keep(context, id, Reason::kShape);
      }
    }
    return make(context, build, id, OpId::fused_linear_out,
                {node.args[a], node.args[b], bias, residual, std::string("none"), 0.0, 0.0, std::string()});
  }

  // The product that gives `value`, directly or, of a matrix product, through views. Null where there is none; null
  // with a reason when it cannot take anything along.
  const Node* open_product(const Context& context, ValueId value, std::optional<Reason>* reason) {
    const ValueId base = through_views(context, value);
    // One of a narrow type stands before a cast.
    const DType type = context.type(base).dtype;
    const auto wide_sum = has_16_bits(type) ? cast_of(context, base, DType::kF32, type) : std::nullopt;
    const Node* node = context.maker(wide_sum ? *wide_sum : base);
    if (node == nullptr || !is_product(*node) || (base != value && node->is(OpId::fused_conv_out))) return nullptr;
    if (node->args[places_of(*node).activation] != Argument(std::string("none"))) {
      *reason = Reason::kFinished;
    } else if (context.uses(base) != 1 || context.uses(value) != 1) {
      *reason = Reason::kReadElsewhere;
    } else {
      return node;
    }
    return nullptr;
  }

  Expected<passes::Action> finish(Context& context, ir::Builder& build, NodeId id, const ActivationOf& activation) {
    std::optional<Reason> reason;
    const Node* product = open_product(context, activation.input, &reason);
    if (product == nullptr) return reason ? keep(context, id, *reason) : passes::Action::keep();
    std::vector<Argument> args = product->args;
    const size_t at = places_of(*product).activation;
    args[at] = activation.name;
    args[at + 1] = activation.alpha;
    args[at + 2] = activation.beta;
    return extend(context, build, id, *product, std::move(args));
  }

  // `product` with other arguments in the place of node `id`.
  Expected<passes::Action> extend(Context& context, ir::Builder& build, NodeId id, const Node& product,
                                  std::vector<Argument> args) {
    context.remark(context.node(id), Reason::kFused, product.op->functional_name.c_str());
    const std::vector<ir::Dim> shape = context.type(context.node(id).results[0]).shape;
    const std::string name = context.method().value(context.node(id).results[0]).name;
    const std::string source = product.source;
    const DType type = context.type(context.node(id).results[0]).dtype;
    BERTH_ASSIGN_OR_RETURN(const ValueId sum, build.one(product.op->id, std::move(args), source, name));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, narrowed_value(build, sum, type, source, name));
    context.replaced(context.node(id).results[0], made);
    BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, made, shape, source));
    if (result == made) return passes::Action::replace(made);
    return context.replace(id, result);
  }

  Expected<passes::Action> sum(Context& context, ir::Builder& build, NodeId id) {
    const Node& node = context.node(id);
    const std::optional<DType> type = common_type(context, node, 2);
    if (!type || (type != DType::kF32 && !has_16_bits(*type))) return passes::Action::keep();
    // The product that comes last can wait for the other operand.
    const Node* best = nullptr;
    size_t other = 0;
    int32_t latest = -1;
    std::optional<Reason> reason;
    for (size_t k = 0; k < 2; ++k) {
      const ValueId value = std::get<ValueId>(node.args[k]);
      const Node* product = open_product(context, value, &reason);
      if (product == nullptr) continue;
      const int32_t place = context.method().value(product->results[0]).node.index;
      if (place <= latest) continue;
      latest = place;
      best = product;
      other = 1 - k;
    }
    if (best == nullptr) return reason ? keep(context, id, *reason) : passes::Action::keep();
    if (context.number(node.args[arg::add_out::alpha]) != 1.0) return keep(context, id, Reason::kScaled);
    const ValueId added = std::get<ValueId>(node.args[other]);
    if (context.type(node.results[0]).shape != context.type(std::get<ValueId>(node.args[1 - other])).shape) {
      return keep(context, id, Reason::kShape);
    }
    std::vector<Argument> args = best->args;
    const Places places = places_of(*best);
    if (is_bias(context, *best, added) && ir::is_none(args[places.bias])) {
      const Node product = *best;
      const int64_t channels = ir::max_numel(context.type(added), context.module().symbols);
      args[places.bias] = float_constant(build, {channels}, floats_of(*context.constant(Argument(added))), "bias");
      return extend(context, build, id, product, std::move(args));
    }
    if (!ir::is_none(args[places.residual])) return keep(context, id, Reason::kHasResidual);
    if (context.type(added).shape != context.type(node.results[0]).shape) return keep(context, id, Reason::kShape);
    const Node product = *best;
    const bool matrix = is_matrix_product(product);
    if (matrix && !context.type(added).is_contiguous()) return keep(context, id, Reason::kOrder);
    const std::vector<ir::Dim> shape = context.type(product.results[0]).shape;
    BERTH_ASSIGN_OR_RETURN(ValueId residual, wide_value(context, build, added, product.source));
    if (matrix) {
      BERTH_ASSIGN_OR_RETURN(residual, with_shape(context, build, residual, shape, product.source));
    }
    args[places.residual] = residual;
    return extend(context, build, id, product, std::move(args));
  }

  // A product with a narrow weight, times a constant that has one number a column: that goes into the scales.
  Expected<passes::Action> scaled(Context& context, ir::Builder& build, NodeId id) {
    namespace at = arg::fused_narrow_linear_out;
    const Node& node = context.node(id);
    for (size_t k = 0; k < 2; ++k) {
      const ValueId value = value_argument(node, k);
      const ValueId by = value_argument(node, 1 - k);
      if (!value.valid() || !by.valid()) continue;
      std::optional<Reason> reason;
      const Node* product = open_product(context, value, &reason);
      if (product == nullptr || !product->is(OpId::fused_narrow_linear_out)) continue;
      const ir::Constant* constant = context.constant(Argument(by));
      const bool plain = ir::is_none(product->args[at::bias]) && ir::is_none(product->args[at::residual]);
      const DType type = context.type(node.results[0]).dtype;
      if (constant == nullptr || !plain || !is_bias(context, *product, by) || constant->type.dtype != type ||
          (type != DType::kF32 && !has_16_bits(type)) ||
          context.type(node.results[0]).shape != context.type(value).shape) {
        continue;
      }
      const Node old = *product;
      const ir::Constant& scales = *context.constant(old.args[at::scales]);
      const int64_t rows = scales.type.shape[0].value;
      const int64_t columns = context.type(old.results[0]).shape.back().value;
      const std::vector<float> before = floats_of(scales);
      const std::vector<float> factors = floats_of(*constant);
      std::vector<float> after;
      for (int64_t i = 0; i < rows * columns; ++i) {
        after.push_back(before[scales.type.shape[1].value == 1 ? i / columns : i] * factors[i % columns]);
      }
      std::vector<Argument> args = old.args;
      args[at::scales] = float_constant(build, {rows, columns}, after, "scales");
      return extend(context, build, id, old, std::move(args));
    }
    if (const auto activation = activation_of(context, context.node(id)))
      return finish(context, build, id, *activation);
    return passes::Action::keep();
  }

  // A constant with one number a channel, of a product without views behind it.
  static bool is_bias(const Context& context, const Node& product, ValueId added) {
    const ir::Constant* constant = context.constant(Argument(added));
    if (constant == nullptr || !constant->type.is_contiguous()) return false;
    const std::vector<ir::Dim>& shape = context.type(product.results[0]).shape;
    const std::vector<ir::Dim>& own = constant->type.shape;
    const size_t channel = product.is(OpId::fused_conv_out) ? 1 : shape.size() - 1;
    const size_t from_end = shape.size() - channel;
    if (own.size() > shape.size() || own.size() < from_end) return false;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own.size() - i == from_end ? own[i] != shape[channel] : own[i] != ir::Dim(1)) return false;
    }
    return true;
  }
};

}  // namespace

Expected<passes::Changed> fuse_products(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] {
    auto products = std::make_shared<Products>();
    return Visit(
        [products](Context& context, ir::Builder& build, NodeId id) { return products->visit(context, build, id); });
  });
}

}  // namespace berth::fuse
