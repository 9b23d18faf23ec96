#include "compiler/import/onnx/recurrent.h"

#include <algorithm>
#include <cctype>

#include "compiler/import/lowering/loop.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

// More steps than this are a loop of the program.
constexpr int64_t kMaxUnrolled = 4096;

bool takes_alpha(const std::string& name) {
  return name == "affine" || name == "leakyrelu" || name == "thresholdedrelu" || name == "elu" ||
         name == "scaledtanh" || name == "hardsigmoid";
}
bool takes_beta(const std::string& name) { return name == "affine" || name == "scaledtanh" || name == "hardsigmoid"; }

// The lists of alphas and betas have an entry for each activation that takes one, in order.
std::vector<Activation> read_activations(NodeContext& n, const RecurrentKind& kind, size_t directions) {
  std::vector<std::string> names = n.texts("activations");
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), kind.default_activations.begin(), kind.default_activations.end());
    }
  }
  if (names.size() != directions * kind.default_activations.size()) {
    n.invalid("expected " + std::to_string(directions * kind.default_activations.size()) + " activations, found " +
              std::to_string(names.size()));
    return {};
  }
  const std::vector<double> alphas = n.numbers("activation_alpha");
  const std::vector<double> betas = n.numbers("activation_beta");
  size_t alpha = 0;
  size_t beta = 0;
  std::vector<Activation> activations;
  for (std::string& name : names) {
    Activation activation = with_defaults(std::move(name));
    if (takes_alpha(activation.name) && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (takes_beta(activation.name) && beta < betas.size()) activation.beta = betas[beta++];
    activations.push_back(std::move(activation));
  }
  return activations;
}

// Entry `d` of a tensor whose first dimension is the directions, without that dimension.
ValueId entry(NodeContext& n, ValueId stacked, int64_t d) {
  std::vector<Dim> shape = n.shape(stacked);
  if (shape.empty()) return stacked;
  if (shape[0] == Dim(1)) return n.view(stacked, std::vector<Dim>(shape.begin() + 1, shape.end()));
  return n.op(OpId::select_copy_int_out, {stacked, Dim(0), Dim(d)});
}

ValueId initial_state(NodeContext& n, const Recurrent& r, size_t input, int64_t d) {
  const DimList zeros{r.batch, Dim(r.hidden)};
  if (!n.has_input(input) && r.batch.is_constant()) return n.splat(r.dtype, zeros, 0);
  if (!n.has_input(input)) return n.op(OpId::full_out, {zeros, 0.0, lowering::number_of(r.dtype)});
  ValueId states = n.input(input);
  if (r.batch_first) states = n.permute(states, {1, 0, 2});
  return entry(n, states, d);
}

void read_bias(NodeContext& n, const RecurrentKind& kind, const Recurrent& r, int64_t d, ValueId* input_bias,
               ValueId* recurrence_bias) {
  const int64_t width = kind.gates * r.hidden;
  if (!n.has_input(3)) return;
  const std::vector<ValueId> halves = r.split(n, entry(n, n.input(3), d), {width, width});
  if (!n.ok()) return;
  if (kind.separate_bias) {
    *input_bias = halves[0];
    *recurrence_bias = halves[1];
  } else {
    *input_bias = n.op(OpId::add_out, {halves[0], halves[1]});
  }
}

// Inputs 1 (W) or 2 (R) of a quantised operator: [directions, inputs, gates * hidden].
QuantizedWeight quantized_weight(NodeContext& n, const Recurrent& r, size_t input, size_t scale, int64_t d) {
  const auto entry_of = [&](size_t i) { return entry(n, n.input(i), d); };
  const ValueId weight = entry_of(input);
  QuantizedWeight q;
  if (!n.has_input(scale)) n.invalid("the scale of input " + std::to_string(input) + " is missing");
  q.scale = n.rank(n.input(scale)) == 0 ? n.input(scale) : entry_of(scale);
  q.numbers.integers = weight;
  q.numbers.most = 255;
  q.numbers.value = n.cast(weight, DType::kF32);
  const std::optional<Known> zeros = n.has_input(scale + 1) ? n.known(scale + 1) : std::nullopt;
  const bool none =
      !n.has_input(scale + 1) || (zeros.has_value() && std::all_of(zeros->elements.begin(), zeros->elements.end(),
                                                                   [](const Number& z) { return z.whole == Dim(0); }));
  if (none) {
    q.numbers.zero = {0};
    q.numbers.most = n.ok() && n.dtype(weight) == DType::kI8 ? 128 : 255;
  } else {
    const ValueId zero = n.rank(n.input(scale + 1)) == 0 ? n.input(scale + 1) : entry_of(scale + 1);
    q.numbers.value = n.op(OpId::sub_out, {q.numbers.value, n.cast(zero, DType::kF32)});
  }
  if (n.ok() && n.dtype(weight) != DType::kI8 && n.dtype(weight) != DType::kU8) {
    n.invalid("expected weights of 8-bit integers, found " + n.type_text(weight));
  }
  if (n.ok() && n.dim(weight, 1) != Dim(4 * r.hidden)) {
    n.invalid("a weight " + n.type_text(weight) + " does not fit hidden_size " + std::to_string(r.hidden));
  }
  return q;
}

