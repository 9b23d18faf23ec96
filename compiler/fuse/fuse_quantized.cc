#include "compiler/fuse/fuse_quantized.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "compiler/fuse/integer_sums.h"
#include "compiler/fuse/rounded_products.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using Rounding = Quantized::Rounding;

namespace place = arg::quantized_linear_out;

// Of a product of a batch: with fewer rows or columns, packing and rounding take longer than floats do in all.
constexpr int64_t kLeastOfABatch = 8;

bool is_small(Dim size) { return size.is_constant() && size.value < kLeastOfABatch; }

// What the graphs of each method give, before anything is rewritten.
using Given = std::map<const ir::Method*, std::set<ValueId>>;

Given given_by(const ir::Module& module) {
  Given given;
  for (const ir::Method& method : module.methods) {
    std::set<ValueId>& values = given[&method];
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (const Argument& output : graph.outputs) {
        ir::for_each_value(output, [&](const ValueId& value) { values.insert(value); });
      }
    });
  }
  return given;
}

class QuantizedProducts {
 public:
  explicit QuantizedProducts(const Given& given) : given_(&given) {}

  Expected<passes::Action> visit(Context& context, ir::Builder& build, NodeId id) {
    const Node& node = context.node(id);
    if (is_given(context, node)) {
      if (auto product = product_of_numbers(context, node.results[0])) return give(context, build, id, *product);
    }
    switch (node.op->id) {
      case OpId::convolution_out: return convolution(context, build, id);
      case OpId::mm_out: return matrix_product(context, build, id, 0);
      case OpId::addmm_out: return matrix_product(context, build, id, 1);
      case OpId::bmm_out: return products_of_a_batch(context, build, id);
      case OpId::mul_out:
      case OpId::mul_Scalar_out: return scaled_sums(context, build, id);
      case OpId::add_out: return sum(context, build, id);
      default: break;
    }
    if (const auto rounding = quantized(context, node)) return round(context, build, id, *rounding);
    if (const auto activation = activation_of(context, node)) return activate(context, build, id, *activation);
    return passes::Action::keep();
  }

 private:
  passes::Action keep(const Context& context, NodeId id, Reason reason) {
    context.remark(context.node(id), reason);
    return passes::Action::keep();
  }

  // Whether a graph gives the node's result, and nothing else reads it.
  bool is_given(const Context& context, const Node& node) const {
    return node.results.size() == 1 && context.uses(node.results[0]) == 1 &&
           given_->at(&context.method()).count(node.results[0]) > 0;
  }

  // The matrix product whose 8-bit result `value` is the numbers of, so that both would stand side by side: with those
  // numbers as its result. Elsewhere what reads them reads the bytes.
  static std::optional<QuantizedProduct> product_of_numbers(const Context& context, ValueId value) {
    const auto pair = dequantized(context, value);
    if (!pair || !pair->scale.number() || !pair->zero_point.number() || !is_read_once(context, value, pair->integers)) {
      return std::nullopt;
    }
    const ValueId base = through_views(context, pair->integers);
    const Node* node = context.maker(base);
    if (node == nullptr || !is_quantized_product(*node) || context.uses(base) != 1) return std::nullopt;
    QuantizedProduct product(*node);
    // Convolutions to few channels have kernels that give bytes alone.
    if (product.is_convolution() || context.type(value_argument(*node, place::weight)).rank() != 2) return std::nullopt;
    const bool plain = product[place::activation] == Argument(std::string("none")) &&
                       product[place::middle_scale] == Argument(0.0) && ir::is_none(product[place::residual]);
    // Divided and multiplied by one number it would be rounded elsewhere.
    const bool whole = product[place::out_scale] == Argument(1.0);
    const Dim zero(static_cast<int64_t>(*pair->zero_point.number()));
    if (!plain || !whole || !is_byte(context.type(base).dtype) || product[place::out_zero_point] != Argument(zero) ||
        *pair->scale.number() == 0) {
      return std::nullopt;
    }
    product[place::middle_scale] = *pair->scale.number();
    product[place::middle_zero_point] = zero;
    product[place::out_zero_point] = Dim(0);
    product[place::dtype] = Dim(static_cast<int64_t>(DType::kF32));
    return product;
  }

