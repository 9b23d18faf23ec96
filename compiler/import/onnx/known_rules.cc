// Shape arithmetic: ONNX operators on known elements. A rule gives nothing when a result cannot be told, such as
// whether a symbol equals 4; the node then runs in the program like any other.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/import/onnx/known_math.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

using Result = std::optional<std::vector<Known>>;

Result one(Known known) {
  std::vector<Known> all;
  all.push_back(std::move(known));
  return all;
}

Result binary(NodeContext& n, const std::vector<Known>& in, BinaryRule rule, bool compares) {
  Known out = in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].dtype != in[0].dtype) return std::nullopt;
    std::optional<Known> next = broadcast(n.symbols(), out, in[i], rule);
    if (!next.has_value()) return std::nullopt;
    out = std::move(*next);
  }
  if (compares) out.dtype = DType::kBool;
  return one(std::move(out));
}

template <BinaryRule rule>
Result arithmetic(NodeContext& n, const std::vector<Known>& in) {
  return binary(n, in, rule, false);
}

template <BinaryRule rule>
Result comparison(NodeContext& n, const std::vector<Known>& in) {
  return binary(n, in, rule, true);
}

double round_half_even(double x) { return std::nearbyint(x); }
double reciprocal(double x) { return 1 / x; }

using RealFunction = double (*)(double);

template <RealFunction f>
Result of_reals(NodeContext&, const std::vector<Known>& in) {
  Known out = in[0];
  if (!out.floating()) return std::nullopt;
  for (Number& e : out.elements) e = rounded(out.dtype, {{}, f(e.real)});
  return one(std::move(out));
}

Result known_neg(NodeContext& n, const std::vector<Known>& in) {
  Known zero = in[0];
  for (Number& e : zero.elements) e = Number();
  if (zero.floating()) {
    for (Number& e : zero.elements) e.real = -0.0;  // so that 0 becomes -0
  }
  return binary(n, {zero, in[0]}, BinaryRule::kSub, false);
}

Result known_abs(NodeContext& n, const std::vector<Known>& in) {
  const Result negative = known_neg(n, in);
  if (!negative.has_value()) return std::nullopt;
  return binary(n, {in[0], (*negative)[0]}, BinaryRule::kMax, false);
}

Result known_mod(NodeContext& n, const std::vector<Known>& in) {
  if (n.integer("fmod", 0) != 0 || in[0].floating()) return std::nullopt;
  return binary(n, in, BinaryRule::kMod, false);
}

Result known_expand(NodeContext& n, const std::vector<Known>& in) {
  if (!in[1].is_constant() || in[1].floating() || in[1].shape.size() != 1) return std::nullopt;
  Known zeros{in[0].dtype, {}, {}};
  int64_t count = 1;
  for (const Number& e : in[1].elements) {
    zeros.shape.push_back(e.whole.value);
    if (e.whole.value < 0 || e.whole.value > (1 << 20) || !may_be_known(zeros.dtype, count *= e.whole.value)) {
      return std::nullopt;
    }
  }
  zeros.elements.resize(static_cast<size_t>(count));
  return binary(n, {in[0], zeros}, BinaryRule::kAdd, false);
}

Result known_split(NodeContext& n, const std::vector<Known>& in) {
  if (in[0].shape.size() != 1 || n.integer("axis", 0) > 0) return std::nullopt;
  const int64_t size = in[0].shape[0];
  const int64_t count = static_cast<int64_t>(n.output_count());
  std::vector<int64_t> sizes = n.opset() < 13 ? n.integers("split") : std::vector<int64_t>();
  if (in.size() > 1) {
    if (!in[1].is_constant() || in[1].floating()) return std::nullopt;
    for (const Number& e : in[1].elements) sizes.push_back(e.whole.value);
  }
  if (sizes.empty() && count > 0 && size % count == 0) sizes.assign(static_cast<size_t>(count), size / count);
  std::vector<Known> parts;
  int64_t place = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - place) return std::nullopt;
    const auto first = in[0].elements.begin() + place;
    parts.push_back({in[0].dtype, {part}, {first, first + part}});
    place += part;
  }
  if (place != size || parts.size() != n.output_count()) return std::nullopt;
  return parts;
}

Result known_not(NodeContext&, const std::vector<Known>& in) {
  Known out = in[0];
  for (Number& e : out.elements) e.whole = Dim(e.whole.value == 0);
  return out.is_constant() && out.dtype == DType::kBool ? one(std::move(out)) : std::nullopt;
}

