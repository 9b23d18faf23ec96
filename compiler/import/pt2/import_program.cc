#include "compiler/import/pt2/import_program.h"

#include "compiler/import/pt2/import_graph.h"
#include "compiler/import/pt2/program_tensors.h"
#include "compiler/import/pt2/user_input.h"

namespace berth::pt2 {
namespace {

class ProgramImporter {
 public:
  ProgramImporter(const Program& program, Payloads payloads, ir::Module& module)
      : program_(program),
        payloads_(std::move(payloads)),
        module_(module),
        method_(make_method(module)),
        symbols_(module.symbols, program_.ranges),
        state_{module, method_, symbols_, {}},
        build_(module, method_, method_.body),
        tensors_(module, method_, build_) {}

  Status run(const ImportOptions& options) {
    BERTH_TRY(check_operators(program_.graph, module_.operators.get()));
    BERTH_TRY(bind_input_sizes(program_, options, symbols_));
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
  static ir::Method& make_method(ir::Module& module) {
    module.methods.emplace_back();
    module.methods.back().name = "forward";
    return module.methods.back();
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
    auto value = written ? tensors_.state(spec.target, name, *payload) : tensors_.constant(spec.target, *payload);
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
    auto pairs = tensors_.constant(target, payload);
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
    auto type = user_input_type(program_.graph, name, symbols_);
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
    if (const auto* state = tensors_.state_of_buffer(spec.target)) {
      if (tensor == nullptr || method_.tensor(*tensor) != method_.tensor(state->start)) {
        return Failure{Error::kInvalidProgram, place, "the new value of " + spec.target + " has another type"};
      }
      tensors_.write(*state, *tensor);
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
      const auto* state = tensors_.state_of_input(name);
      if (state == nullptr) {
        BERTH_TRY(change_input(name, tensor));
        continue;
      }
      if (tensor == nullptr || *tensor == state->start) continue;
      if (method_.tensor(*tensor) != method_.tensor(state->start)) {
        return input_failure(name, "is changed to another type", Error::kInvalidProgram);
      }
      tensors_.write(*state, *tensor);
    }
    return Done{};
  }

  const Program& program_;
  Payloads payloads_;
  ir::Module& module_;
  ir::Method& method_;
  SymbolTable symbols_;
  ImportState state_;
  ir::Builder build_;
  ProgramTensors tensors_;
  Scope scope_;
  std::set<std::string> written_targets_, written_names_;
  std::vector<std::pair<std::string, ValueId>> changed_;  // new values of the caller's inputs, by their names
};

}  // namespace

Status import_program(const Program& program, Payloads payloads, const ImportOptions& options, ir::Module& module) {
  return ProgramImporter(program, std::move(payloads), module).run(options);
}

}  // namespace berth::pt2
