#include "compiler/import/pt2/import_pt2.h"

#include <algorithm>
#include <numeric>

#include "compiler/import/pt2/archive.h"
#include "compiler/import/pt2/import_graph.h"
#include "compiler/import/pt2/payloads.h"
#include "compiler/ir/shape_args.h"

namespace berth {
namespace pt2 {
namespace {

/// The only model of the archive: torch.export.save calls it "model".
Expected<std::string> model_name(const Archive& archive) {
  if (archive.has("serialized_exported_program.json")) {
    return Failure{Error::kNotSupported, "pt2 archive",
                   "was saved by PyTorch 2.7 or older; load it there and save it with PyTorch 2.9 to 2.15"};
  }
  constexpr std::string_view kFolder = "models/";
  constexpr std::string_view kEnd = ".json";
  std::vector<std::string> names;
  for (const auto& [path, record] : archive.records()) {
    if (path.rfind(kFolder, 0) != 0 || path.size() <= kFolder.size() + kEnd.size()) continue;
    if (path.compare(path.size() - kEnd.size(), kEnd.size(), kEnd) != 0) continue;
    names.push_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnd.size()));
  }
  if (names.empty()) {
    return Failure{Error::kInvalidProgram, "pt2 archive",
                   "has no models/….json; is this what torch.export.save wrote?"};
  }
  const auto usual = std::find(names.begin(), names.end(), "model");
  if (usual != names.end()) return *usual;
  if (names.size() == 1) return names[0];
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return Failure{Error::kNotSupported, "pt2 archive", "holds several models (" + list + "); save one of them alone"};
}

class ProgramImporter {
 public:
  ProgramImporter(Program program, Payloads payloads, const ImportOptions& options, ir::Module& module)
      : program_(std::move(program)),
        payloads_(std::move(payloads)),
        options_(options),
        module_(module),
        method_(make_method(module)),
        symbols_(module.symbols, program_.ranges),
        state_{module, method_, symbols_, {}},
        build_(module, method_, method_.body) {}

  Status run() {
    BERTH_TRY(check_operators(program_.graph, module_.operators.get()));
    BERTH_TRY(bind_sizes());
    find_written();
    for (size_t i = 0; i < program_.inputs.size(); ++i) BERTH_TRY(import_input(i));
    GraphImporter importer(state_, program_.graph, method_.body, scope_);
    BERTH_TRY(importer.import_nodes());
    for (size_t i = 0; i < program_.outputs.size(); ++i) BERTH_TRY(import_output(importer, i));
    BERTH_TRY(write_changed(importer));
    give_changed_inputs();
    return Done{};
  }

 private:
  struct Written {
    ir::StateId state;
    ValueId start;
  };

  static ir::Method& make_method(ir::Module& module) {
    module.methods.emplace_back();
    module.methods.back().name = "forward";
    return module.methods.back();
  }

  static Failure input_failure(const std::string& name, std::string message, Error code = Error::kNotSupported) {
    return Failure{code, "pt2 input \"" + name + "\"", std::move(message)};
  }

  // Sizes of the inputs that the caller sets.
  Status bind_sizes() {
    std::vector<SizedInput> sized;
    std::map<std::string, Size> numbers;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Argument& input = program_.graph.inputs[i];
      if (program_.inputs[i].kind != InputKind::kUser || input.names.empty()) continue;
      const std::string& name = input.names[0];
      if (input.kind == ArgumentKind::kTensor) {
        const auto meta = program_.graph.tensors.find(name);
        if (meta == program_.graph.tensors.end()) return input_failure(name, "has no type", Error::kInvalidProgram);
        sized.push_back({name, &meta->second});
      } else if (input.kind == ArgumentKind::kSymInt) {
        const auto size = program_.graph.sym_ints.find(name);
        if (size != program_.graph.sym_ints.end()) numbers.emplace(name, size->second);
      }
    }
    return symbols_.bind_inputs(sized, numbers, options_);
  }