Result known_cast(NodeContext& n, const std::vector<Known>& in) {
  DType to = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(n.integer("to", 0)), &to)) return std::nullopt;
  std::optional<Known> out = known_as(in[0], to);
  return out.has_value() ? one(std::move(*out)) : std::nullopt;
}

Result known_concat(NodeContext&, const std::vector<Known>& in) {
  Known out;
  out.dtype = in[0].dtype;
  for (const Known& part : in) {
    if (part.shape.size() != 1 || part.dtype != out.dtype) return std::nullopt;
    out.elements.insert(out.elements.end(), part.elements.begin(), part.elements.end());
  }
  out.shape = {static_cast<int64_t>(out.elements.size())};
  return may_be_known(out.dtype, out.shape[0]) ? one(std::move(out)) : std::nullopt;
}

Result known_gather(NodeContext& n, const std::vector<Known>& in) {
  const Known& data = in[0];
  const Known& indices = in[1];
  if (data.shape.size() != 1 || !indices.is_constant() || indices.floating()) return std::nullopt;
  const int64_t axis = n.integer("axis", 0);
  const int64_t size = data.shape[0];
  if (axis != 0 && axis != -1) return std::nullopt;
  Known out{data.dtype, indices.shape, {}};
  for (const Number& index : indices.elements) {
    const int64_t i = index.whole.value < 0 ? index.whole.value + size : index.whole.value;
    if (i < 0 || i >= size) {
      n.invalid("index " + std::to_string(index.whole.value) + " lies outside the " + std::to_string(size) +
                " elements");
      return std::nullopt;
    }
    out.elements.push_back(data.elements[static_cast<size_t>(i)]);
  }
  return one(std::move(out));
}

/// The numbers of a 1-d input or attribute of Slice, clamped to int64.
std::vector<int64_t> whole_numbers(const Known& known) {
  std::vector<int64_t> numbers;
  for (const Number& e : known.elements) numbers.push_back(e.whole.value);
  return numbers;
}

Result known_slice(NodeContext& n, const std::vector<Known>& in) {
  if (n.opset() < 10 || in.size() < 3 || in[0].shape.size() != 1) return std::nullopt;
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].is_constant() || in[i].floating() || in[i].elements.size() != 1) return std::nullopt;
  }
  const int64_t size = in[0].shape[0];
  const int64_t step = in.size() > 4 ? whole_numbers(in[4])[0] : 1;
  if (step == 0 || step == INT64_MIN) return std::nullopt;
  const auto bound = [&](int64_t x, int64_t low, int64_t high) {
    return std::min(std::max(x < 0 ? x + size : x, low), high);
  };
  const int64_t start = bound(whole_numbers(in[1])[0], 0, step > 0 ? size : size - 1);
  const int64_t end = bound(whole_numbers(in[2])[0], step > 0 ? 0 : -1, size);
  Known out{in[0].dtype, {}, {}};
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
    out.elements.push_back(in[0].elements[static_cast<size_t>(i)]);
    if (step > size || step < -size) break;
  }
  out.shape = {static_cast<int64_t>(out.elements.size())};
  return one(std::move(out));
}

std::optional<std::vector<int64_t>> known_axes(NodeContext& n, const std::vector<Known>& in) {
  if (n.opset() < 13) return n.integers("axes");
  if (in.size() < 2) return std::vector<int64_t>();
  if (!in[1].is_constant() || in[1].floating()) return std::nullopt;
  return whole_numbers(in[1]);
}

Result known_squeeze(NodeContext& n, const std::vector<Known>& in) {
  const auto axes = known_axes(n, in);
  if (!axes.has_value()) return std::nullopt;
  Known out = in[0];
  const std::vector<int> positions = n.axes(*axes, static_cast<int>(out.shape.size()));
  out.shape.clear();
  for (size_t i = 0; i < in[0].shape.size(); ++i) {
    const bool named = std::find(positions.begin(), positions.end(), static_cast<int>(i)) != positions.end();
    if (named && in[0].shape[i] != 1) return std::nullopt;
    if (!named && (!axes->empty() || in[0].shape[i] != 1)) out.shape.push_back(in[0].shape[i]);
  }
  return one(std::move(out));
}