// x is quantised by its own range, as DynamicQuantizeLinear does.
ValueId quantized_product(NodeContext& n, ValueId x, const QuantizedWeight& weight) {
  const DynamicallyQuantized q = dynamically_quantized(n, x);
  Centred left;
  left.integers = q.integers;
  left.value = n.op(OpId::sub_out, {n.cast(q.integers, DType::kF32), n.cast(q.zero_point, DType::kF32)});
  const ValueId sums = integer_matmul(n, left, weight.numbers, true);
  return n.op(OpId::mul_out, {sums, n.op(OpId::mul_out, {q.scale, weight.scale})});
}

ValueId gates_of_inputs(NodeContext& n, const RecurrentKind& kind, const Recurrent& r, ValueId rows, ValueId bias,
                        int64_t d) {
  if (kind.quantized) {
    const ValueId product = quantized_product(n, rows, quantized_weight(n, r, 1, 8, d));
    return bias.valid() ? n.op(OpId::add_out, {product, bias}) : product;
  }
  const ValueId weights = n.permute(entry(n, n.input(1), d), {1, 0});
  return bias.valid() ? n.op(OpId::addmm_out, {bias, rows, weights}) : n.op(OpId::mm_out, {rows, weights});
}

Direction read_direction(NodeContext& n, const RecurrentKind& kind, const Recurrent& r, ValueId x, int64_t d) {
  Direction direction;
  const int64_t width = kind.gates * r.hidden;
  const Dim features = n.dim(x, 2);
  if (kind.quantized) {
    direction.quantized_recurrence = quantized_weight(n, r, 2, 10, d);
  } else {
    direction.recurrence = n.permute(entry(n, n.input(2), d), {1, 0});
  }
  ValueId bias;
  read_bias(n, kind, r, d, &bias, &direction.recurrence_bias);
  const ValueId rows = n.view(x, {n.symbols().mul(r.steps, r.batch), features});
  direction.gates = n.view(gates_of_inputs(n, kind, r, rows, bias, d), {r.steps, r.batch, Dim(width)});
  direction.hidden = initial_state(n, r, 5, d);
  if (kind.has_cell) {
    direction.cell = initial_state(n, r, 6, d);
    if (n.has_input(7)) direction.peepholes = entry(n, n.input(7), d);
  }
  return direction;
}

// Whether input 4, sequence_lens, says nothing that the shape does not.
bool all_lengths_are(NodeContext& n, Dim steps) {
  const std::optional<Known> lengths = n.known(4);
  if (!lengths.has_value()) return false;
  return std::all_of(lengths->elements.begin(), lengths->elements.end(),
                     [&](const Number& number) { return number.whole == steps; });
}

}  // namespace

Activation with_defaults(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  Activation activation;
  if (name == "affine") activation.alpha = 1;
  if (name == "leakyrelu") activation.alpha = 0.01;
  if (name == "thresholdedrelu" || name == "elu") activation.alpha = 1;
  if (name == "scaledtanh") activation.alpha = activation.beta = 1;
  if (name == "hardsigmoid") {
    activation.alpha = 0.2;
    activation.beta = 0.5;
  }
  activation.name = std::move(name);
  return activation;
}

