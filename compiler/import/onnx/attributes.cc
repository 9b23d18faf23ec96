// What a node says about itself: its attributes.
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

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

const Graph* NodeContext::graph(std::string_view name) {
  const Attribute* a = attribute(name);
  if (a != nullptr && a->graph != nullptr) return a->graph.get();
  invalid("attribute '" + std::string(name) + "' must be a graph");
  return nullptr;
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

ValueId NodeContext::constant_attribute(std::string_view name) {
  const Attribute* a = attribute(name);
  if (!has_type(*this, name, a, AttributeType::kTensor, "a tensor") || a->tensors.empty()) return {};
  auto literal = state_.literals.read(a->tensors[0]);
  if (!literal.ok()) {
    fail(literal.error().code, literal.error().text());
    return {};
  }
  return constant(std::move(literal->type), std::move(literal->blob));
}

}  // namespace berth::onnx