Result known_unsqueeze(NodeContext& n, const std::vector<Known>& in) {
  const auto axes = known_axes(n, in);
  if (!axes.has_value()) return std::nullopt;
  Known out = in[0];
  std::vector<int> positions = n.axes(*axes, static_cast<int>(out.shape.size() + axes->size()));
  std::sort(positions.begin(), positions.end());
  for (int position : positions) out.shape.insert(out.shape.begin() + position, 1);
  return n.ok() ? one(std::move(out)) : std::nullopt;
}

Result known_reshape(NodeContext& n, const std::vector<Known>& in) {
  if (!in[1].is_constant() || in[1].floating() || n.integer("allowzero", 0) != 0) return std::nullopt;
  Known out = in[0];
  out.shape = whole_numbers(in[1]);
  int64_t rest = static_cast<int64_t>(out.elements.size());
  int64_t* unknown = nullptr;
  for (size_t i = 0; i < out.shape.size(); ++i) {
    if (out.shape[i] == 0 && i < in[0].shape.size()) out.shape[i] = in[0].shape[i];
    if (out.shape[i] == -1 && unknown == nullptr) {
      unknown = &out.shape[i];
    } else if (out.shape[i] <= 0 || rest % out.shape[i] != 0) {
      return std::nullopt;
    } else {
      rest /= out.shape[i];
    }
  }
  if (unknown != nullptr) *unknown = rest;
  return unknown != nullptr || rest == 1 ? one(std::move(out)) : std::nullopt;
}

Result known_where(NodeContext&, const std::vector<Known>& in) {
  if (!in[0].is_constant() || in[1].shape != in[2].shape || in[1].dtype != in[2].dtype) return std::nullopt;
  const bool scalar = in[0].elements.size() == 1 && in[0].shape.size() <= in[1].shape.size();
  if (!scalar && in[0].shape != in[1].shape) return std::nullopt;
  Known out = in[1];
  for (size_t i = 0; i < out.elements.size(); ++i) {
    if (in[0].elements[scalar ? 0 : i].whole.value == 0) out.elements[i] = in[2].elements[i];
  }
  return one(std::move(out));
}

Result reduce(NodeContext& n, const std::vector<Known>& in, BinaryRule rule, Number start, bool may_be_empty) {
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
  return one(std::move(out));
}

Result known_reduce_prod(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMul, {Dim(1), 1.0}, true);
}
Result known_reduce_sum(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kAdd, {Dim(0), 0.0}, true);
}
Result known_reduce_max(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMax, {}, false);
}
Result known_reduce_min(NodeContext& n, const std::vector<Known>& in) {
  return reduce(n, in, BinaryRule::kMin, {}, false);
}

struct Rule {
  std::string_view name;
  Result (*evaluate)(NodeContext& n, const std::vector<Known>& in);
};

constexpr Rule kRules[] = {
    {"Abs", known_abs},
    {"Add", arithmetic<BinaryRule::kAdd>},
    {"And", comparison<BinaryRule::kAnd>},
    {"Cast", known_cast},
    {"Ceil", of_reals<std::ceil>},
    {"Concat", known_concat},
    {"Div", arithmetic<BinaryRule::kDiv>},
    {"Equal", comparison<BinaryRule::kEqual>},
    {"Expand", known_expand},
    {"Floor", of_reals<std::floor>},
    {"Gather", known_gather},
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
    {"Reshape", known_reshape},
    {"Round", of_reals<round_half_even>},
    {"Slice", known_slice},
    {"Split", known_split},
    {"Sqrt", of_reals<std::sqrt>},
    {"Squeeze", known_squeeze},
    {"Sub", arithmetic<BinaryRule::kSub>},
    {"Unsqueeze", known_unsqueeze},
    {"Where", known_where},
};

const Rule* find_rule(std::string_view name) {
  static const auto rules = [] {
    std::unordered_map<std::string_view, const Rule*> map;
    for (const Rule& rule : kRules) map.emplace(rule.name, &rule);
    return map;
  }();
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace

bool evaluate_known(NodeContext& n) {
  const Rule* rule = find_rule(n.node().op_type);
  if (rule == nullptr) return false;
  std::vector<Known> in;
  for (size_t i = 0; i < n.input_count(); ++i) {
    std::optional<Known> known = n.has_input(i) ? n.known(i) : std::nullopt;
    if (!known.has_value()) return false;
    in.push_back(std::move(*known));
  }
  Result results = rule->evaluate(n, in);
  if (!n.ok() || !results.has_value()) return false;
  for (size_t i = 0; i < results->size(); ++i) n.output(i, std::move((*results)[i]));
  return true;
}

}  // namespace berth::onnx