  // Buffers that the signature or an operator in place changes become states.
  void find_written() {
    for (const OutputSpec& output : program_.outputs) {
      const bool buffer = output.kind == OutputKind::kBufferMutation || output.kind == OutputKind::kParameterMutation;
      if (buffer) written_targets_.insert(output.target);
    }
    written_names_ = written_inputs(program_.graph);
  }

  Status import_input(size_t i) {
    const Argument& input = program_.graph.inputs[i];
    const InputSpec& spec = program_.inputs[i];
    const std::string name = input.names.empty() ? std::string() : input.names[0];
    switch (spec.kind) {
      case InputKind::kConstant:
      case InputKind::kToken: return Done{};
      case InputKind::kCustomObject:
        return input_failure(name, "is a custom object, \"" + spec.target + "\"; Berth reads tensors");
      case InputKind::kUser: return import_user_input(input, name);
      case InputKind::kParameter:
      case InputKind::kBuffer:
      case InputKind::kTensorConstant: break;
    }
    if (input.kind != ArgumentKind::kTensor) return input_failure(name, "is not a tensor", Error::kInvalidProgram);
    const bool constant = spec.kind == InputKind::kTensorConstant || !spec.persistent;
    auto payload = constant ? payloads_.constant(spec.target) : payloads_.weight(spec.target);
    if (!payload.ok()) return payload.error();
    const bool written = written_targets_.count(spec.target) != 0 || written_names_.count(name) != 0;
    if (is_complex(payload->dtype)) {
      if (written)
        return input_failure(name, "is a buffer of complex numbers that the model changes; keep it as real ones");
      return import_complex_constant(spec.target, name, *payload);
    }
    auto value = written ? import_state(spec.target, name, *payload) : import_constant(spec.target, *payload);
    if (!value.ok()) return value.error();
    scope_[name] = Operand{*value, {}, {}};
    return Done{};
  }

  /// `pairs`, [..., 2], as the complex tensor `name`.
  Status define_complex(const std::string& name, ValueId pairs) {
    Complex parts;
    for (const int64_t i : {0, 1}) {
      auto part =
          build_.one(OpId::select_copy_int_out, {pairs, Dim(-1), Dim(i)}, name, name + (i == 0 ? ".real" : ".imag"));
      if (!part.ok()) return part.error();
      (i == 0 ? parts.real : parts.imaginary) = *part;
    }
    scope_[name] = complex_operand(parts);
    return Done{};
  }

  // The bytes of complex numbers are those of pairs.
  Status import_complex_constant(const std::string& target, const std::string& name, Payload payload) {
    payload.dtype = lowering::part_type(payload.dtype);
    if (!payload.order.empty()) payload.order.push_back(static_cast<int64_t>(payload.stored.size()));
    payload.stored.push_back(2);
    payload.sizes.push_back(2);
    auto pairs = import_constant(target, payload);
    if (!pairs.ok()) return pairs.error();
    return define_complex(name, *pairs);
  }

  Status import_user_input(const Argument& input, const std::string& name) {
    if (input.kind == ArgumentKind::kSymInt && !name.empty()) {
      const auto size = program_.graph.sym_ints.find(name);
      if (size == program_.graph.sym_ints.end()) return input_failure(name, "has no value", Error::kInvalidProgram);
      auto value = symbols_.value(size->second);
      if (!value.ok()) {
        return input_failure(name,
                             "is a number that may change from call to call, and a program's inputs are tensors; "
                             "fix it with --input-shape " +
                                 name + "=4, or make it a tensor");
      }
      scope_[name] = Operand{*value, {}, {}};
      return Done{};
    }
    if (name.empty()) return Done{};  // a literal, fixed when the model was exported
    if (input.kind != ArgumentKind::kTensor) {
      return input_failure(name, "is a number that may change from call to call; a program's inputs are tensors");
    }
    auto type = input_type(name);
    if (!type.ok()) return type.error();
    const bool ordered = type->dim_order.empty();
    ValueId value = method_.add_input(std::move(*type), name);
    // Operators are given row-major tensors, however the caller's lie.
    if (!ordered) {
      DimList order(method_.tensor(value).rank());
      for (size_t d = 0; d < order.size(); ++d) order[d] = Dim(static_cast<int64_t>(d));
      auto copied = build_.one(OpId::clone_dim_order_out, {value, false, order}, name, name + ".in_order");
      if (!copied.ok()) return copied.error();
      value = *copied;
    }
    if (is_complex(method_.tensor(value).dtype)) {
      auto pairs = build_.one(OpId::view_as_real_copy_out, {value}, name, name + ".pairs");
      if (!pairs.ok()) return pairs.error();
      return define_complex(name, *pairs);
    }
    scope_[name] = Operand{value, {}, {}};
    return Done{};
  }

