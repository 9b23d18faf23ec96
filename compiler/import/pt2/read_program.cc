// models/<name>.json → Program.

#include "compiler/import/pt2/schema.h"

namespace berth::pt2 {
namespace {

class ProgramReader {
 public:
  explicit ProgramReader(JsonReader& reader) : r_(reader) {}

  Program read(const Json& json) {
    Program program;
    const Json& version = r_.object(r_.field(json, "schema_version"), "schema_version");
    program.major = optional_integer(r_.field(version, "major"), "schema_version.major");
    program.minor = optional_integer(r_.field(version, "minor"), "schema_version.minor");
    const Json& torch = r_.field(json, "torch_version");
    if (torch.is_string()) program.torch_version = r_.text(torch, "torch_version");
    if (program.major != 8) return program;
    const Json& module = r_.object(r_.field(json, "graph_module"), "graph_module");
    program.graph = graph(r_.field(module, "graph"), "graph");
    const Json& signature = r_.object(r_.field(module, "signature"), "signature");
    for (const Json& spec : r_.list(r_.field(signature, "input_specs"), "input_specs")) {
      program.inputs.push_back(input_spec(spec, at("input_specs", program.inputs.size())));
    }
    for (const Json& spec : r_.list(r_.field(signature, "output_specs"), "output_specs")) {
      program.outputs.push_back(output_spec(spec, at("output_specs", program.outputs.size())));
    }
    if (program.inputs.size() != program.graph.inputs.size()) r_.fail("input_specs", "expected one for each input");
    if (program.outputs.size() != program.graph.outputs.size()) r_.fail("output_specs", "expected one for each output");
    const Json& ranges = r_.object(r_.field(json, "range_constraints"), "range_constraints");
    for (const auto& [name, item] : ranges.items()) program.ranges[name] = range(item, name);
    return program;
  }

  TensorMeta tensor(const Json& json, const std::string& where) {
    TensorMeta meta;
    meta.dtype = read_dtype(r_, r_.integer(r_.field(json, "dtype"), where + ".dtype"), where + ".dtype");
    meta.sizes = sizes(r_.field(json, "sizes"), where + ".sizes");
    meta.strides = sizes(r_.field(json, "strides"), where + ".strides");
    const Json& offset = r_.field(json, "storage_offset");
    if (!offset.is_null()) meta.storage_offset = size(offset, where + ".storage_offset");
    const Json& layout = r_.field(json, "layout");
    constexpr int64_t kStrided = 7;
    meta.strided = layout.is_null() || r_.integer(layout, where + ".layout") == kStrided;
    if (meta.strided && meta.strides.size() != meta.sizes.size()) r_.fail(where, "expected a stride for each size");
    return meta;
  }

 private:
  static std::string at(const std::string& list, size_t i) { return list + "[" + std::to_string(i) + "]"; }

  int64_t optional_integer(const Json& json, const std::string& where) {
    return json.is_null() ? 0 : r_.integer(json, where);
  }

  Range range(const Json& json, const std::string& where) {
    Range range;
    const Json& low = r_.field(json, "min_val");
    const Json& high = r_.field(json, "max_val");
    range.has_min = !low.is_null();
    range.has_max = !high.is_null();
    range.min = optional_integer(low, where + ".min_val");
    range.max = optional_integer(high, where + ".max_val");
    return range;
  }

  // -1 where there is none: it is a help, so that whatever is wrong with it is none.
  static int64_t hint(const Json& expression) {
    const auto found = expression.find("hint");
    if (found == expression.end() || !found->is_object()) return -1;
    const auto number = found->find("as_int");
    const auto* value = number == found->end() ? nullptr : number->get_if<int64_t>();
    return value == nullptr ? -1 : *value;
  }

  // SymInt; SymFloat and SymBool have the same two forms.
  Size size(const Json& json, const std::string& where) {
    Size size;
    const Json* content = nullptr;
    const std::string kind = r_.variant(json, where, &content);
    if (kind == "as_int") {
      size.number = r_.integer(*content, where);
    } else if (kind == "as_expr") {
      size.expression = r_.text(r_.field(*content, "expr_str"), where + ".expr_str");
      if (size.expression.empty()) r_.fail(where, "expected an expression");
      size.hint = hint(*content);
    } else {
      r_.fail(where, "expected as_int or as_expr, found " + kind);
    }
    return size;
  }