  // `product` in the place of node `id`. What does not fit after all stays as it is.
  Expected<passes::Action> replace(Context& context, ir::Builder& build, NodeId id, const QuantizedProduct& product,
                                   ValueId* made = nullptr) {
    const Node node = context.node(id);
    const std::vector<Dim> shape = context.type(node.results[0]).shape;
    const std::string name = context.method().value(node.results[0]).name;
    const auto result = build.one(product.op(), product.arguments(), node.source, name);
    if (!result.ok()) return keep(context, id, Reason::kShape);
    context.remark(context.node(id), Reason::kFused, product.name());
    context.replaced(node.results[0], *result);
    BERTH_ASSIGN_OR_RETURN(const ValueId seen, with_shape(context, build, *result, shape, node.source));
    if (made != nullptr) *made = seen;
    return seen == *result ? passes::Action::replace(seen) : context.replace(id, seen);
  }

  // What is given is not a view: the caller's memory is what the product writes.
  Expected<passes::Action> give(Context& context, ir::Builder& build, NodeId id, QuantizedProduct& product) {
    std::vector<Dim> shape = context.type(context.node(id).results[0]).shape;
    const ValueId weight = std::get<ValueId>(product[place::weight]);
    if (shape.empty() || shape.back() != context.type(weight).shape.back()) return passes::Action::keep();
    const ValueId input = std::get<ValueId>(product[place::input]);
    shape.back() = context.type(input).shape.back();
    BERTH_ASSIGN_OR_RETURN(product[place::input], with_shape(context, build, input, shape, ""));
    return replace(context, build, id, product);
  }

  Expected<passes::Action> convolution(Context& context, ir::Builder& build, NodeId id) {
    const Node node = context.node(id);
    namespace conv = arg::convolution_out;
    if (std::get<bool>(node.args[conv::transposed])) return passes::Action::keep();
    const std::vector<Argument> window = {node.args[conv::stride], node.args[conv::padding], node.args[conv::dilation],
                                          node.args[conv::groups]};
    return product_of(context, build, id, value_argument(node, conv::input), value_argument(node, conv::weight),
                      node.args[conv::bias], window);
  }

  Expected<passes::Action> matrix_product(Context& context, ir::Builder& build, NodeId id, size_t left) {
    const Node node = context.node(id);
    Argument bias;
    if (left == 1) {
      bias = node.args[arg::addmm_out::self];
      const bool plain = context.number(node.args[arg::addmm_out::alpha]) == 1.0 &&
                         context.number(node.args[arg::addmm_out::beta]) == 1.0;
      if (!plain) return passes::Action::keep();
    }
    return product_of(context, build, id, value_argument(node, left), value_argument(node, left + 1), bias, {});
  }

  // Both sides dequantised, and computed: those of attention. Each has one scale and zero point, which are known.
  Expected<passes::Action> products_of_a_batch(Context& context, ir::Builder& build, NodeId id) {
    if (!takes_bytes(context.target(id))) return passes::Action::keep();
    const Node node = context.node(id);
    const auto input = product_input(context, value_argument(node, arg::bmm_out::self));
    const auto weight = product_input(context, value_argument(node, arg::bmm_out::mat2));
    if (!input || !weight) return passes::Action::keep();
    if (is_small(input->shape[1]) || is_small(weight->shape[2])) return keep(context, id, Reason::kSmall);
    const bool known = input->pair.scale.number() && input->pair.zero_point.number() && weight->pair.scale.number() &&
                       weight->pair.zero_point.number() && ir::is_none(weight->padding);
    if (!known) return keep(context, id, Reason::kScale);
    DequantizedConstant right;
    right.integers = weight->pair.integers;
    right.scale = weight->pair.scale;
    right.zero_point = weight->pair.zero_point;
    BERTH_ASSIGN_OR_RETURN(right.integers, with_shape(context, build, right.integers, weight->shape, ""));
    right.type = context.type(right.integers);
    const auto scale = product_scale(input->pair.scale, right.scale, 1);
    if (!scale || !right.type.is_contiguous()) return keep(context, id, Reason::kScale);
    QuantizedProduct product(std::vector<Argument>{});
    BERTH_ASSIGN_OR_RETURN(const bool fits, set_operands(context, build, *input, right, 1, *scale, &product));
    return fits ? replace(context, build, id, product) : Expected<passes::Action>(keep(context, id, Reason::kScale));
  }

