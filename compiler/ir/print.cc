#include "compiler/ir/print.h"

#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

// Like Symbols::text, with names quoted where they have to be.
void append_dim(std::string& out, const Symbols& symbols, Dim dim) {
  if (dim.is_constant()) {
    out += std::to_string(dim.value);
    return;
  }
  const Symbol& s = symbols[dim.symbol];
  const auto join = [&](const char* begin, const char* middle) {
    out += begin;
    append_dim(out, symbols, s.a);
    out += middle;
    append_dim(out, symbols, s.b);
    out += ")";
  };
  switch (s.kind) {
    case SymbolKind::kInput: out += identifier(s.name); break;
    case SymbolKind::kAdd: join("(", " + "); break;
    case SymbolKind::kMul: join("(", " * "); break;
    case SymbolKind::kFloorDiv: join("floordiv(", ", "); break;
    case SymbolKind::kMod: join("mod(", ", "); break;
    case SymbolKind::kMax: join("max(", ", "); break;
    case SymbolKind::kMin: join("min(", ", "); break;
  }
}

void append_relation(std::string& out, const Symbols& symbols, const SizeRelation& relation) {
  const bool named = relation.kind == SizeRelation::Kind::kNamed;
  out += named ? "symbol " + identifier(relation.name) + " = " : "where ";
  append_dim(out, symbols, relation.a);
  if (!named) {
    out += relation.kind == SizeRelation::Kind::kEqual ? " == " : " <= ";
    append_dim(out, symbols, relation.b);
  }
  out += "\n";
}

// The bytes whatever they mean.
std::string bytes_text(const Blob& blob, const PrintOptions& options) {
  if (options.elide) return "...";
  if (blob.is_mapped() && options.files) {
    return "file(" + quoted(blob.file().path()) + ", " + std::to_string(blob.file_offset()) + ", " +
           std::to_string(blob.size()) + ")";
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "hex\"";
  out.reserve(blob.size() * 2 + 8);
  for (uint8_t byte : blob.to_vector()) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + "\"";
}

std::string blob_text(const TensorType& type, const Blob& blob, const PrintOptions& options) {
  const size_t element = element_size(type.dtype);
  const bool numbers = is_real(type.dtype);
  if (numbers && blob.is_splat() && blob.element().size() == element) {
    const std::string text = element_text(type.dtype, blob.element());
    if (!text.empty()) return "splat<" + text + ">";
  }
  if (numbers && blob.size() / element <= options.most_numbers) {
    const std::vector<uint8_t> bytes = blob.to_vector();
    std::string list;
    bool all = true;
    for (size_t i = 0; i + element <= bytes.size(); i += element) {
      const std::string text = element_text(type.dtype, {bytes.data() + i, element});
      all = all && !text.empty();
      list += (i == 0 ? "" : ", ") + text;
    }
    if (all) return "dense<[" + list + "]>";
  }
  return bytes_text(blob, options);
}

std::string delegate_text(const Delegate& delegate, const PrintOptions& options) {
  std::string out = "delegate " + named('@', delegate.name) + " " + quoted(delegate.backend);
  for (size_t i = 0; i < delegate.specs.size(); ++i) {
    out += i == 0 ? " {" : ", ";
    out += identifier(delegate.specs[i].key) + " = " + quoted(delegate.specs[i].value);
  }
  if (!delegate.specs.empty()) out += "}";
  if (delegate.payload.has_value()) out += " = " + bytes_text(*delegate.payload, options);
  return out + "\n";
}

class Printer {
 public:
  Printer(const Module& module, const Method& method) : module_(module), method_(method) {}

  void method() {
    out_ += "\nmethod " + identifier(method_.name);
    inputs(method_.body);
    out_ += " {\n";
    constants();
    body(method_.body, 1, "return");
    out_ += "}\n";
  }

  void node(const Node& node, int depth) {
    indent(depth);
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (i > 0) out_ += ", ";
      declaration(node.results[i]);
    }
    if (!node.results.empty()) out_ += " = ";
    out_ += node.op->functional_name + "(";
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0) out_ += ", ";
      const bool known = i < node.op->parameters.size();
      argument(node.args[i], known ? node.op->parameters[i].type : ParameterType::kScalar);
    }
    out_ += ")";
    if (node.state.valid()) out_ += " " + named('@', module_.states[node.state].name);
    if (node.delegate.valid()) out_ += " " + named('@', module_.delegates[node.delegate].name);
    for (const Graph& region : node.regions) {
      out_ += " {\n";
      indent(depth + 1);
      inputs(region);
      out_ += "\n";
      body(region, depth + 1, "yield");
      indent(depth);
      out_ += "}";
    }
    if (!node.source.empty()) out_ += " " + quoted(node.source);
    out_ += "\n";
  }

  std::string take() { return std::move(out_); }

 private:
  void indent(int depth) { out_.append(depth * 2, ' '); }

  void value(ValueId id) { out_ += id.valid() ? named('%', method_.value(id).name) : "none"; }

  void declaration(ValueId id) {
    value(id);
    out_ += ": " + print(method_.value(id).type, module_.symbols);
  }

  void inputs(const Graph& graph) {
    out_ += "(";
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      declaration(graph.inputs[i]);
    }
    out_ += ")";
  }

  // The values that stand for constants, before all nodes.
  void constants() {
    const IdVector<ValueId, int> uses = count_uses(method_);
    for (ValueId id : method_.values.ids()) {
      const Value& v = method_.values[id];
      if (v.kind != ValueKind::kConstant || uses[id] == 0) continue;
      indent(1);
      declaration(id);
      out_ += " = const " + named('@', module_.constants[v.constant].name) + "\n";
    }
  }

  void body(const Graph& graph, int depth, const char* last) {
    for (NodeId id : graph.nodes) node(method_.node(id), depth);
    indent(depth);
    out_ += last;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      argument(graph.outputs[i], ParameterType::kScalar);
      if (&graph == &method_.body) output_name(i);
    }
    out_ += "\n";
  }

  // Where it is not the value's own.
  void output_name(size_t i) {
    const ValueId* id = std::get_if<ValueId>(&method_.body.outputs[i]);
    const std::string& name = method_.output_name(i);
    if (!name.empty() && (id == nullptr || !id->valid() || method_.value(*id).name != name)) out_ += " " + quoted(name);
  }

  template <typename List, typename F>
  void list(const List& items, F&& one) {
    out_ += "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      one(items[i]);
    }
    out_ += "]";
  }

  void argument(const Argument& a, ParameterType type) {
    if (is_none(a)) {
      out_ += "none";
    } else if (const auto* id = std::get_if<ValueId>(&a)) {
      value(*id);
    } else if (const auto* values = std::get_if<ValueList>(&a)) {
      list(*values, [&](ValueId v) { value(v); });
    } else if (const auto* dim = std::get_if<Dim>(&a)) {
      const bool dtype = type == ParameterType::kDType && dim->is_constant() && dim->value >= 0 &&
                         dim->value <= kMaxDTypeNumber && is_valid_dtype(static_cast<int>(dim->value));
      if (dtype) {
        out_ += to_string(static_cast<DType>(dim->value));
      } else {
        append_dim(out_, module_.symbols, *dim);
      }
    } else if (const auto* dims = std::get_if<DimList>(&a)) {
      list(*dims, [&](Dim d) { append_dim(out_, module_.symbols, d); });
    } else if (const auto* real = std::get_if<double>(&a)) {
      out_ += real_text(*real);
    } else if (const auto* reals = std::get_if<FloatList>(&a)) {
      list(*reals, [&](double d) { out_ += real_text(d); });
    } else if (const auto* truth = std::get_if<bool>(&a)) {
      out_ += *truth ? "true" : "false";
    } else if (const auto* truths = std::get_if<BoolList>(&a)) {
      list(*truths, [&](bool b) { out_ += b ? "true" : "false"; });
    } else {
      out_ += quoted(std::get<std::string>(a));
    }
  }

  const Module& module_;
  const Method& method_;
  std::string out_;
};

