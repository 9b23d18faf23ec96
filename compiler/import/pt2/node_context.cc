#include "compiler/import/pt2/node_context.h"

#include <algorithm>

namespace berth::pt2 {
namespace {

std::string first_output(const Node& node) {
  for (const Argument& output : node.outputs) {
    for (const std::string& name : output.names) {
      if (!name.empty()) return name;
    }
  }
  return {};
}

lowering::NodeName name_of(const Node& node) {
  lowering::NodeName name;
  std::string space;
  name.wish = first_output(node);
  const std::string own = !node.name.empty() ? node.name : !name.wish.empty() ? name.wish : node.target;
  const std::string written = written_at(node);
  name.place = "pt2 node \"" + own + "\"" + (written.empty() ? "" : " (" + written + ")");
  name.type = operator_name(node.target, &space);
  if (!space.empty()) name.type = space + "." + name.type;
  name.source = node.module_path.empty() ? own : node.module_path + "/" + own;
  if (name.wish.empty()) name.wish = own;
  return name;
}

std::string_view trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool is_outside_torch(std::string_view line) { return line.find("/torch/") == std::string_view::npos; }

// Arguments whose numbers become part of the result; others are indices, conditions, shapes.
bool is_data(std::string_view name) {
  for (const char* one :
       {"self", "other", "tensors", "tensor", "input", "value", "values", "source", "src", "fill_value", "s"}) {
    if (name == one) return true;
  }
  return false;
}

}  // namespace

// A stack trace has two lines a frame: `File "model.py", line 12, in forward` and the code; the innermost comes last.
std::string written_at(const Node& node) {
  std::string result;
  std::string_view rest = node.stack_trace;
  std::string_view file;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.rfind("File \"", 0) == 0) {
      file = line;
      if (is_outside_torch(file)) result = std::string(file);
    } else if (!line.empty() && line[0] != '^' && line[0] != '~' && !file.empty()) {
      if (is_outside_torch(file)) result = std::string(file) + ": " + std::string(line);
      file = {};
    }
  }
  constexpr size_t kMaxShown = 300;
  if (result.size() > kMaxShown) result = result.substr(0, kMaxShown) + "…";
  return result;
}

std::string operator_name(const std::string& target, std::string* space) {
  constexpr std::string_view kOps = "torch.ops.";
  if (target.rfind(kOps, 0) != 0) return target;
  const size_t dot = target.find('.', kOps.size());
  if (dot == std::string::npos) return target;
  *space = target.substr(kOps.size(), dot - kOps.size());
  return target.substr(dot + 1);
}

NodeContext::NodeContext(ImportState& state, ir::Builder& build, Scope& scope, const Graph& graph, const Node& node)
    : Lowering(build, name_of(node)),
      state_(state),
      scope_(scope),
      graph_(graph),
      node_(node),
      first_new_value_(state.method.values.next_id()) {
  for (const Argument& output : node.outputs) {
    if (output.names.empty() && output.kind != ArgumentKind::kTensors) outputs_.emplace_back();  // None
    outputs_.insert(outputs_.end(), output.names.begin(), output.names.end());
  }
  for (const NamedArgument& input : node.inputs) {
    const ArgumentKind kind = input.value.kind;
    const bool number =
        kind == ArgumentKind::kSymInt || kind == ArgumentKind::kSymFloat || kind == ArgumentKind::kSymBool;
    const auto found = number ? scope.find(input.value.names[0]) : scope.end();
    if (found == scope.end() || !std::holds_alternative<ValueId>(found->second.value)) continue;
    in_tensors_.push_back(input);
    in_tensors_.back().value.kind = ArgumentKind::kTensor;
  }
}