  Expected<ir::TensorType> input_type(const std::string& name) {
    const TensorMeta& meta = program_.graph.tensors.at(name);
    if (!meta.strided) return input_failure(name, "is sparse; Berth reads dense tensors");
    if (meta.sizes.size() > kMaxRank) return input_failure(name, "has more than 16 dimensions");
    ir::TensorType type;
    type.dtype = meta.dtype;
    std::vector<int64_t> strides;
    for (size_t d = 0; d < meta.sizes.size(); ++d) {
      auto size = symbols_.value(meta.sizes[d]);
      if (!size.ok()) return input_failure(name, "dimension " + std::to_string(d) + ": " + size.error().text());
      type.shape.push_back(*size);
      if (module_.symbols.lower(*size) < 0 || module_.symbols.upper(*size) > lowering::kMaxExtent) {
        return input_failure(name,
                             "dimension " + std::to_string(d) + " may be " + module_.symbols.text(*size) +
                                 "; sizes lie from 0 to 2^31 - 1",
                             Error::kInvalidProgram);
      }
      auto stride = symbols_.value(meta.strides[d]);
      strides.push_back(stride.ok() ? module_.symbols.upper(*stride) : -1);
    }
    if (ir::max_numel(type, module_.symbols) > lowering::kMaxElements) {
      return input_failure(name, "has more than 2^40 elements", Error::kInvalidProgram);
    }
    if (const std::string problem = ir::type_problem(type, module_.symbols); !problem.empty()) {
      return input_failure(name, problem);
    }
    type.dim_order = dimension_order(type, strides);
    return type;
  }