  // Both sides dequantised. Sums of integers without a scale wait for what scales them.
  Expected<passes::Action> product_of(Context& context, ir::Builder& build, NodeId id, ValueId left, ValueId right,
                                      const Argument& bias, const std::vector<Argument>& window) {
    const auto input = product_input(context, left);
    if (!input) return passes::Action::keep();
    const auto weight = dequantized_constant(context, right);
    if (!weight) return keep(context, id, Reason::kNotConstant);
    if (input->pair.scale.is(1) && weight->scale.is(1)) return passes::Action::keep();
    const int columns = window.empty() ? 1 : 0;
    const auto scale = product_scale(input->pair.scale, weight->scale, columns);
    if (!scale) return keep(context, id, Reason::kScale);
    const size_t count = weight->type.shape[columns].value;
    const auto added = bias_of(context, bias, count);
    if (!added) return keep(context, id, Reason::kNotConstant);
    QuantizedProduct product(window);
    BERTH_ASSIGN_OR_RETURN(const bool fits, set_operands(context, build, *input, *weight, columns, *scale, &product));
    if (!fits) return keep(context, id, Reason::kScale);
    if (!added->empty()) product[place::bias] = product_bias(build, *added, count, *scale);
    return replace(context, build, id, product);
  }

  // The numbers of a bias that is constant, one a column; empty where there is none.
  static std::optional<std::vector<double>> bias_of(const Context& context, const Argument& bias, size_t count) {
    if (ir::is_none(bias)) return std::vector<double>();
    ir::TensorType line;
    line.shape = {Dim(static_cast<int64_t>(count))};
    const auto numbers = broadcast(context, bias, line);
    if (!numbers || numbers->known.empty()) return std::nullopt;
    return numbers->known;
  }

  // sums * factor
  Expected<passes::Action> scaled_sums(Context& context, ir::Builder& build, NodeId id) {
    const Node node = context.node(id);
    const size_t sides = node.is(OpId::mul_out) ? 2 : 1;
    for (size_t k = 0; k < sides; ++k) {
      const ValueId sums = value_argument(node, k);
      const auto found = sums.valid() ? integer_sums(context, sums) : std::nullopt;
      if (!found || context.type(sums).shape != context.type(node.results[0]).shape) continue;
      return integer_product(context, build, id, *found, node.args[1 - k]);
    }
    return passes::Action::keep();
  }

  Expected<passes::Action> integer_product(Context& context, ir::Builder& build, NodeId id, const IntegerSums& sums,
                                           const Argument& factor) {
    const DequantizedConstant& weight = sums.weight;
    const Node& inner = context.node(sums.product);
    const bool convolution = inner.is(OpId::convolution_out);
    std::vector<Argument> window;
    namespace conv = arg::convolution_out;
    if (convolution) {
      if (std::get<bool>(inner.args[conv::transposed])) return passes::Action::keep();
      window = {inner.args[conv::stride], inner.args[conv::padding], inner.args[conv::dilation],
                inner.args[conv::groups]};
    }
    const ir::TensorType type = context.type(context.node(id).results[0]);
    const int channels = convolution ? 1 : type.rank() - 1;
    const int columns = convolution ? 0 : 1;
    const auto scale = factor_scale(context, factor, type, channels);
    if (!scale) return keep(context, id, Reason::kScale);
    QuantizedProduct product(window);
    BERTH_ASSIGN_OR_RETURN(const bool fits,
                           set_operands(context, build, sums.input, weight, columns, *scale, &product));
    if (!fits) return keep(context, id, Reason::kScale);
    if (sums.bias.valid()) {
      const auto bias = broadcast(context, sums.bias, type);
      if (!bias || bias->known.empty() || (bias->axis >= 0 && bias->axis != channels)) {
        return keep(context, id, Reason::kShape);
      }
      product[place::bias] = whole_bias(build, bias->known, weight.type.shape[columns].value);
    }
    return replace(context, build, id, product);
  }

