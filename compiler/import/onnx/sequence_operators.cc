// Sequences of tensors and optional values: resolved while importing, so that nothing of them is left in the program.
// How many elements there are must therefore be known, and which one is meant.
#include <algorithm>

#include "compiler/import/onnx/import_graph.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

using Elements = std::vector<Operand>;

constexpr int64_t kMaxElementsOfSequence = 4096;

// What sequences may take together is bounded: each insertion makes another one.
Operand sequence_of(NodeContext& n, Elements elements) {
  Operand operand;
  if (!n.state().literals.reserve(elements.size() * sizeof(Operand))) {
    n.fail(Error::kOutOfResources, "the model's sequences are too long");
    elements.clear();
  }
  operand.sequence = std::make_shared<const Elements>(std::move(elements));
  return operand;
}

/// The elements of input `i`; empty after a failure.
Elements elements_of(NodeContext& n, size_t i) {
  const Operand operand = n.input_operand(i);
  if (!n.ok()) return {};
  if (operand.sequence == nullptr) {
    n.invalid("input " + std::to_string(i) + " must be a sequence");
    return {};
  }
  return *operand.sequence;
}

/// Input `i` as a place among `count`, of which negative ones count from the end.
size_t place_among(NodeContext& n, size_t i, size_t count) {
  const int64_t place = n.known_integer(i, "the position");
  const int64_t size = static_cast<int64_t>(count);
  if (n.ok() && (place < -size || place >= size)) {
    n.invalid("position " + std::to_string(place) + " lies outside of " + std::to_string(size) + " elements");
  }
  return n.ok() ? (place < 0 ? place + size : place) : 0;
}

void import_sequence_empty(NodeContext& n) { n.output(0, sequence_of(n, {})); }

void import_sequence_construct(NodeContext& n) {
  Elements elements;
  for (size_t i = 0; i < n.input_count() && n.ok(); ++i) {
    elements.push_back(n.input_operand(i));
    if (n.ok() && !elements.back().is_tensor()) return n.unsupported("sequences of sequences");
  }
  n.output(0, sequence_of(n, std::move(elements)));
}

void import_sequence_at(NodeContext& n) {
  const Elements elements = elements_of(n, 0);
  const size_t place = place_among(n, 1, elements.size());
  if (n.ok()) n.output(0, elements[place]);
}

void import_sequence_insert(NodeContext& n) {
  Elements elements = elements_of(n, 0);
  const Operand added = n.input_operand(1);
  const size_t place = n.has_input(2) ? place_among(n, 2, elements.size() + 1) : elements.size();
  if (n.ok() && static_cast<int64_t>(elements.size()) >= kMaxElementsOfSequence) {
    return n.fail(Error::kOutOfResources, "a sequence of more than 4096 elements");
  }
  if (!n.ok()) return;
  // A negative place counts from the end of what is there.
  const bool from_end = n.has_input(2) && n.known_integer(2, "the position") < 0;
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place) - (from_end ? 1 : 0), added);
  n.output(0, sequence_of(n, std::move(elements)));
}

void import_sequence_erase(NodeContext& n) {
  Elements elements = elements_of(n, 0);
  if (n.ok() && elements.empty()) return n.invalid("the sequence is empty");
  const size_t place = n.has_input(1) ? place_among(n, 1, elements.size()) : elements.size() - 1;
  if (!n.ok()) return;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  n.output(0, sequence_of(n, std::move(elements)));
}

void import_sequence_length(NodeContext& n) {
  const int64_t length = static_cast<int64_t>(elements_of(n, 0).size());
  n.output(0, Known{DType::kI64, {}, {Number{Dim(length), 0}}});
}

/// Numbers beside numbers: lists of sizes that exporters put together this way.
std::optional<Known> joined(const Elements& elements, bool new_axis) {
  Known all;
  for (const Operand& e : elements) {
    if (!e.known.has_value() || e.known->shape.size() != (new_axis ? 0 : 1)) return std::nullopt;
    if (!all.elements.empty() && e.known->dtype != all.dtype) return std::nullopt;
    all.dtype = e.known->dtype;
    all.elements.insert(all.elements.end(), e.known->elements.begin(), e.known->elements.end());
  }
  all.shape = {static_cast<int64_t>(all.elements.size())};
  if (!may_be_known(all.dtype, all.shape[0])) return std::nullopt;
  return all;
}

void import_concat_from_sequence(NodeContext& n) {
  const Elements elements = elements_of(n, 0);
  if (n.ok() && elements.empty()) return n.invalid("the sequence is empty");
  if (n.ok() && !n.has_attribute("axis")) return n.invalid("needs the attribute 'axis'");
  if (!n.ok()) return;
  const bool new_axis = n.integer("new_axis", 0) != 0;
  if (std::optional<Known> known = joined(elements, new_axis)) return n.output(0, std::move(*known));
  ValueList parts;
  for (const Operand& e : elements) parts.push_back(n.tensor_of(e));
  const int axis = n.axis(n.integer("axis", 0), n.rank(parts[0]) + (new_axis ? 1 : 0));
  n.output(0, n.op(new_axis ? OpId::stack_out : OpId::cat_out, {parts, Dim(axis)}));
}

