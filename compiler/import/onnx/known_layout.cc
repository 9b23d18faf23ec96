// Shape arithmetic that picks, joins and repeats elements.
#include <algorithm>

#include "compiler/import/onnx/known_math.h"
#include "compiler/import/onnx/known_rules.h"

namespace berth::onnx {
namespace {

/// The elements of a known input, which is constant and of integers.
std::vector<int64_t> whole_numbers(const Known& known) {
  std::vector<int64_t> numbers;
  for (const Number& e : known.elements) numbers.push_back(e.whole.value);
  return numbers;
}

KnownResult known_expand(NodeContext& n, const std::vector<Known>& in) {
  if (!in[1].is_constant() || in[1].floating() || in[1].shape.size() != 1) return std::nullopt;
  Known zeros{in[0].dtype, {}, {}};
  int64_t count = 1;
  for (const Number& e : in[1].elements) {
    zeros.shape.push_back(e.whole.value);
    if (e.whole.value < 0 || e.whole.value > (1 << 20) || !may_be_known(zeros.dtype, count *= e.whole.value)) {
      return std::nullopt;
    }
  }
  zeros.elements.resize(count);
  std::optional<Known> sum = broadcast(n.symbols(), in[0], zeros, BinaryRule::kAdd);
  return sum.has_value() ? one_known(std::move(*sum)) : std::nullopt;
}

KnownResult known_split(NodeContext& n, const std::vector<Known>& in) {
  if (in[0].shape.size() != 1 || n.integer("axis", 0) > 0) return std::nullopt;
  const int64_t size = in[0].shape[0];
  const int64_t count = static_cast<int64_t>(n.output_count());
  std::vector<int64_t> sizes = n.opset() < 13 ? n.integers("split") : std::vector<int64_t>();
  if (in.size() > 1) {
    if (!in[1].is_constant() || in[1].floating()) return std::nullopt;
    for (const Number& e : in[1].elements) sizes.push_back(e.whole.value);
  }
  if (sizes.empty() && count > 0 && size % count == 0) sizes.assign(count, size / count);
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

KnownResult known_concat(NodeContext&, const std::vector<Known>& in) {
  Known out;
  out.dtype = in[0].dtype;
  for (const Known& part : in) {
    if (part.shape.size() != 1 || part.dtype != out.dtype) return std::nullopt;
    out.elements.insert(out.elements.end(), part.elements.begin(), part.elements.end());
  }
  out.shape = {static_cast<int64_t>(out.elements.size())};
  return may_be_known(out.dtype, out.shape[0]) ? one_known(std::move(out)) : std::nullopt;
}

KnownResult known_gather(NodeContext& n, const std::vector<Known>& in) {
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
    out.elements.push_back(data.elements[i]);
  }
  return one_known(std::move(out));
}

// Of numbers of an axis, as exporters write `repeat_interleave`: one size where the axis is, ones elsewhere.
KnownResult known_one_hot(NodeContext& n, const std::vector<Known>& in) {
  const Known& indices = in[0];
  const Known& values = in[2];  // where the index is not, and where it is
  if (!indices.is_constant() || indices.floating() || !in[1].is_constant() || in[1].floating()) return std::nullopt;
  if (in[1].elements.size() != 1 || values.elements.size() != 2) return std::nullopt;
  const int64_t axis = n.integer("axis", -1);
  if (axis != -1 && axis != static_cast<int64_t>(indices.shape.size())) return std::nullopt;
  const int64_t depth = whole_numbers(in[1])[0];
  const auto count = static_cast<int64_t>(indices.elements.size());
  if (depth < 1 || depth > static_cast<int64_t>(kMaxKnownIntegers) || !may_be_known(values.dtype, depth * count)) {
    return std::nullopt;
  }
  Known out{values.dtype, indices.shape, {}};
  out.shape.push_back(depth);
  for (const int64_t index : whole_numbers(indices)) {
    const int64_t at = index < 0 ? index + depth : index;
    for (int64_t i = 0; i < depth; ++i) out.elements.push_back(values.elements[i == at ? 1 : 0]);
  }
  return one_known(std::move(out));
}

// One slice along one axis: of sizes, and of the pairs of sizes that exporters of padding turn round.
KnownResult known_slice(NodeContext& n, const std::vector<Known>& in) {
  // Without elements the sizes may be any, and their products overflow.
  if (n.opset() < 10 || in.size() < 3 || in[0].shape.empty() || in[0].elements.empty()) return std::nullopt;
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].is_constant() || in[i].floating() || in[i].elements.size() != 1) return std::nullopt;
  }
  const std::vector<int64_t> named = {in.size() > 3 ? whole_numbers(in[3])[0] : 0};
  const std::vector<int> axes = n.axes(named, static_cast<int>(in[0].shape.size()));
  if (!n.ok()) return std::nullopt;
  const size_t axis = axes[0];
  const int64_t size = in[0].shape[axis];
  const int64_t step = in.size() > 4 ? whole_numbers(in[4])[0] : 1;
  if (step == 0 || step == INT64_MIN) return std::nullopt;
  const auto bound = [&](int64_t x, int64_t low, int64_t high) {
    return std::min(std::max(x < 0 ? x + size : x, low), high);
  };
  const int64_t start = bound(whole_numbers(in[1])[0], 0, step > 0 ? size : size - 1);
  const int64_t end = bound(whole_numbers(in[2])[0], step > 0 ? 0 : -1, size);
  std::vector<int64_t> taken;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
    taken.push_back(i);
    if (step > size || step < -size) break;
  }
  int64_t inner = 1;
  for (size_t d = axis + 1; d < in[0].shape.size(); ++d) inner *= in[0].shape[d];
  const int64_t row = size * inner;
  Known out{in[0].dtype, in[0].shape, {}};
  out.shape[axis] = static_cast<int64_t>(taken.size());
  for (int64_t at = 0; row > 0 && at < static_cast<int64_t>(in[0].elements.size()); at += row) {
    for (const int64_t i : taken) {
      const auto first = in[0].elements.begin() + at + i * inner;
      out.elements.insert(out.elements.end(), first, first + inner);
    }
  }
  return one_known(std::move(out));
}