ValueId activate(NodeContext& n, const Activation& a, ValueId x) {
  if (a.name == "sigmoid") return n.op(OpId::sigmoid_out, {x});
  if (a.name == "tanh") return n.op(OpId::tanh_out, {x});
  if (a.name == "relu") return n.op(OpId::relu_out, {x});
  if (a.name == "leakyrelu") return n.op(OpId::leaky_relu_out, {x, a.alpha});
  if (a.name == "elu") return n.op(OpId::elu_out, {x, a.alpha});
  if (a.name == "affine") {
    return n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {x, a.alpha}), a.beta});
  }
  if (a.name == "scaledtanh") {
    return n.op(OpId::mul_Scalar_out, {n.op(OpId::tanh_out, {n.op(OpId::mul_Scalar_out, {x, a.beta})}), a.alpha});
  }
  if (a.name == "hardsigmoid") {
    const ValueId line = n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {x, a.alpha}), a.beta});
    return n.op(OpId::clamp_out, {line, 0.0, 1.0});
  }
  if (a.name == "thresholdedrelu") {
    return n.op(OpId::where_self_out, {n.op(OpId::gt_Scalar_out, {x, a.alpha}), x, n.splat(n.dtype(x), {}, 0)});
  }
  if (a.name == "softsign") {
    const ValueId magnitude = n.op(OpId::add_Scalar_out, {n.op(OpId::abs_out, {x}), 1.0});
    return n.op(OpId::div_out, {x, magnitude});
  }
  if (a.name == "softplus") {
    const ValueId tail = n.op(OpId::exp_out, {n.op(OpId::neg_out, {n.op(OpId::abs_out, {x})})});
    return n.op(OpId::add_out, {n.op(OpId::relu_out, {x}), n.op(OpId::log1p_out, {tail})});
  }
  n.unsupported("there is no activation \"" + a.name + "\"");
  return x;
}

ValueId Recurrent::with_state(NodeContext& n, const Direction& direction, ValueId x, ValueId h) const {
  if (direction.recurrence.valid()) return n.op(OpId::addmm_out, {x, h, direction.recurrence});
  return n.op(OpId::add_out, {x, quantized_product(n, h, direction.quantized_recurrence)});
}

ValueId Recurrent::keep(NodeContext& n, const Step& step, ValueId after, ValueId before) const {
  if (!lengths.valid()) return after;
  const ValueId lasts = step.turn.valid() ? n.op(OpId::gt_Tensor_out, {lengths, step.turn})
                                          : n.op(OpId::gt_Scalar_out, {lengths, Dim(step.number)});
  return n.op(OpId::where_self_out, {lasts, after, before});
}

ValueId Recurrent::blank(NodeContext& n, const Step& step, ValueId value) const {
  if (!lengths.valid()) return value;
  return keep(n, step, value, n.splat(dtype, {}, 0));
}

std::vector<ValueId> Recurrent::split(NodeContext& n, ValueId x, std::vector<int64_t> sizes) const {
  std::vector<ValueId> parts = n.ops(OpId::split_with_sizes_copy_out, {x, ir::dims(sizes), Dim(n.rank(x) - 1)});
  parts.resize(sizes.size());
  return parts;
}

Recurrent read_recurrent(NodeContext& n, const RecurrentKind& kind) {
  Recurrent r;
  r.batch_first = n.opset() >= 14 && n.integer("layout", 0) == 1;
  ValueId x = n.input(0);
  if (n.ok() && (n.rank(x) != 3 || n.rank(n.input(1)) != 3 || n.rank(n.input(2)) != 3)) {
    n.invalid("expected X, W and R of 3 dimensions");
  }
  if (r.batch_first) x = n.permute(x, {1, 0, 2});
  r.dtype = n.dtype(x);
  r.steps = n.dim(x, 0);
  r.batch = n.dim(x, 1);
  r.hidden = n.fixed(n.dim(n.input(2), kind.quantized ? 1 : 2), "hidden_size");
  if (n.has_attribute("hidden_size") && n.integer("hidden_size", 0) != r.hidden) {
    n.invalid("hidden_size differs from R's");
  }
  const std::string way = n.text("direction", "forward");
  if (way != "forward" && way != "reverse" && way != "bidirectional") n.invalid("there is no direction " + way);
  const size_t count = way == "bidirectional" ? 2 : 1;
  if (n.ok() && n.dim(n.input(1), 0) != Dim(static_cast<int64_t>(count))) {
    n.invalid("the first dimension of W is not the number of directions");
  }
  if (n.has_input(4) && !all_lengths_are(n, r.steps)) {
    r.lengths = n.view(n.cast(n.input(4), DType::kI64), {r.batch, Dim(1)});
  }
  const std::vector<Activation> activations = read_activations(n, kind, count);
  const size_t each = kind.default_activations.size();
  for (size_t d = 0; d < count && n.ok(); ++d) {
    Direction direction = read_direction(n, kind, r, x, static_cast<int64_t>(d));
    direction.reverse = way == "reverse" || d == 1;
    direction.activations.assign(activations.begin() + static_cast<std::ptrdiff_t>(d * each),
                                 activations.begin() + static_cast<std::ptrdiff_t>((d + 1) * each));
    r.directions.push_back(std::move(direction));
  }
  if (!n.ok()) r.steps = Dim(0);
  return r;
}

