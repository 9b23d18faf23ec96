// What a node may ask about types, and its attributes.
#include <algorithm>

#include "compiler/import/onnx/node_context.h"
#include "compiler/ir/print.h"

namespace berth::onnx {

DType NodeContext::dtype(ValueId v) const { return v.valid() ? state_.method.tensor(v).dtype : DType::kF32; }

std::vector<Dim> NodeContext::shape(ValueId v) const {
  return v.valid() ? state_.method.tensor(v).shape : std::vector<Dim>();
}

int NodeContext::rank(ValueId v) const { return v.valid() ? state_.method.tensor(v).rank() : 0; }

Dim NodeContext::dim(ValueId v, int axis) const {
  return axis >= 0 && axis < rank(v) ? state_.method.tensor(v).shape[static_cast<size_t>(axis)] : Dim(1);
}

Dim NodeContext::product(const std::vector<Dim>& shape, int first, int last) {
  Dim result(1);
  for (int i = first; i < last && i < static_cast<int>(shape.size()); ++i) {
    result = symbols().mul(result, shape[static_cast<size_t>(i)]);
  }
  return result;
}

std::string NodeContext::type_text(ValueId v) const {
  return v.valid() ? ir::print(state_.method.value(v).type, state_.module.symbols) : "nothing";
}

int64_t NodeContext::fixed(Dim dim, const char* what) {
  if (dim.is_constant()) return dim.value;
  unsupported(std::string(what) + " must be a number here, found " + symbols().text(dim) +
              "; give the input a fixed shape with --input-shape");
  return 1;
}

int NodeContext::axis(int64_t axis, int rank) {
  if (!ok()) return 0;
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  invalid("axis " + std::to_string(axis) + " does not exist in a tensor of " + std::to_string(rank) + " dimensions");
  return 0;
}

std::vector<int> NodeContext::axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  for (int64_t a : axes) {
    const int position = axis(a, rank);
    if (std::find(result.begin(), result.end(), position) != result.end()) {
      invalid("axis " + std::to_string(a) + " is named twice");
    }
    if (!ok()) return {};
    result.push_back(position);
  }
  return result;
}

const Attribute* NodeContext::attribute(std::string_view name) const {
  for (const auto& [key, attribute] : attributes_) {
    if (key == name) return attribute;
  }
  return nullptr;
}

namespace {

bool has_type(NodeContext& n, std::string_view name, const Attribute* attribute, AttributeType type,
              const char* type_name) {
  if (attribute == nullptr) return false;
  if (attribute->type == type) return true;
  n.invalid("attribute '" + std::string(name) + "' must be " + type_name);
  return false;
}

}  // namespace

int64_t NodeContext::integer(std::string_view name, int64_t fallback) {
  const Attribute* a = attribute(name);
  return has_type(*this, name, a, AttributeType::kInt, "an integer") ? a->i : fallback;
}

double NodeContext::number(std::string_view name, double fallback) {
  const Attribute* a = attribute(name);
  return has_type(*this, name, a, AttributeType::kFloat, "a float") ? static_cast<double>(a->f) : fallback;
}

std::string NodeContext::text(std::string_view name, std::string_view fallback) {
  const Attribute* a = attribute(name);
  return std::string(has_type(*this, name, a, AttributeType::kString, "a string") ? a->s : fallback);
}

std::vector<int64_t> NodeContext::integers(std::string_view name, const std::vector<int64_t>& fallback) {
  const Attribute* a = attribute(name);
  return has_type(*this, name, a, AttributeType::kInts, "a list of integers") ? a->ints : fallback;
}

std::vector<double> NodeContext::numbers(std::string_view name) {
  const Attribute* a = attribute(name);
  if (!has_type(*this, name, a, AttributeType::kFloats, "a list of floats")) return {};
  return std::vector<double>(a->floats.begin(), a->floats.end());
}

std::vector<std::string> NodeContext::texts(std::string_view name) {
  const Attribute* a = attribute(name);
  if (!has_type(*this, name, a, AttributeType::kStrings, "a list of strings")) return {};
  return std::vector<std::string>(a->strings.begin(), a->strings.end());
}

std::optional<Known> NodeContext::known_attribute(std::string_view name) {
  const Attribute* a = attribute(name);
  if (!has_type(*this, name, a, AttributeType::kTensor, "a tensor") || a->tensors.empty()) return std::nullopt;
  auto literal = state_.literals.read(a->tensors[0]);
  if (!literal.ok()) {
    fail(literal.error().code, literal.error().text());
    return std::nullopt;
  }
  return known_of(ir::Constant{"", std::move(literal->type), std::move(literal->blob)});
}

}  // namespace berth::onnx
