// Shape arithmetic that computes with elements.
#include <cmath>

#include "compiler/import/onnx/known_math.h"
#include "compiler/import/onnx/known_rules.h"

namespace berth::onnx {
namespace {

KnownResult binary(NodeContext& n, const std::vector<Known>& in, BinaryRule rule, bool compares) {
  Known out = in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].dtype != in[0].dtype) return std::nullopt;
    std::optional<Known> next = broadcast(n.symbols(), out, in[i], rule);
    if (!next.has_value()) return std::nullopt;
    out = std::move(*next);
  }
  if (compares) out.dtype = DType::kBool;
  return one_known(std::move(out));
}

template <BinaryRule rule>
KnownResult arithmetic(NodeContext& n, const std::vector<Known>& in) {
  return binary(n, in, rule, false);
}

template <BinaryRule rule>
KnownResult comparison(NodeContext& n, const std::vector<Known>& in) {
  return binary(n, in, rule, true);
}

double round_half_even(double x) { return std::nearbyint(x); }
double reciprocal(double x) { return 1 / x; }

using RealFunction = double (*)(double);

template <RealFunction f>
KnownResult of_reals(NodeContext&, const std::vector<Known>& in) {
  Known out = in[0];
  if (!out.floating()) return std::nullopt;
  for (Number& e : out.elements) e = rounded(out.dtype, {{}, f(e.real)});
  return one_known(std::move(out));
}

KnownResult known_neg(NodeContext& n, const std::vector<Known>& in) {
  Known zero = in[0];
  for (Number& e : zero.elements) e = Number();
  if (zero.floating()) {
    for (Number& e : zero.elements) e.real = -0.0;  // so that 0 becomes -0
  }
  return binary(n, {zero, in[0]}, BinaryRule::kSub, false);
}

KnownResult known_abs(NodeContext& n, const std::vector<Known>& in) {
  if (in[0].dtype == DType::kU8) return in;  // whose negatives are larger
  const KnownResult negative = known_neg(n, in);
  if (!negative.has_value()) return std::nullopt;
  return binary(n, {in[0], (*negative)[0]}, BinaryRule::kMax, false);
}

KnownResult known_relu(NodeContext& n, const std::vector<Known>& in) {
  Known zero = in[0];
  for (Number& e : zero.elements) e = Number();
  return binary(n, {in[0], zero}, BinaryRule::kMax, false);
}

KnownResult known_mod(NodeContext& n, const std::vector<Known>& in) {
  if (n.integer("fmod", 0) != 0 || in[0].floating()) return std::nullopt;
  return binary(n, in, BinaryRule::kMod, false);
}

KnownResult known_not(NodeContext&, const std::vector<Known>& in) {
  Known out = in[0];
  for (Number& e : out.elements) e.whole = Dim(e.whole.value == 0);
  return out.is_constant() && out.dtype == DType::kBool ? one_known(std::move(out)) : std::nullopt;
}

KnownResult known_cast(NodeContext& n, const std::vector<Known>& in) {
  DType to = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(n.integer("to", 0)), &to)) return std::nullopt;
  std::optional<Known> out = known_as(in[0], to);
  return out.has_value() ? one_known(std::move(*out)) : std::nullopt;
}

KnownResult reduce(NodeContext& n, const std::vector<Known>& in, BinaryRule rule, Number start, bool may_be_empty) {
  if (in[0].shape.size() != 1 || in.size() > 1 || (in[0].elements.empty() && !may_be_empty)) return std::nullopt;
  for (int64_t axis : n.integers("axes")) {
    if (axis != 0 && axis != -1) return std::nullopt;
  }
  if (n.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  Number total = in[0].elements.empty() ? start : in[0].elements[0];
  for (size_t i = 1; i < in[0].elements.size(); ++i) {
    const auto next = apply(n.symbols(), in[0].dtype, rule, total, in[0].elements[i]);
    if (!next.has_value()) return std::nullopt;
    total = *next;
  }
  Known out{in[0].dtype, {}, {total}};
  if (n.integer("keepdims", 1) != 0) out.shape = {1};
  return one_known(std::move(out));
}

KnownResult known_reduce_prod(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMul, {Dim(1), 1.0}, true);
}
KnownResult known_reduce_sum(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kAdd, {Dim(0), 0.0}, true);
}
KnownResult known_reduce_max(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMax, {}, false);
}
KnownResult known_reduce_min(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMin, {}, false);
}

constexpr KnownRule kArithmeticRules[] = {
    {"Abs", known_abs},
    {"Add", arithmetic<BinaryRule::kAdd>},
    {"And", comparison<BinaryRule::kAnd>},
    {"Cast", known_cast},
    {"Ceil", of_reals<std::ceil>},
    {"Div", arithmetic<BinaryRule::kDiv>},
    {"Equal", comparison<BinaryRule::kEqual>},
    {"Floor", of_reals<std::floor>},
    {"Greater", comparison<BinaryRule::kGreater>},
    {"GreaterOrEqual", comparison<BinaryRule::kGreaterOrEqual>},
    {"Less", comparison<BinaryRule::kLess>},
    {"LessOrEqual", comparison<BinaryRule::kLessOrEqual>},
    {"Max", arithmetic<BinaryRule::kMax>},
    {"Min", arithmetic<BinaryRule::kMin>},
    {"Mod", known_mod},
    {"Mul", arithmetic<BinaryRule::kMul>},
    {"Neg", known_neg},
    {"Not", known_not},
    {"Or", comparison<BinaryRule::kOr>},
    {"Reciprocal", of_reals<reciprocal>},
    {"ReduceMax", known_reduce_max},
    {"ReduceMin", known_reduce_min},
    {"ReduceProd", known_reduce_prod},
    {"ReduceSum", known_reduce_sum},
    {"Relu", known_relu},
    {"Round", of_reals<round_half_even>},
    {"Sqrt", of_reals<std::sqrt>},
    {"Sub", arithmetic<BinaryRule::kSub>},
};

}  // namespace

Span<const KnownRule> known_arithmetic_rules() { return kArithmeticRules; }

}  // namespace berth::onnx