/// The sizes of the parts; empty after a failure.
DimList part_sizes(NodeContext& n, ValueId x, int axis) {
  const std::optional<Known> split = n.has_input(1) ? n.known(1) : std::nullopt;
  if (n.ok() && n.has_input(1) && (!split.has_value() || !split->is_constant() || split->floating())) {
    n.unsupported("the sizes of the parts (input 1) must be known when the model is compiled");
  }
  if (!n.ok()) return {};
  DimList sizes;
  if (split.has_value() && split->shape.size() == 1) {
    for (const Number& number : split->elements) sizes.push_back(number.whole);
    return sizes;
  }
  const int64_t each = split.has_value() && !split->elements.empty() ? split->elements[0].whole.value : 1;
  const int64_t size = n.fixed(n.dim(x, axis), "the size of what is split");
  if (n.ok() && (each < 1 || (size + each - 1) / each > kMaxElementsOfSequence)) {
    n.invalid("parts must be at least 1 long, and at most 4096");
  }
  for (int64_t at = 0; n.ok() && at < size; at += each) sizes.emplace_back(std::min(each, size - at));
  return sizes;
}

void import_split_to_sequence(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  const DimList sizes = part_sizes(n, x, axis);
  const bool drop = !n.has_input(1) && n.integer("keepdims", 1) == 0;
  const std::vector<ValueId> parts = n.ops(OpId::split_with_sizes_copy_out, {x, sizes, Dim(axis)});
  Elements elements;
  for (ValueId part : parts) {
    std::vector<Dim> shape = n.shape(part);
    if (drop && n.ok()) shape.erase(shape.begin() + axis);
    elements.emplace_back();
    elements.back().id = n.view(part, shape);
  }
  n.output(0, sequence_of(n, std::move(elements)));
}

// The body once for each element of the first input; other sequences are as long, tensors stay the same.
void import_sequence_map(NodeContext& n) {
  const Graph* body = n.graph("body");
  const size_t length = elements_of(n, 0).size();
  std::vector<Operand> inputs;
  for (size_t i = 0; i < n.input_count() && n.ok(); ++i) {
    inputs.push_back(n.input_operand(i));
    if (n.ok() && inputs[i].sequence != nullptr && inputs[i].sequence->size() != length) {
      return n.invalid("its sequences differ in length");
    }
  }
  if (n.ok() && body->outputs.size() < n.output_count())
    return n.invalid("its body gives less than the node has results");
  if (!n.ok()) return;
  std::vector<Elements> results(n.output_count());
  for (size_t k = 0; k < length; ++k) {
    std::vector<Operand> arguments;
    for (const Operand& input : inputs) arguments.push_back(input.sequence == nullptr ? input : (*input.sequence)[k]);
    const std::vector<Operand> outputs = n.state().importer->import_within(n, *body, arguments, nullptr);
    if (!n.ok()) return;
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(outputs[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) n.output(i, sequence_of(n, std::move(results[i])));
}

void import_optional(NodeContext& n) {
  if (n.has_input(0)) return n.forward(0, 0);
  Operand nothing;
  nothing.is_nothing = true;
  n.output(0, std::move(nothing));
}

void import_optional_has_element(NodeContext& n) {
  const bool has = n.has_input(0) && !n.input_operand(0).is_nothing;
  n.output(0, Known{DType::kBool, {}, {Number{Dim(has ? 1 : 0), 0}}});
}

void import_optional_get_element(NodeContext& n) {
  if (n.input_operand(0).is_nothing) return n.invalid("the optional value holds nothing");
  n.forward(0, 0);
}

constexpr OperatorRow kSequenceRows[] = {
    {"ConcatFromSequence", 1, 1, import_concat_from_sequence},
    {"Optional", 0, 1, import_optional},
    {"OptionalGetElement", 1, 1, import_optional_get_element},
    {"OptionalHasElement", 0, 1, import_optional_has_element},
    {"SequenceAt", 2, 2, import_sequence_at},
    {"SequenceConstruct", 1, kVariadic, import_sequence_construct},
    {"SequenceEmpty", 0, 0, import_sequence_empty},
    {"SequenceErase", 1, 2, import_sequence_erase},
    {"SequenceInsert", 2, 3, import_sequence_insert},
    {"SequenceLength", 1, 1, import_sequence_length},
    {"SequenceMap", 1, kVariadic, import_sequence_map},
    {"SplitToSequence", 1, 2, import_split_to_sequence},
};

}  // namespace

OperatorTable sequence_operators() { return kSequenceRows; }

}  // namespace berth::onnx