KnownResult known_transpose(NodeContext& n, const std::vector<Known>& in) {
  if (in[0].elements.empty()) return std::nullopt;
  const size_t rank = in[0].shape.size();
  std::vector<int64_t> order = n.integers("perm");
  for (size_t d = rank; order.size() < rank && d-- > 0;) order.push_back(static_cast<int64_t>(d));
  std::vector<int64_t> strides(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * in[0].shape[d];
  std::vector<bool> seen(rank);
  Known out{in[0].dtype, {}, {}};
  std::vector<int64_t> steps;
  for (const int64_t d : order) {
    if (order.size() != rank || d < 0 || d >= static_cast<int64_t>(rank) || seen[d]) {
      return std::nullopt;
    }
    seen[d] = true;
    out.shape.push_back(in[0].shape[d]);
    steps.push_back(strides[d]);
  }
  for (size_t i = 0; i < in[0].elements.size(); ++i) {
    int64_t place = 0;
    int64_t rest = static_cast<int64_t>(i);
    for (size_t d = rank; d-- > 0; rest /= out.shape[d]) place += rest % out.shape[d] * steps[d];
    out.elements.push_back(in[0].elements[place]);
  }
  return one_known(std::move(out));
}

std::optional<std::vector<int64_t>> known_axes(NodeContext& n, const std::vector<Known>& in) {
  if (n.opset() < 13) return n.integers("axes");
  if (in.size() < 2) return std::vector<int64_t>();
  if (!in[1].is_constant() || in[1].floating()) return std::nullopt;
  return whole_numbers(in[1]);
}

KnownResult known_squeeze(NodeContext& n, const std::vector<Known>& in) {
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
  return one_known(std::move(out));
}

KnownResult known_unsqueeze(NodeContext& n, const std::vector<Known>& in) {
  const auto axes = known_axes(n, in);
  if (!axes.has_value()) return std::nullopt;
  Known out = in[0];
  std::vector<int> positions = n.axes(*axes, static_cast<int>(out.shape.size() + axes->size()));
  std::sort(positions.begin(), positions.end());
  for (int position : positions) out.shape.insert(out.shape.begin() + position, 1);
  return n.ok() ? one_known(std::move(out)) : std::nullopt;
}

KnownResult known_reshape(NodeContext& n, const std::vector<Known>& in) {
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
  return unknown != nullptr || rest == 1 ? one_known(std::move(out)) : std::nullopt;
}

KnownResult known_where(NodeContext&, const std::vector<Known>& in) {
  if (!in[0].is_constant() || in[1].shape != in[2].shape || in[1].dtype != in[2].dtype) return std::nullopt;
  const bool scalar = in[0].elements.size() == 1 && in[0].shape.size() <= in[1].shape.size();
  if (!scalar && in[0].shape != in[1].shape) return std::nullopt;
  Known out = in[1];
  for (size_t i = 0; i < out.elements.size(); ++i) {
    if (in[0].elements[scalar ? 0 : i].whole.value == 0) out.elements[i] = in[2].elements[i];
  }
  return one_known(std::move(out));
}

constexpr KnownRule kLayoutRules[] = {
    {"Concat", known_concat},       {"Expand", known_expand},   {"Gather", known_gather},
    {"OneHot", known_one_hot},      {"Reshape", known_reshape}, {"Slice", known_slice},
    {"Split", known_split},         {"Squeeze", known_squeeze}, {"Transpose", known_transpose},
    {"Unsqueeze", known_unsqueeze}, {"Where", known_where},
};

}  // namespace

Span<const KnownRule> known_layout_rules() { return kLayoutRules; }

}  // namespace berth::onnx