const Argument* NodeContext::argument(std::string_view name) const {
  for (const NamedArgument& input : in_tensors_) {
    if (input.name == name) return &input.value;
  }
  for (const NamedArgument& input : node_.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

bool NodeContext::has(std::string_view name) const {
  const Argument* a = argument(name);
  return a != nullptr && a->kind != ArgumentKind::kNone;
}

bool NodeContext::is_complex() const {
  for (const NamedArgument& input : node_.inputs) {
    if (input.value.kind == ArgumentKind::kComplex) return true;
    for (const std::string& name : input.value.names) {
      const auto found = scope_.find(name);
      if (found != scope_.end() && found->second.is_complex()) return true;
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorMeta* meta = output_meta(i);
    if (meta != nullptr && berth::is_complex(meta->dtype)) return true;
  }
  return false;
}

/// Tensor `i` of `argument`, or that part of it which is asked for.
IrArgument NodeContext::part_of(const Argument& argument, size_t i, std::string_view name) {
  const auto found = scope_.find(argument.names[i]);
  if (part_ != Part::kNone && found != scope_.end() && found->second.is_complex()) {
    return part_ == Part::kReal ? found->second.parts.real : found->second.parts.imaginary;
  }
  IrArgument whole = named_value(argument.names[i]);
  ValueId* tensor = std::get_if<ValueId>(&whole);
  if (floats_.has_value() && tensor != nullptr) {
    const DType type = Lowering::dtype(*tensor);
    if (is_floating(type) && type != DType::kF64) *tensor = cast(*tensor, *floats_);
  }
  if (part_ != Part::kImaginary || tensor == nullptr || !is_data(name)) return whole;
  return op(OpId::full_like_out, {*tensor, Dim(0), None(), number_of(Lowering::dtype(*tensor))});
}

Complex NodeContext::complex(std::string_view name, ValueId like) {
  const Argument* a = argument(name);
  if (a != nullptr && a->kind == ArgumentKind::kComplex) {
    const DType type = like.valid() ? Lowering::dtype(like) : DType::kF32;
    const ValueId real = splat(type, {}, a->floats[0]);
    return {real, splat(type, {}, a->floats[1])};
  }
  if (a != nullptr && a->kind == ArgumentKind::kTensor) {
    const auto found = scope_.find(a->names[0]);
    if (found != scope_.end() && found->second.is_complex()) return found->second.parts;
  }
  const Part part = std::exchange(part_, Part::kNone);
  ValueId real = tensor(name, like);
  part_ = part;
  if (ok() && !is_floating(Lowering::dtype(real)))
    real = cast(real, like.valid() ? Lowering::dtype(like) : DType::kF32);
  return {real, {}};
}

std::vector<Complex> NodeContext::complexes(std::string_view name) {
  const Argument* a = argument(name);
  std::vector<Complex> all;
  if (a == nullptr || a->kind != ArgumentKind::kTensors) {
    invalid("argument '" + std::string(name) + "' is not a list of tensors");
    return all;
  }
  for (const std::string& one : a->names) {
    const auto found = scope_.find(one);
    if (found != scope_.end() && found->second.is_complex()) {
      all.push_back(found->second.parts);
      continue;
    }
    const IrArgument real = named_value(one);
    const ValueId* id = std::get_if<ValueId>(&real);
    if (id == nullptr && ok()) invalid("argument '" + std::string(name) + "' holds what is not a tensor");
    all.push_back({id == nullptr ? ValueId() : *id, {}});
  }
  return all;
}

IrArgument NodeContext::named_value(const std::string& name) {
  const auto found = scope_.find(name);
  if (found == scope_.end()) {
    invalid("\"" + name + "\" is not defined before this node");
    return None();
  }
  if (!found->second.unknown.empty()) {
    unsupported("\"" + name + "\" " + found->second.unknown);
    return None();
  }
  return found->second.value;
}

void NodeContext::size_unknown(std::string_view name) {
  unsupported(
      "argument '" + std::string(name) +
      "' is a number that only the data tell, and nothing says how large it may be; give it bounds where the "
      "model computes it, such as torch._check(n >= 0) and torch._check(n <= 100), so that memory can be planned");
}

Dim NodeContext::symbolic(const Argument& argument, size_t i, std::string_view name) {
  if (argument.names[i].empty()) return Dim(argument.ints[i]);
  const IrArgument value = named_value(argument.names[i]);
  if (const Dim* dim = std::get_if<Dim>(&value)) return *dim;
  if (ok()) size_unknown(name);
  return Dim(1);
}

IrArgument NodeContext::value(const Argument& a, std::string_view name) {
  const bool number = a.kind == ArgumentKind::kInt || a.kind == ArgumentKind::kFloat || a.kind == ArgumentKind::kBool;
  if (part_ == Part::kImaginary && number && is_data(name)) return Dim(0);
  switch (a.kind) {
    case ArgumentKind::kNone: return None();
    case ArgumentKind::kTensor: return part_of(a, 0, name);
    case ArgumentKind::kTensors: {
      ValueList list;
      for (size_t i = 0; i < a.names.size(); ++i) {
        const IrArgument element = a.names[i].empty() ? IrArgument(ValueId()) : part_of(a, i, name);
        const ValueId* id = std::get_if<ValueId>(&element);
        if (id == nullptr && ok()) invalid("argument '" + std::string(name) + "' holds what is not a tensor");
        list.push_back(id == nullptr ? ValueId() : *id);
      }
      return list;
    }
    case ArgumentKind::kInt: return Dim(a.ints[0]);
    case ArgumentKind::kInts: return ir::dims(a.ints);
    case ArgumentKind::kSymInt: return symbolic(a, 0, name);
    case ArgumentKind::kSymInts: {
      DimList list;
      for (size_t i = 0; i < a.names.size(); ++i) list.push_back(symbolic(a, i, name));
      return list;
    }
    case ArgumentKind::kFloat: return a.floats[0];
    case ArgumentKind::kFloats: return a.floats;
    case ArgumentKind::kSymFloat: return a.names[0].empty() ? IrArgument(a.floats[0]) : named_value(a.names[0]);
    case ArgumentKind::kSymBool: return a.names[0].empty() ? IrArgument(a.ints[0] != 0) : named_value(a.names[0]);
    case ArgumentKind::kBool: return a.ints[0] != 0;
    case ArgumentKind::kBools: return ir::BoolList(a.ints.begin(), a.ints.end());
    case ArgumentKind::kString: return a.text;
    case ArgumentKind::kComplex:
      if (part_ != Part::kNone) return a.floats[part_ == Part::kReal ? 0 : 1];
      unsupported("argument '" + std::string(name) + "' is a complex number");
      return None();
    case ArgumentKind::kScalarType: {
      JsonReader reader(source());
      const DType type = read_dtype(reader, a.ints[0], "dtype");
      if (!reader.ok()) unsupported(reader.failure().message);
      return number_of(type);
    }
    case ArgumentKind::kMemoryFormat:
    case ArgumentKind::kLayout:
    case ArgumentKind::kDevice: return None();
    case ArgumentKind::kGraph:
    case ArgumentKind::kOperator:
    case ArgumentKind::kOther: break;
  }
  unsupported("argument '" + std::string(name) + "' is of a kind that is not read: " + a.text);
  return None();
}

ValueId NodeContext::as_tensor(const IrArgument& number, ValueId like) {
  const auto beside = [&](DType own, DType alone) { return like.valid() ? number_type(own, dtype(like)) : alone; };
  if (const double* real = std::get_if<double>(&number)) return splat(beside(DType::kF64, DType::kF32), {}, *real);
  if (const bool* truth = std::get_if<bool>(&number)) {
    return splat(beside(DType::kBool, DType::kBool), {}, *truth ? 1 : 0);
  }
  const Dim* whole = std::get_if<Dim>(&number);
  if (whole == nullptr) {
    if (ok()) invalid("expected a number");
    return {};
  }
  const DType type = beside(DType::kI64, DType::kI64);
  if (whole->is_constant() && std::abs(static_cast<double>(whole->value)) < 9e15) {
    return splat(type, {}, static_cast<double>(whole->value));
  }
  return op(OpId::full_out, {DimList{}, *whole, number_of(type)});
}

ValueId NodeContext::tensor(std::string_view name, ValueId like) {
  const Argument* a = argument(name);
  if (!ok()) return {};
  if (a == nullptr) return invalid("argument '" + std::string(name) + "' is missing"), ValueId();
  const IrArgument found = value(*a, name);
  const ValueId* id = std::get_if<ValueId>(&found);
  if (id == nullptr) return ok() ? as_tensor(found, like) : ValueId();
  const bool number =
      std::any_of(in_tensors_.begin(), in_tensors_.end(), [&](const NamedArgument& n) { return n.name == name; });
  return number && like.valid() ? cast(*id, number_type(dtype(*id), dtype(like))) : *id;
}

IrArgument NodeContext::optional_tensor(std::string_view name) {
  if (!has(name)) return None();
  return tensor(name);
}

ValueList NodeContext::tensors(std::string_view name) {
  const Argument* a = argument(name);
  if (a == nullptr || !ok()) return {};
  IrArgument found = value(*a, name);
  if (ValueList* list = std::get_if<ValueList>(&found)) return std::move(*list);
  if (ok()) invalid("argument '" + std::string(name) + "' is not a list of tensors");
  return {};
}

IrArgument NodeContext::scalar(std::string_view name, IrArgument fallback) {
  if (!has(name)) return fallback;
  IrArgument found = value(*argument(name), name);
  if (std::holds_alternative<ValueId>(found) && ok()) {
    unsupported("argument '" + std::string(name) + "' is a number that only the data tell");
    return fallback;
  }
  return found;
}

Dim NodeContext::dim(std::string_view name, Dim fallback) {
  if (!has(name)) return fallback;
  const IrArgument found = value(*argument(name), name);
  if (const Dim* dim = std::get_if<Dim>(&found)) return *dim;
  if (ok() && std::holds_alternative<ValueId>(found)) size_unknown(name);
  if (ok()) invalid("argument '" + std::string(name) + "' is not an integer");
  return fallback;
}

DimList NodeContext::dims(std::string_view name) {
  if (!has(name)) return {};
  IrArgument found = value(*argument(name), name);
  if (DimList* list = std::get_if<DimList>(&found)) return std::move(*list);
  if (const Dim* one = std::get_if<Dim>(&found)) return {*one};
  const ValueList* none = std::get_if<ValueList>(&found);  // an empty list has no type in the file
  if (ok() && (none == nullptr || !none->empty())) {
    invalid("argument '" + std::string(name) + "' is not a list of integers");
  }
  return {};
}

int64_t NodeContext::integer(std::string_view name, int64_t fallback) {
  const std::string what = "argument '" + std::string(name) + "'";
  return fixed(dim(name, Dim(fallback)), what.c_str());
}

std::vector<int64_t> NodeContext::integers(std::string_view name) {
  std::vector<int64_t> numbers;
  const std::string what = "argument '" + std::string(name) + "'";
  for (Dim d : dims(name)) numbers.push_back(fixed(d, what.c_str()));
  return numbers;
}

double NodeContext::number(std::string_view name, double fallback) {
  const IrArgument found = scalar(name, fallback);
  if (const double* real = std::get_if<double>(&found)) return *real;
  if (const Dim* whole = std::get_if<Dim>(&found); whole != nullptr && whole->is_constant()) {
    return static_cast<double>(whole->value);
  }
  if (const bool* truth = std::get_if<bool>(&found)) return *truth ? 1 : 0;
  if (ok()) unsupported("argument '" + std::string(name) + "' must be a number that is known when compiling");
  return fallback;
}

std::vector<double> NodeContext::numbers(std::string_view name) {
  if (!has(name)) return {};
  IrArgument found = value(*argument(name), name);
  if (ir::FloatList* list = std::get_if<ir::FloatList>(&found)) return std::move(*list);
  std::vector<double> numbers;
  for (int64_t number : integers(name)) numbers.push_back(static_cast<double>(number));
  return numbers;
}

bool NodeContext::truth(std::string_view name, bool fallback) {
  const IrArgument found = scalar(name, fallback);
  if (const bool* truth = std::get_if<bool>(&found)) return *truth;
  if (const Dim* whole = std::get_if<Dim>(&found); whole != nullptr && whole->is_constant()) return whole->value != 0;
  if (ok()) unsupported("argument '" + std::string(name) + "' must be known when compiling");
  return fallback;
}

std::string NodeContext::text(std::string_view name, std::string_view fallback) {
  if (!has(name)) return std::string(fallback);
  const Argument* a = argument(name);
  if (a->kind == ArgumentKind::kString) return a->text;
  invalid("argument '" + std::string(name) + "' is not text");
  return std::string(fallback);
}

DType NodeContext::dtype(std::string_view name, DType fallback) {
  if (!has(name)) return fallback;
  const IrArgument found = value(*argument(name), name);
  const Dim* dim = std::get_if<Dim>(&found);
  if (ok() && (dim == nullptr || argument(name)->kind != ArgumentKind::kScalarType)) {
    invalid("argument '" + std::string(name) + "' is not an element type");
  }
  const DType type = ok() ? static_cast<DType>(dim->value) : fallback;
  return part_ != Part::kNone && berth::is_complex(type) ? lowering::part_type(type) : type;
}

const TensorMeta* NodeContext::output_meta(size_t i) const {
  if (i >= outputs_.size()) return nullptr;
  const auto found = graph_.tensors.find(outputs_[i]);
  return found == graph_.tensors.end() ? nullptr : &found->second;
}

void NodeContext::output(size_t i, IrArgument value) {
  if (!ok() || i >= outputs_.size() || outputs_[i].empty()) return;
  if (const ValueId* id = std::get_if<ValueId>(&value)) {
    if (!id->valid()) return fail(Error::kInternal, "output " + std::to_string(i) + " was not computed");
    const ir::Value& made = method().value(*id);
    if (!(*id < first_new_value_) && made.kind == ir::ValueKind::kNode) {
      method().rename(*id, part_ == Part::kNone   ? outputs_[i]
                           : part_ == Part::kReal ? outputs_[i] + ".real"
                                                  : outputs_[i] + ".imag");
    }
    // Sizes that only the data tell are symbols here and there.
    const TensorMeta* meta = output_meta(i);
    const std::vector<Dim> sizes = shape(*id);
    for (size_t d = 0; meta != nullptr && d < std::min(sizes.size(), meta->sizes.size()); ++d) {
      if (!sizes[d].is_constant()) state_.symbols.learn(meta->sizes[d], sizes[d]);
    }
  }
  Operand& operand = scope_[outputs_[i]];
  const ValueId* imaginary = std::get_if<ValueId>(&value);
  if (part_ == Part::kImaginary && imaginary != nullptr) {  // behind the real part
    const ValueId* real = std::get_if<ValueId>(&operand.value);
    if (real == nullptr) return invalid("has an imaginary part and no real one");
    operand = complex_operand({*real, *imaginary});
    return;
  }
  operand = Operand{std::move(value), {}, {}};
}

void NodeContext::output(size_t i, Complex value) {
  value = lowering::with_both(*this, value);
  if (!ok() || i >= outputs_.size() || outputs_[i].empty()) return;
  if (Lowering::dtype(value.real) != Lowering::dtype(value.imaginary)) {
    return invalid("the parts of a complex number are of different types");
  }
  scope_[outputs_[i]] = complex_operand(value);
}

void NodeContext::write(std::string_view name, ValueId value) {
  const Argument* a = argument(name);
  if (!ok()) return;
  if (a == nullptr || a->kind != ArgumentKind::kTensor) {
    return invalid("argument '" + std::string(name) + "', which it writes, is not a tensor");
  }
  scope_[a->names[0]] = Operand{value, {}, {}};
}

void NodeContext::outputs(const std::vector<ValueId>& values) {
  if (!ok()) return;
  if (values.size() != outputs_.size()) {
    return invalid("has " + std::to_string(outputs_.size()) + " results in the file, the operator gives " +
                   std::to_string(values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) output(i, values[i]);
}

void NodeContext::unknown_output(size_t i, std::string why) {
  if (i < outputs_.size() && !outputs_[i].empty()) scope_[outputs_[i]] = Operand{None(), std::move(why), {}};
}

}  // namespace berth::pt2