  // The product that gives `value` alone, a matrix product perhaps through views; nothing where it is finished.
  static std::optional<QuantizedProduct> open_product(const Context& context, ValueId value) {
    const ValueId base = through_views(context, value);
    const Node* node = context.maker(base);
    if (node == nullptr || !is_quantized_product(*node)) return std::nullopt;
    if (context.uses(base) != 1 || context.uses(value) != 1) return std::nullopt;
    const QuantizedProduct product(*node);
    if (base != value && product.is_convolution()) return std::nullopt;
    const bool real = product[place::dtype] == Argument(Dim(static_cast<int64_t>(DType::kF32)));
    return real ? std::optional<QuantizedProduct>(product) : std::nullopt;
  }

  Expected<passes::Action> activate(Context& context, ir::Builder& build, NodeId id, const ActivationOf& activation) {
    auto product = open_product(context, activation.input);
    if (!product) return passes::Action::keep();
    if ((*product)[place::activation] != Argument(std::string("none"))) return keep(context, id, Reason::kFinished);
    (*product)[place::activation] = activation.name;
    (*product)[place::alpha] = activation.alpha;
    (*product)[place::beta] = activation.beta;
    return replace(context, build, id, *product);
  }

  Expected<passes::Action> sum(Context& context, ir::Builder& build, NodeId id) {
    const Node node = context.node(id);
    if (context.type(node.results[0]).dtype != DType::kF32) return passes::Action::keep();
    const ir::TensorType type = context.type(node.results[0]);
    // The product that comes last can wait for the other operand.
    std::optional<QuantizedProduct> best;
    size_t other = 0;
    int32_t latest = -1;
    for (size_t k = 0; k < 2; ++k) {
      const ValueId value = value_argument(node, k);
      if (!value.valid() || context.type(value).shape != type.shape) continue;
      const auto product = open_product(context, value);
      if (!product || !product->is_open()) continue;
      const int32_t at = context.method().value(through_views(context, value)).node.index;
      if (at <= latest) continue;
      latest = at;
      best = product;
      other = 1 - k;
    }
    if (!best) return passes::Action::keep();
    if (context.number(node.args[arg::add_out::alpha]) != 1.0) return keep(context, id, Reason::kScaled);
    const ValueId added = value_argument(node, other);
    if (!added.valid()) return passes::Action::keep();
    const int channels = best->is_convolution() ? 1 : type.rank() - 1;
    const auto bias = broadcast(context, Argument(added), type);
    const bool constant = bias && !bias->known.empty();
    if (constant && (bias->axis == -1 || bias->axis == channels) && ir::is_none((*best)[place::bias])) {
      return add_bias(context, build, id, *best, bias->known);
    }
    if (context.type(added).shape != type.shape) return keep(context, id, Reason::kShape);
    BERTH_ASSIGN_OR_RETURN(const bool fits, add_residual(context, build, added, &*best));
    return fits ? replace(context, build, id, *best) : Expected<passes::Action>(keep(context, id, Reason::kOrder));
  }

  Expected<passes::Action> add_bias(Context& context, ir::Builder& build, NodeId id, QuantizedProduct product,
                                    const std::vector<double>& bias) {
    ProductScale scale;
    scale.numbers = floats_of(*context.constant(product[place::scale]));
    if (const ValueId* input = std::get_if<ValueId>(&product[place::input_scale])) scale.input = *input;
    const ir::TensorType& type = context.type(context.node(id).results[0]);
    const Dim columns = type.shape[product.is_convolution() ? 1 : type.rank() - 1];
    product[place::bias] = product_bias(build, bias, columns.value, scale);
    return replace(context, build, id, product);
  }