  // From the longest stride to the shortest; dimensions of one element stay where they are. Empty for row-major, and
  // for tensors with gaps or repeats: those the caller packs.
  std::vector<uint8_t> dimension_order(const ir::TensorType& type, const std::vector<int64_t>& strides) const {
    std::vector<uint8_t> order(strides.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
    std::vector<uint8_t> moving;
    for (uint8_t d : order) {
      if (type.shape[d] != Dim(1)) moving.push_back(d);
      if (strides[d] < 1) return {};
    }
    std::stable_sort(moving.begin(), moving.end(), [&](uint8_t a, uint8_t b) { return strides[a] > strides[b]; });
    size_t next = 0;
    for (uint8_t& d : order) {
      if (type.shape[d] != Dim(1)) d = moving[next++];
    }
    for (size_t d = 0; d < order.size(); ++d) {
      if (order[d] != d) return order;
    }
    return {};
  }

  // Tensors without elements have no bytes that their sizes would have to fit.
  Status check_stored(const std::string& target, const ir::TensorType& type) const {
    const std::string problem = ir::type_problem(type, module_.symbols);
    if (problem.empty()) return Done{};
    return Failure{Error::kInvalidProgram, "pt2 tensor \"" + target + "\"", problem};
  }

  /// The payload as a tensor: stored bytes, permuted and repeated as its strides say. Names that share bytes and type
  /// share the value.
  Expected<ValueId> import_constant(const std::string& target, const Payload& payload) {
    const auto key = std::make_tuple(payload.offset, payload.dtype, payload.stored, payload.order, payload.sizes);
    const bool shared = payload.blob.is_mapped();
    if (shared) {
      const auto found = constants_.find(key);
      if (found != constants_.end()) return found->second;
    }
    ir::TensorType type;
    type.dtype = payload.dtype;
    type.shape.assign(payload.stored.begin(), payload.stored.end());
    BERTH_TRY(check_stored(target, type));
    ValueId value = build_.constant(std::move(type), payload.blob, target);
    if (!payload.order.empty()) {
      auto permuted =
          build_.one(OpId::permute_copy_out, {value, ir::dims(payload.order)}, target, target + ".permuted");
      if (!permuted.ok()) return permuted.error();
      value = *permuted;
    }
    const DimList sizes = ir::dims(payload.sizes);
    if (method_.tensor(value).shape != sizes) {
      auto expanded = build_.one(OpId::expand_copy_out, {value, sizes}, target, target + ".expanded");
      if (!expanded.ok()) return expanded.error();
      value = *expanded;
    }
    if (shared) constants_.emplace(key, value);
    return value;
  }

  Expected<ValueId> import_state(const std::string& target, const std::string& name, const Payload& payload) {
    ir::State state;
    state.name = target;
    state.type.dtype = payload.dtype;
    state.type.shape.assign(payload.sizes.begin(), payload.sizes.end());
    if (!payload.order.empty() || payload.stored != payload.sizes) {
      return Failure{Error::kNotSupported, "pt2 tensor \"" + target + "\"",
                     "is changed by the model and does not lie in row-major order; make it contiguous"};
    }
    BERTH_TRY(check_stored(target, state.type));
    state.initial = payload.blob;
    for (const ir::State& other : module_.states) {
      if (other.name == target)
        return input_failure(name, "two inputs are the buffer " + target, Error::kInvalidProgram);
    }
    Written written;
    written.state = module_.states.next_id();
    module_.states.push_back(state);
    ir::Node node;
    node.op = &ir::operator_of(OpId::state_read);
    node.state = written.state;
    node.source = target;
    written.start = method_.add_value(state.type, name);
    ir::Value& value = method_.value(written.start);
    value.kind = ir::ValueKind::kNode;
    value.node = method_.nodes.next_id();
    node.results = {written.start};
    method_.body.nodes.push_back(value.node);
    method_.nodes.push_back(std::move(node));
    written_[name] = written;
    return written.start;
  }

  void write_state(ir::StateId state, ValueId value) {
    ir::Node node;
    node.op = &ir::operator_of(OpId::state_write);
    node.args = {value};
    node.state = state;
    node.source = module_.states[state].name;
    method_.body.nodes.push_back(method_.nodes.next_id());
    method_.nodes.push_back(std::move(node));
  }

  Status import_output(GraphImporter& importer, size_t i) {
    const OutputSpec& spec = program_.outputs[i];
    if (spec.kind == OutputKind::kToken) return Done{};
    const std::string place = "pt2 output " + std::to_string(i);
    if (spec.kind == OutputKind::kTraining) {
      return Failure{Error::kNotSupported, place, "is a loss or a gradient; export the model for inference"};
    }
    auto value = importer.output(program_.graph.outputs[i]);
    if (!value.ok()) return value.error();
    if (spec.kind == OutputKind::kUser) {
      method_.body.outputs.push_back(std::move(*value));
      return Done{};
    }
    const ValueId* tensor = std::get_if<ValueId>(&*value);
    if (spec.kind == OutputKind::kUserInputMutation) return change_input(spec.target, tensor);
    for (const auto& [name, written] : written_) {
      const ir::State& state = module_.states[written.state];
      if (state.name != spec.target) continue;
      if (tensor == nullptr || method_.tensor(*tensor) != state.type) {
        return Failure{Error::kInvalidProgram, place, "the new value of " + spec.target + " has another type"};
      }
      write_state(written.state, *tensor);
      return Done{};
    }
    return Failure{Error::kInvalidProgram, place, "changes " + spec.target + ", which is not a buffer of the model"};
  }

  Status change_input(const std::string& name, const ValueId* value) {
    const auto input = scope_.find(name);
    const ValueId* before = input == scope_.end() ? nullptr : std::get_if<ValueId>(&input->second.value);
    if (before == nullptr || value == nullptr) {
      return input_failure(name, "is said to be changed, and is not a tensor", Error::kInvalidProgram);
    }
    changed_.emplace_back(name, *value);
    return Done{};
  }

  // The new values of inputs that the model changes are outputs of the program, after the model's own.
  void give_changed_inputs() {
    std::set<ValueId> known;
    for (const ir::Argument& output : method_.body.outputs) {
      if (const ValueId* value = std::get_if<ValueId>(&output)) known.insert(*value);
    }
    for (const auto& [name, value] : changed_) {
      const bool own = method_.value(value).kind == ir::ValueKind::kNode && known.insert(value).second;
      if (own) method_.rename(value, name + ".changed");
      method_.body.outputs.emplace_back(value);
    }
  }

  // What operators in place changed, where the signature does not say so.
  Status write_changed(GraphImporter& importer) {
    for (const std::string& name : written_names_) {
      auto value = importer.current(name);
      if (!value.ok()) return value.error();
      const ValueId* tensor = std::get_if<ValueId>(&*value);
      const auto written = written_.find(name);
      if (written == written_.end()) {
        BERTH_TRY(change_input(name, tensor));
        continue;
      }
      if (tensor == nullptr || *tensor == written->second.start) continue;
      if (method_.tensor(*tensor) != method_.tensor(written->second.start)) {
        return input_failure(name, "is changed to another type", Error::kInvalidProgram);
      }
      write_state(written->second.state, *tensor);
    }
    return Done{};
  }

  using ConstantKey = std::tuple<size_t, DType, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>;

  const Program program_;
  Payloads payloads_;
  const ImportOptions& options_;
  ir::Module& module_;
  ir::Method& method_;
  SymbolTable symbols_;
  ImportState state_;
  ir::Builder build_;
  Scope scope_;
  std::set<std::string> written_targets_, written_names_;
  std::map<std::string, Written> written_;                // by the name of the graph's input
  std::vector<std::pair<std::string, ValueId>> changed_;  // new values of the caller's inputs, by their names
  std::map<ConstantKey, ValueId> constants_;
};

Expected<ir::Module> import_archive(const std::shared_ptr<const MappedFile>& file, Span<const uint8_t> bytes,
                                    const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const Archive archive, Archive::open(bytes));
  BERTH_ASSIGN_OR_RETURN(const std::string name, model_name(archive));
  if (archive.has("byteorder")) {
    BERTH_ASSIGN_OR_RETURN(const Record order, archive.find("byteorder"));
    if (archive.text(order) != "little") {
      return Failure{Error::kNotSupported, "pt2 archive", "was written on a machine of another byte order"};
    }
  }
  const std::string path = "models/" + name + ".json";
  BERTH_ASSIGN_OR_RETURN(const Record record, archive.find(path));
  auto program = [&]() -> Expected<Program> {  // the JSON's memory goes before the model is built
    BERTH_ASSIGN_OR_RETURN(const Json json, parse_json(archive.text(record), path));
    return read_program(json, path);
  }();
  if (!program.ok()) return program.error();
  BERTH_ASSIGN_OR_RETURN(Payloads payloads, Payloads::read(archive, name, file, bytes));
  Expected<ir::Module> module{ir::Module()};
  module->operators = options.operators;
  ProgramImporter importer(std::move(*program), std::move(payloads), options, *module);
  BERTH_TRY(importer.run());
  return module;
}

}  // namespace
}  // namespace pt2

Expected<ir::Module> import_pt2(const std::string& path, const ImportOptions& options) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.error();
  return pt2::import_archive(*file, (*file)->bytes(), options);
}

Expected<ir::Module> import_pt2(Span<const uint8_t> bytes, const ImportOptions& options) {
  return pt2::import_archive(nullptr, bytes, options);
}

}  // namespace berth