IdVector<ConstantId, bool> used_constants(const Module& module) {
  IdVector<ConstantId, bool> used(module.constants.size());
  for (const Method& method : module.methods) {
    const IdVector<ValueId, int> uses = count_uses(method);
    for (ValueId id : method.values.ids()) {
      const Value& v = method.values[id];
      if (v.kind == ValueKind::kConstant && uses[id] > 0) used[v.constant] = true;
    }
  }
  return used;
}

}  // namespace

std::string print(const Type& type, const Symbols& symbols) {
  if (const ScalarKind* kind = std::get_if<ScalarKind>(&type)) {
    if (*kind == ScalarKind::kInt) return "int";
    return *kind == ScalarKind::kFloat ? "float" : "bool";
  }
  const TensorType& tensor = std::get<TensorType>(type);
  std::string out = to_string(tensor.dtype);
  out += "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) out += ",";
    append_dim(out, symbols, tensor.shape[i]);
  }
  out += "]";
  if (!tensor.is_contiguous()) {
    out += "{";
    for (size_t i = 0; i < tensor.dim_order.size(); ++i) {
      out += (i == 0 ? "" : ",") + std::to_string(static_cast<int>(tensor.dim_order[i]));
    }
    out += "}";
  }
  if (!tensor.device.is_cpu()) {
    out += std::string("@") + to_text(tensor.device).text;
  }
  return out;
}

std::string print(const Module& module, const Method& method, const Node& node) {
  Printer printer(module, method);
  printer.node(node, 0);
  return printer.take();
}

std::string print(const Module& module, const PrintOptions& options) {
  std::string out;
  for (SymbolId id : module.symbols.ids()) {
    const Symbol& s = module.symbols[id];
    if (s.kind != SymbolKind::kInput) continue;
    out += "symbol " + identifier(s.name) + " in [" + std::to_string(s.min) + ", " + std::to_string(s.max) + "]";
    out += s.step == 1 ? "\n" : " step " + std::to_string(s.step) + "\n";
  }
  for (const SizeRelation& relation : module.symbols.relations()) append_relation(out, module.symbols, relation);
  const IdVector<ConstantId, bool> used = used_constants(module);
  for (ConstantId id : module.constants.ids()) {
    const Constant& c = module.constants[id];
    if (!used[id]) continue;
    out += "const " + named('@', c.name) + ": " + print(Type(c.type), module.symbols) + " = " +
           blob_text(c.type, c.blob, options) + "\n";
  }
  for (const State& s : module.states) {
    out += "state " + named('@', s.name) + ": " + print(Type(s.type), module.symbols);
    if (s.initial.has_value()) out += " = " + blob_text(s.type, *s.initial, options);
    out += "\n";
  }
  for (const Delegate& delegate : module.delegates) out += delegate_text(delegate, options);
  for (const NamedData& data : module.named_data) {
    out += "data " + quoted(data.key) + " = " + bytes_text(data.blob, options) + "\n";
  }
  for (const Method& method : module.methods) {
    Printer printer(module, method);
    printer.method();
    out += printer.take();
  }
  return out;
}

}  // namespace berth::ir
