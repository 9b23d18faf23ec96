#include "compiler/import/onnx/node_context.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/print.h"

namespace berth::onnx {

namespace {

// Loops that are unrolled (steps of an LSTM, columns of indices) come from sizes that a small file can make large.
constexpr size_t kMaxOperators = size_t{1} << 20;

}  // namespace

std::string node_source(const Node& node, std::string_view caller) {
  std::string name = caller.empty() ? "" : std::string(caller) + "/";
  if (!node.name.empty()) return name + std::string(node.name);
  name += node.op_type;
  for (std::string_view output : node.outputs) {
    if (!output.empty()) return name + " of " + std::string(output);
  }
  return name;
}

NodeContext::NodeContext(ImportState& state, Scope& scope, const Node& node, AttributeList attributes, int64_t opset,
                         std::string source)
    : state_(state),
      scope_(scope),
      node_(node),
      attributes_(std::move(attributes)),
      opset_(opset),
      source_(std::move(source)),
      first_new_value_(state.method.values.size()) {}

void NodeContext::fail(Error code, std::string message) {
  if (failure_.has_value()) return;
  failure_ = Failure{code, "onnx node \"" + source_ + "\"", std::string(node_.op_type) + ": " + std::move(message)};
}

// Inputs ------------------------------------------------------------------------------------------------------------

Operand* NodeContext::operand(size_t i) {
  if (!ok()) return nullptr;
  if (!has_input(i)) {
    invalid("input " + std::to_string(i) + " is missing");
    return nullptr;
  }
  Operand* found = scope_.find(node_.inputs[i]);
  if (found == nullptr) {
    invalid("input \"" + std::string(node_.inputs[i]) +
            "\" is not defined before this node; nodes must stand in topological order");
    return nullptr;
  }
  if (found->id.valid() || found->known.has_value()) return found;
  auto literal = found->initializer != nullptr ? state_.literals.read(*found->initializer)
                                               : state_.literals.read(*found->sparse_initializer);
  if (!literal.ok()) {
    failure_ = literal.error();
    return nullptr;
  }
  // Small ones may be nothing but sizes; they become constants only where a tensor is asked for.
  const ir::Constant constant{"", std::move(literal->type), std::move(literal->blob)};
  found->known = known_of(constant);
  if (!found->known.has_value()) found->id = state_.build.constant(constant.type, constant.blob, node_.inputs[i]);
  return found;
}

ValueId NodeContext::input(size_t i) {
  Operand* found = operand(i);
  if (found == nullptr) return {};
  if (!found->id.valid()) found->id = materialize(*found->known, node_.inputs[i]);
  return found->id;
}

bool NodeContext::is_nibbles(size_t i) {
  const Operand* found = operand(i);
  if (found == nullptr || found->initializer == nullptr) return false;
  const int32_t type = found->initializer->element_type;
  return type == static_cast<int32_t>(ElementType::kInt4) || type == static_cast<int32_t>(ElementType::kUint4);
}

ValueList NodeContext::all_inputs() {
  ValueList values;
  for (size_t i = 0; i < input_count(); ++i) values.push_back(input(i));
  return values;
}

std::optional<Known> NodeContext::known(size_t i) {
  Operand* found = operand(i);
  if (found == nullptr) return std::nullopt;
  if (found->known.has_value()) return found->known;
  const ir::Constant* constant = ir::constant_of(state_.module, state_.method, found->id);
  return constant == nullptr ? std::nullopt : known_of(*constant);
}

DimList NodeContext::known_dims(size_t i, const char* what) {
  const std::optional<Known> elements = known(i);
  if (!ok()) return {};
  if (!elements.has_value() || elements->floating() || elements->shape.size() > 1) {
    fail(Error::kNotSupported, std::string(what) + " (input " + std::to_string(i) +
                                   ") must be known when the model is compiled; here it depends on the data");
    return {};
  }
  DimList dims;
  for (const Number& number : elements->elements) dims.push_back(number.whole);
  return dims;
}

std::vector<int64_t> NodeContext::known_integers(size_t i, const char* what) {
  std::vector<int64_t> numbers;
  for (Dim d : known_dims(i, what)) numbers.push_back(fixed(d, what));
  return numbers;
}

double NodeContext::known_number(size_t i, const char* what) {
  const std::optional<Known> elements = known(i);
  if (!ok()) return 0;
  if (!elements.has_value() || elements->elements.size() != 1 || !elements->is_constant()) {
    unsupported(std::string(what) + " (input " + std::to_string(i) +
                ") must be one number that is known when the model is compiled; here it depends on the data");
    return 0;
  }
  const Number& number = elements->elements[0];
  return elements->floating() ? number.real : static_cast<double>(number.whole.value);
}

int64_t NodeContext::known_integer(size_t i, const char* what) {
  const double number = known_number(i, what);
  if (!ok()) return 0;
  if (!(std::abs(number) <= 4.6e18)) {
    invalid(std::string(what) + " is no integer of 64 bits");
    return 0;
  }
  const std::optional<Known> exact = known(i);
  return exact->floating() ? static_cast<int64_t>(number) : exact->elements[0].whole.value;
}

ValueId NodeContext::materialize(const Known& known, std::string_view name) {
  std::vector<Dim> shape(known.shape.begin(), known.shape.end());
  if (known.is_constant()) {
    ir::TensorType type;
    type.dtype = known.dtype;
    type.shape = std::move(shape);
    return state_.build.constant(std::move(type), ir::Blob::owned(bytes_of(known)), name);
  }
  ValueList parts;
  for (const Number& number : known.elements) {
    const std::vector<Argument> args{DimList{Dim(1)}, number.whole, Dim(static_cast<int64_t>(known.dtype))};
    parts.push_back(append(OpId::full_out, args, std::string(name) + ".size"));
  }
  const ValueId line = parts.size() == 1 ? parts[0] : append(OpId::cat_out, {parts, Dim(0)}, name);
  const ValueId result = view(line, std::move(shape));
  if (ok()) state_.method.rename(result, name);
  return result;
}

// Types -------------------------------------------------------------------------------------------------------------

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

// Attributes --------------------------------------------------------------------------------------------------------

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

std::vector<int64_t> NodeContext::integers(std::string_view name, std::vector<int64_t> fallback) {
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

// Building ----------------------------------------------------------------------------------------------------------

bool NodeContext::may_append() {
  if (state_.method.nodes.size() >= kMaxOperators) {
    fail(Error::kOutOfResources, "the model becomes more than " + std::to_string(kMaxOperators) + " operators");
  }
  return ok();
}

ValueId NodeContext::append(OpId id, std::vector<Argument> args, std::string_view name) {
  if (!may_append()) return {};
  auto result = state_.build.one(id, std::move(args), source_, name);
  if (result.ok()) return *result;
  fail(result.error().code, result.error().text());
  return {};
}

std::vector<ValueId> NodeContext::ops(OpId id, std::vector<Argument> args) {
  if (!may_append()) return {};
  // "y.mm": intermediate values are named after what they lead to.
  const std::string_view operator_name = ir::operator_of(id).name;
  std::string wish(node_.outputs.empty() ? node_.op_type : node_.outputs[0]);
  wish += "." + std::string(operator_name.substr(operator_name.rfind(':') + 1));
  auto results = state_.build.create(id, std::move(args), source_, wish);
  if (results.ok()) return std::move(*results);
  fail(results.error().code, results.error().text());
  return {};
}

ValueId NodeContext::op(OpId id, std::vector<Argument> args) {
  const std::vector<ValueId> results = ops(id, std::move(args));
  return results.empty() ? ValueId() : results[0];
}

ValueId NodeContext::splat(DType dtype, std::vector<Dim> shape, double number) {
  return ok() ? state_.build.splat(dtype, std::move(shape), number, source_) : ValueId();
}

ValueId NodeContext::ints(const std::vector<int64_t>& numbers) {
  return ok() ? state_.build.ints(numbers, source_) : ValueId();
}

ValueId NodeContext::constant(ir::TensorType type, ir::Blob blob) {
  const std::string_view wish = wants_output(0) ? node_.outputs[0] : std::string_view(source_);
  return ok() ? state_.build.constant(std::move(type), std::move(blob), wish) : ValueId();
}

ValueId NodeContext::cast(ValueId x, DType type) {
  if (!ok() || dtype(x) == type) return x;
  return op(OpId::to_dim_order_copy_out, {x, false, None(), Dim(static_cast<int64_t>(type))});
}

ValueId NodeContext::view(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::view_copy_out, {x, std::move(size)});
}

ValueId NodeContext::permute(ValueId x, const std::vector<int64_t>& order) {
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) same = same && order[i] == static_cast<int64_t>(i);
  if (!ok() || same) return x;
  return op(OpId::permute_copy_out, {x, ir::dims(order)});
}