  std::vector<Size> sizes(const Json& json, const std::string& where) {
    std::vector<Size> sizes;
    for (const Json& item : r_.list(json, where)) sizes.push_back(size(item, at(where, sizes.size())));
    return sizes;
  }

  std::string name(const Json& json, const std::string& where) {
    return r_.text(r_.field(json, "name"), where + ".name");
  }

  // SymIntArgument and its kin: as_name, or a literal.
  void symbolic(const Json& json, const std::string& where, Argument* argument) {
    const Json* content = nullptr;
    const std::string kind = r_.variant(json, where, &content);
    argument->names.emplace_back();
    argument->ints.push_back(0);
    argument->floats.push_back(0);
    if (kind == "as_name") {
      argument->names.back() = r_.text(*content, where);
    } else if (kind == "as_int") {
      argument->ints.back() = r_.integer(*content, where);
    } else if (kind == "as_float") {
      argument->floats.back() = r_.number(*content, where);
    } else if (kind == "as_bool") {
      argument->ints.back() = r_.truth(*content, where) ? 1 : 0;
    } else {
      r_.fail(where, "expected as_name or a literal, found " + kind);
    }
  }

  Argument argument(const Json& json, const std::string& where) {
    Argument a;
    const Json* content = nullptr;
    const std::string kind = r_.variant(json, where, &content);
    if (tensors(kind, *content, where, &a) || literal(kind, *content, where, &a) ||
        literals(kind, *content, where, &a) || symbols(kind, *content, where, &a)) {
      return a;
    }
    if (kind == "as_none") {
      a.kind = ArgumentKind::kNone;
    } else if (kind == "as_graph") {
      a.kind = ArgumentKind::kGraph;
      a.graph = std::make_shared<Graph>(graph(r_.field(*content, "graph"), where + ".graph"));
    } else if (kind == "as_operator") {
      a.kind = ArgumentKind::kOperator;
      a.text = r_.text(*content, where);
    } else if (kind == "as_memory_format") {
      a.kind = ArgumentKind::kMemoryFormat;
    } else if (kind == "as_layout") {
      a.kind = ArgumentKind::kLayout;
    } else if (kind == "as_device") {
      a.kind = ArgumentKind::kDevice;
    } else {
      a.kind = ArgumentKind::kOther;
      a.text = kind;
    }
    return a;
  }

  // Each of these four fills in an argument of its kinds, and returns false for others.

  bool tensors(const std::string& kind, const Json& content, const std::string& where, Argument* a) {
    if (kind == "as_tensor") {
      a->kind = ArgumentKind::kTensor;
      a->names.push_back(name(content, where));
    } else if (kind == "as_optional_tensor") {
      a->names.push_back(optional_name(content, where));
      a->kind = a->names[0].empty() ? ArgumentKind::kNone : ArgumentKind::kTensor;
    } else if (kind == "as_tensors") {
      a->kind = ArgumentKind::kTensors;
      for (const Json& item : r_.list(content, where)) a->names.push_back(name(item, where));
    } else if (kind == "as_optional_tensors") {
      a->kind = ArgumentKind::kTensors;
      for (const Json& item : r_.list(content, where)) a->names.push_back(optional_name(item, where));
    } else {
      return false;
    }
    return true;
  }

  bool literal(const std::string& kind, const Json& content, const std::string& where, Argument* a) {
    if (kind == "as_int" || kind == "as_scalar_type") {
      a->kind = kind == "as_int" ? ArgumentKind::kInt : ArgumentKind::kScalarType;
      a->ints.push_back(r_.integer(content, where));
    } else if (kind == "as_bool") {
      a->kind = ArgumentKind::kBool;
      a->ints.push_back(r_.truth(content, where) ? 1 : 0);
    } else if (kind == "as_float") {
      a->kind = ArgumentKind::kFloat;
      a->floats.push_back(r_.number(content, where));
    } else if (kind == "as_complex") {
      a->kind = ArgumentKind::kComplex;
      a->floats = {r_.number(r_.field(content, "real"), where), r_.number(r_.field(content, "imag"), where)};
    } else if (kind == "as_string") {
      a->kind = ArgumentKind::kString;
      a->text = r_.text(content, where);
    } else {
      return false;
    }
    return true;
  }