  // `value` as the residual: the integers that it is made of, or itself. REQUIRES: it has the sizes of the result
  // behind views.
  Expected<bool> add_residual(Context& context, ir::Builder& build, ValueId value, QuantizedProduct* product) {
    const auto pair = dequantized(context, value);
    const bool bytes = pair && pair->scale.number() && pair->zero_point.number() &&
                       is_byte(context.type(pair->integers).dtype) &&
                       is_zero_point(*pair->zero_point.number(), context.type(pair->integers).dtype) &&
                       std::isfinite(static_cast<float>(*pair->scale.number()));
    ValueId residual = bytes ? pair->integers : value;
    if (context.type(residual).dtype != DType::kF32 && !bytes) return false;
    if (bytes) {
      (*product)[place::residual_scale] = *pair->scale.number();
      (*product)[place::residual_zero_point] = Dim(static_cast<int64_t>(*pair->zero_point.number()));
    }
    if (!product->is_convolution()) {
      if (!context.type(residual).is_contiguous()) return false;
      const ValueId input = std::get<ValueId>((*product)[place::input]);
      std::vector<Dim> shape = context.type(input).shape;
      shape.back() = context.type(std::get<ValueId>((*product)[place::weight])).shape.back();
      BERTH_ASSIGN_OR_RETURN(residual, with_shape(context, build, residual, shape, ""));
    }
    (*product)[place::residual] = residual;
    return true;
  }

  Expected<passes::Action> round(Context& context, ir::Builder& build, NodeId id, const Quantized& q) {
    if (q.dtype != DType::kU8 && q.dtype != DType::kI8) return passes::Action::keep();
    const auto scale = q.scale.number();
    const auto zero = q.zero_point.number();
    const auto product = open_product(context, q.input);
    const auto added = product ? std::nullopt : rounded_.sum_of(context, q);
    if (!product && !added) return passes::Action::keep();
    if (!scale || !zero || !is_zero_point(*zero, q.dtype) || !(*scale > 0) ||
        !std::isnormal(static_cast<float>(*scale)) || !std::isnormal(1 / static_cast<float>(*scale))) {
      return keep(context, id, Reason::kScale);
    }
    if (added) return round_sum(context, build, id, q, *added);
    QuantizedProduct made = *product;
    if (!set_fast_rounding(context, build, q, &made)) {
      if (q.rounding == Rounding::kFactor) return keep(context, id, Reason::kScaled);
      set_rounding(q, *scale, q.low, q.high, &made);
    }
    ValueId result;
    BERTH_ASSIGN_OR_RETURN(passes::Action action, replace(context, build, id, made, &result));
    if (action.remove && ir::is_none((*product)[place::residual])) rounded_.add(result, *product, q);
    return action;
  }

  Expected<passes::Action> round_sum(Context& context, ir::Builder& build, NodeId id, const Quantized& q,
                                     const RoundedSum& sum) {
    if (q.rounding == Rounding::kFactor) return keep(context, id, Reason::kScaled);
    QuantizedProduct product = sum.product;
    const bool scaled = sum.steps == 1 || multiply_scale(context, build, sum.steps, &product);
    if (!scaled) return keep(context, id, Reason::kScale);
    BERTH_ASSIGN_OR_RETURN(const bool fits, add_residual(context, build, sum.residual, &product));
    if (!fits) return keep(context, id, Reason::kOrder);
    product[place::activation] = sum.activation.name;
    product[place::alpha] = sum.activation.alpha;
    product[place::beta] = sum.activation.beta;
    set_rounding(q, *q.scale.number(), q.low, q.high, &product);
    return replace(context, build, id, product);
  }

  RoundedProducts rounded_;
  const Given* given_;
};

}  // namespace

Expected<passes::Changed> fuse_quantized(ir::Module& module, const Targets& targets, const passes::Options& options) {
  const Given given = given_by(module);
  return rewrite_regions(module, targets_of_byte_products(targets), options, [&given] {
    auto products = std::make_shared<QuantizedProducts>(given);
    return Visit(
        [products](Context& context, ir::Builder& build, NodeId id) { return products->visit(context, build, id); });
  });
}

}  // namespace berth::fuse