ValueId NodeContext::expand(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::expand_copy_out, {x, std::move(size)});
}

ValueId NodeContext::pad_rank(ValueId x, int to) {
  std::vector<Dim> size = shape(x);
  if (static_cast<int>(size.size()) >= to) return x;
  size.insert(size.begin(), static_cast<size_t>(to) - size.size(), Dim(1));
  return view(x, std::move(size));
}

// Outputs -----------------------------------------------------------------------------------------------------------

void NodeContext::output(size_t i, ValueId value) {
  if (!ok() || !wants_output(i)) return;
  if (!value.valid()) return fail(Error::kInternal, "output " + std::to_string(i) + " was not computed");
  if (static_cast<size_t>(value.index) >= first_new_value_ && state_.method.value(value).kind == ir::ValueKind::kNode) {
    state_.method.rename(value, node_.outputs[i]);
  }
  Operand operand;
  operand.id = value;
  scope_.operands[node_.outputs[i]] = std::move(operand);
}

void NodeContext::output(size_t i, Known known) {
  if (!ok() || !wants_output(i)) return;
  Operand operand;
  operand.known = std::move(known);
  scope_.operands[node_.outputs[i]] = std::move(operand);
}

void NodeContext::output_literal() {
  const Attribute* dense = attribute("value");
  const Attribute* sparse = attribute("sparse_value");
  Operand operand;
  if (dense != nullptr && dense->type == AttributeType::kTensor && !dense->tensors.empty()) {
    operand.initializer = &dense->tensors[0];
  } else if (sparse != nullptr && sparse->type == AttributeType::kSparseTensor && !sparse->sparses.empty()) {
    operand.sparse_initializer = &sparse->sparses[0];
  } else {
    return invalid("has no attribute that gives its value");
  }
  if (ok() && wants_output(0)) scope_.operands[node_.outputs[0]] = operand;
}

void NodeContext::forward(size_t i, size_t j) {
  const Operand* from = operand(j);
  if (from == nullptr || !wants_output(i)) return;
  Operand copy = *from;
  scope_.operands[node_.outputs[i]] = std::move(copy);
}

int NodeContext::uses(std::string_view name) const {
  const auto found = scope_.uses.find(name);
  return found == scope_.uses.end() ? 0 : found->second;
}

const ir::Node* NodeContext::producer(ValueId v) const {
  if (!v.valid()) return nullptr;
  const ir::Value& value = state_.method.value(v);
  return value.kind == ir::ValueKind::kNode ? &state_.method.node(value.node) : nullptr;
}

}  // namespace berth::onnx