  bool literals(const std::string& kind, const Json& content, const std::string& where, Argument* a) {
    if (kind == "as_ints") {
      a->kind = ArgumentKind::kInts;
      for (const Json& item : r_.list(content, where)) a->ints.push_back(r_.integer(item, where));
    } else if (kind == "as_bools") {
      a->kind = ArgumentKind::kBools;
      for (const Json& item : r_.list(content, where)) a->ints.push_back(r_.truth(item, where) ? 1 : 0);
    } else if (kind == "as_floats") {
      a->kind = ArgumentKind::kFloats;
      for (const Json& item : r_.list(content, where)) a->floats.push_back(r_.number(item, where));
    } else {
      return false;
    }
    return true;
  }

  bool symbols(const std::string& kind, const Json& content, const std::string& where, Argument* a) {
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      a->kind = kind == "as_sym_int"     ? ArgumentKind::kSymInt
                : kind == "as_sym_float" ? ArgumentKind::kSymFloat
                                         : ArgumentKind::kSymBool;
      symbolic(content, where, a);
    } else if (kind == "as_sym_ints") {
      a->kind = ArgumentKind::kSymInts;
      for (const Json& item : r_.list(content, where)) symbolic(item, where, a);
    } else {
      return false;
    }
    return true;
  }

  std::string optional_name(const Json& json, const std::string& where) {
    const Json* content = nullptr;
    return r_.variant(json, where, &content) == "as_tensor" ? name(*content, where) : std::string();
  }

  Node node(const Json& json, const std::string& where) {
    Node node;
    node.target = r_.text(r_.field(json, "target"), where + ".target");
    for (const Json& item : r_.list(r_.field(json, "inputs"), where + ".inputs")) {
      const std::string here = at(where + ".inputs", node.inputs.size());
      const Json& name = r_.field(item, "name");
      node.inputs.push_back({name.is_null() ? std::string() : r_.text(name, here + ".name"),
                             argument(r_.field(item, "arg"), here + ".arg")});
    }
    for (const Json& item : r_.list(r_.field(json, "outputs"), where + ".outputs")) {
      node.outputs.push_back(argument(item, at(where + ".outputs", node.outputs.size())));
    }
    const Json& name = r_.field(json, "name");
    if (!name.is_null()) node.name = r_.text(name, where + ".name");
    const Json& metadata = r_.object(r_.field(json, "metadata"), where + ".metadata");
    const Json& trace = r_.field(metadata, "stack_trace");
    if (trace.is_string()) node.stack_trace = r_.text(trace, where);
    const Json& modules = r_.field(metadata, "nn_module_stack");
    if (modules.is_string()) node.module_path = module_path(r_.text(modules, where));
    return node;
  }

  // "key,path,type;key,path,type": the path of the last one.
  static std::string module_path(const std::string& stack) {
    const size_t last = stack.rfind(';');
    const std::string entry = stack.substr(last == std::string::npos ? 0 : last + 1);
    const size_t first = entry.find(',');
    const size_t second = entry.find(',', first == std::string::npos ? first : first + 1);
    return second == std::string::npos ? std::string() : entry.substr(first + 1, second - first - 1);
  }

  Graph graph(const Json& json, const std::string& where) {
    Graph graph;
    if (!json.is_object()) r_.fail(where, "expected a graph");
    for (const Json& item : r_.list(r_.field(json, "inputs"), where + ".inputs")) {
      graph.inputs.push_back(argument(item, at(where + ".inputs", graph.inputs.size())));
    }
    for (const Json& item : r_.list(r_.field(json, "outputs"), where + ".outputs")) {
      graph.outputs.push_back(argument(item, at(where + ".outputs", graph.outputs.size())));
    }
    for (const Json& item : r_.list(r_.field(json, "nodes"), where + ".nodes")) {
      if (!r_.ok()) return graph;
      graph.nodes.push_back(node(item, at(where + ".nodes", graph.nodes.size())));
    }
    const Json& tensors = r_.object(r_.field(json, "tensor_values"), where + ".tensor_values");
    for (const auto& [name, item] : tensors.items()) {
      if (!r_.ok()) return graph;
      graph.tensors.emplace(name, tensor(item, where + ".tensor_values." + name));
    }
    const Json& sym_ints = r_.object(r_.field(json, "sym_int_values"), where + ".sym_int_values");
    for (const auto& [name, item] : sym_ints.items()) {
      if (!r_.ok()) return graph;
      graph.sym_ints.emplace(name, size(item, where + ".sym_int_values." + name));
    }
    return graph;
  }