namespace {

ValueId no_steps(NodeContext& n, const Recurrent& r) {
  return n.op(OpId::full_out, {DimList{Dim(0), r.batch, Dim(r.hidden)}, 0.0, lowering::number_of(r.dtype)});
}

Passed unrolled(NodeContext& n, const Recurrent& r, const Direction& direction, ValueList states,
                const Advance& advance) {
  ValueList all(r.steps.value);
  for (int64_t i = 0; i < r.steps.value && n.ok(); ++i) {
    Step step;
    step.number = direction.reverse ? r.steps.value - 1 - i : i;
    step.gates = n.op(OpId::select_copy_int_out, {direction.gates, Dim(0), Dim(step.number)});
    all[step.number] = advance(step, states);
  }
  if (all.empty()) return {no_steps(n, r), std::move(states)};
  const ValueId joined = all.size() == 1 ? all[0] : n.op(OpId::cat_out, {all, Dim(0)});
  return {n.view(joined, {r.steps, r.batch, Dim(r.hidden)}), std::move(states)};
}

// A loop goes forward: backwards it reads and gives everything turned round.
Passed looped(NodeContext& n, const Recurrent& r, const Direction& direction, const ValueList& states,
              const Advance& advance) {
  const auto turned = [&](ValueId v) { return direction.reverse ? n.op(OpId::flip_out, {v, DimList{Dim(0)}}) : v; };
  const Dim i64 = lowering::number_of(DType::kI64);
  const ValueId turns = n.op(OpId::arange_start_out, {Dim(0), r.steps, Dim(1), i64});
  lowering::LoopResults results = lowering::loop_over(n, r.steps, {turned(direction.gates), turned(turns)}, states,
                                                      [&](const ValueList& slices, ValueList& inside) {
                                                        Step step;
                                                        step.gates = slices[0];
                                                        step.turn = slices[1];
                                                        return advance(step, inside);
                                                      });
  return {turned(results.stacked), std::move(results.states)};
}

}  // namespace

Passed over_time(NodeContext& n, const Recurrent& r, const Direction& direction, ValueList states,
                 const Advance& advance) {
  if (!n.ok()) return {};
  const bool known = r.steps.is_constant() && r.steps.value <= kMaxUnrolled;
  return known ? unrolled(n, r, direction, std::move(states), advance) : looped(n, r, direction, states, advance);
}

void recurrent_outputs(NodeContext& n, const Recurrent& r, const std::vector<Passed>& directions) {
  if (!n.ok()) return;
  const auto joined = [&](const ValueList& parts, int64_t dim) {
    return parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(dim)});
  };
  if (n.wants_output(0)) {
    ValueList parts;
    for (const Passed& passed : directions) {
      parts.push_back(n.view(passed.all, {r.steps, Dim(1), r.batch, Dim(r.hidden)}));
    }
    const ValueId y = joined(parts, 1);  // [steps, directions, batch, hidden]
    n.output(0, r.batch_first ? n.permute(y, {2, 0, 1, 3}) : y);
  }
  for (size_t state = 0; state < directions[0].states.size(); ++state) {
    if (!n.wants_output(state + 1)) continue;
    ValueList parts;
    for (const Passed& passed : directions) {
      parts.push_back(n.view(passed.states[state], {Dim(1), r.batch, Dim(r.hidden)}));
    }
    const ValueId y = joined(parts, 0);
    n.output(state + 1, r.batch_first ? n.permute(y, {1, 0, 2}) : y);
  }
}

}  // namespace berth::onnx