  InputSpec input_spec(const Json& json, const std::string& where) {
    InputSpec spec;
    const Json* content = nullptr;
    const std::string kind = r_.variant(json, where, &content);
    const auto target = [&](const char* field) { return r_.text(r_.field(*content, field), where + "." + field); };
    if (kind == "user_input") {
      spec.kind = InputKind::kUser;
    } else if (kind == "parameter") {
      spec = {InputKind::kParameter, target("parameter_name"), true};
    } else if (kind == "buffer") {
      const Json& persistent = r_.field(*content, "persistent");
      spec = {InputKind::kBuffer, target("buffer_name"), persistent.is_null() || r_.truth(persistent, where)};
    } else if (kind == "tensor_constant") {
      spec = {InputKind::kTensorConstant, target("tensor_constant_name"), false};
    } else if (kind == "constant_input") {
      spec.kind = InputKind::kConstant;
    } else if (kind == "token") {
      spec.kind = InputKind::kToken;
    } else if (kind == "custom_obj") {
      spec = {InputKind::kCustomObject, target("custom_obj_name"), false};
    } else {
      r_.fail(where, "\"" + kind + "\" is not a kind of input");
    }
    return spec;
  }

  OutputSpec output_spec(const Json& json, const std::string& where) {
    const Json* content = nullptr;
    const std::string kind = r_.variant(json, where, &content);
    const auto target = [&](const char* field) { return r_.text(r_.field(*content, field), where + "." + field); };
    if (kind == "user_output") return {OutputKind::kUser, ""};
    if (kind == "buffer_mutation") return {OutputKind::kBufferMutation, target("buffer_name")};
    if (kind == "parameter_mutation") return {OutputKind::kParameterMutation, target("parameter_name")};
    if (kind == "user_input_mutation") return {OutputKind::kUserInputMutation, target("user_input_name")};
    if (kind == "token") return {OutputKind::kToken, ""};
    if (kind == "loss_output" || kind.rfind("gradient_to_", 0) == 0) return {OutputKind::kTraining, ""};
    r_.fail(where, "\"" + kind + "\" is not a kind of output");
    return {};
  }

  JsonReader& r_;
};

}  // namespace

DType read_dtype(JsonReader& reader, int64_t number, const std::string& where) {
  switch (number) {
    case 1: return DType::kU8;
    case 2: return DType::kI8;
    case 3: return DType::kI16;
    case 4: return DType::kI32;
    case 5: return DType::kI64;
    case 6: return DType::kF16;
    case 7: return DType::kF32;
    case 8: return DType::kF64;
    case 9: return DType::kComplex32;
    case 10: return DType::kComplex64;
    case 11: return DType::kComplex128;
    case 12: return DType::kBool;
    case 13: return DType::kBF16;
    case 28: return DType::kU16;
    case 29: return DType::kF8E4M3;
    case 30: return DType::kF8E5M2;
    case 31: return DType::kF8E4M3Fnuz;
    case 32: return DType::kF8E5M2Fnuz;
    case 33: return DType::kF8E8M0;
    case 34: return DType::kU32;
    case 35: return DType::kU64;
    default: break;
  }
  reader.fail(where, "number " + std::to_string(number) + " is not an element type that Berth has");
  return DType::kF32;
}

TensorMeta read_tensor_meta(JsonReader& reader, const Json& json, const std::string& where) {
  return ProgramReader(reader).tensor(json, where);
}

Expected<Program> read_program(const Json& json, const std::string& place) {
  JsonReader reader(place);
  if (!json.is_object()) return Failure{Error::kInvalidProgram, place, "is not an object"};
  Program program = ProgramReader(reader).read(json);
  if (!reader.ok()) return reader.failure();
  if (program.major != 8) {
    return Failure{Error::kNotSupported, place,
                   "has schema " + std::to_string(program.major) + "." + std::to_string(program.minor) +
                       " of PyTorch " + program.torch_version +
                       "; Berth reads schema 8 (PyTorch 2.9 to 2.15), so export it again with one of these"};
  }
  return program;
}

}  // namespace berth::pt2
