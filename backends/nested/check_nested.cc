#include "backends/nested/check_nested.h"

#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/math.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "format/verify_nested.h"
#include "runtime/prim_kernels.h"
#include "runtime/signature.h"

namespace berth {
namespace {

using format::length;
using format::Storage;
using format::text;

constexpr uint8_t kInput = format::kNestedInput;
constexpr uint8_t kOutput = format::kNestedOutput;
constexpr uint8_t kView = 4;  // the result of an operator that moves its data pointer

class Checker {
 public:
  /// `kinds` is what verify_nested() found of each value.
  Checker(const Program& program, const fb::ExecutionPlan& plan, const NestedChecks& checks, std::vector<uint8_t> kinds,
          format::Report* report)
      : program_(program), plan_(plan), checks_(checks), report_(report), kinds_(std::move(kinds)) {}

  Error check() {
    BERTH_RETURN_IF_ERROR(each_instruction(&Checker::find_views));
    return each_instruction(&Checker::check_instruction);
  }

 private:
  [[gnu::format(printf, 3, 4)]] Error fail(size_t index, const char* message, ...) {
    char place[96];
    std::snprintf(place, sizeof(place), "nested program instructions[%zu]", index);
    char sentence[192];
    va_list arguments;
    va_start(arguments, message);
    std::vsnprintf(sentence, sizeof(sentence), message, arguments);
    va_end(arguments);
    return format::fail(report_, Error::kInvalidProgram, place, "%s", sentence);
  }

  Error each_instruction(Error (Checker::*visit)(const fb::Instruction&, size_t)) {
    size_t index = 0;
    for (flatbuffers::uoffset_t c = 0; c < length(plan_.chains()); ++c) {
      const fb::Chain* chain = plan_.chains()->Get(c);
      const auto* instructions = chain == nullptr ? nullptr : chain->instructions();
      for (flatbuffers::uoffset_t i = 0; i < length(instructions); ++i, ++index) {
        const fb::Instruction* instruction = instructions->Get(i);
        if (instruction == nullptr || instruction->instr_args() == nullptr) continue;
        BERTH_RETURN_IF_ERROR((this->*visit)(*instruction, index));
      }
    }
    return Error::kOk;
  }

  // The kernel of a call and its signature; false for calls that the loader will refuse.
  bool look_up(const fb::KernelCall& call, const KernelEntry** kernel, Signature* signature) const {
    const auto* operators = plan_.operators();
    if (call.op_index() < 0 || static_cast<uint32_t>(call.op_index()) >= length(operators)) return false;
    const fb::Operator* op = operators->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()));
    if (op == nullptr) return false;
    *kernel = program_.find_kernel(text(op->name()), text(op->overload()));
    return *kernel != nullptr && (*kernel)->signature != nullptr && Signature::parse((*kernel)->signature, signature) &&
           length(call.args()) >= signature->parameters().size();
  }

  uint8_t kinds_of(int64_t value) const { return is_index(value, kinds_.size()) ? kinds_[value] : uint8_t{0}; }

  Error find_views(const fb::Instruction& instruction, size_t) {
    const fb::KernelCall* call = instruction.instr_args_as_KernelCall();
    const KernelEntry* kernel = nullptr;
    Signature signature;
    if (call == nullptr || !look_up(*call, &kernel, &signature)) return Error::kOk;
    for (size_t i = 0; i < signature.parameters().size(); ++i) {
      const int32_t value = call->args()->Get(static_cast<flatbuffers::uoffset_t>(i));
      const bool known = is_index(value, kinds_.size());
      if (signature.parameters()[i].kind == ArgKind::kView && known) kinds_[value] |= kView;
    }
    return Error::kOk;
  }

  Error check_instruction(const fb::Instruction& instruction, size_t index) {
    switch (instruction.instr_args_type()) {
      case fb::InstructionArguments::KernelCall: return check_call(*instruction.instr_args_as_KernelCall(), index);
      case fb::InstructionArguments::MoveCall: return check_move(*instruction.instr_args_as_MoveCall(), index);
      case fb::InstructionArguments::JumpFalseCall: {
        const int32_t condition = instruction.instr_args_as_JumpFalseCall()->cond_value_index();
        if (checks_.host_kernels || format::tensor_at(plan_, condition) == nullptr) return Error::kOk;
        return fail(index, "a jump on a tensor's elements, which the host cannot access");
      }
      default: return Error::kOk;
    }
  }

  // After a move, two values refer to the same tensor, so the rule about writing could not be checked.
  Error check_move(const fb::MoveCall& move, size_t index) {
    const fb::Tensor* from = format::tensor_at(plan_, move.move_from());
    const bool own = from != nullptr && format::storage_of(*from) == Storage::kPlanned;
    if (from != nullptr && (!own || kinds_of(move.move_from()) != 0)) {
      return fail(index, "value %d is moved but is not a tensor of the scratch", move.move_from());
    }
    if (kinds_of(move.move_to()) != 0) {
      return fail(index, "value %d, an input, output or view, is replaced", move.move_to());
    }
    return Error::kOk;
  }

  Error check_call(const fb::KernelCall& call, size_t index) {
    const KernelEntry* kernel = nullptr;
    Signature signature;
    if (!look_up(call, &kernel, &signature)) return Error::kOk;
    const KernelTable prims = prim_kernels();
    const bool host_code = kernel >= prims.begin() && kernel < prims.end() && !kernel->takes_devices;
    for (size_t i = 0; i < signature.parameters().size(); ++i) {
      const Parameter& parameter = signature.parameters()[i];
      const int32_t value = call.args()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (host_code && !checks_.host_kernels && format::tensor_at(plan_, value) != nullptr) {
        return fail(index, "%.60s looks at elements, which the host cannot access", kernel->name);
      }
      if (parameter.kind == ArgKind::kRow) return fail(index, "%.60s, which delegates have no use for", kernel->name);
      if (parameter.kind == ArgKind::kView && (kinds_of(value) & (kInput | kOutput)) != 0) {
        return fail(index, "value %d, an input or output, becomes a view", value);
      }
      if (parameter.written && parameter.kind != ArgKind::kView) BERTH_RETURN_IF_ERROR(check_written(value, index));
    }
    return Error::kOk;
  }

  /// Whether a kernel may not write the value. What is an output as well is changed in place.
  bool is_only_read(int32_t value) const {
    const uint8_t kinds = kinds_of(value);
    return (kinds & kView) != 0 || (kinds & (kInput | kOutput)) == kInput;
  }

  Error check_written(int32_t value, size_t index) {
    if (is_only_read(value)) {
      return fail(index, "value %d, an input or a view, is written", value);
    }
    const bool known = is_index(value, kinds_.size());
    const fb::EValue* entry = known ? plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(value)) : nullptr;
    const fb::TensorList* list = entry == nullptr ? nullptr : entry->val_as_TensorList();
    const auto* items = list == nullptr ? nullptr : list->items();
    for (flatbuffers::uoffset_t i = 0; i < length(items); ++i) {
      if (!is_only_read(items->Get(i))) continue;
      return fail(index, "value %d, an input or a view, is written", items->Get(i));
    }
    return Error::kOk;
  }

  const Program& program_;
  const fb::ExecutionPlan& plan_;
  const NestedChecks& checks_;
  format::Report* report_;
  std::vector<uint8_t> kinds_;
};

}  // namespace

Error check_nested(const Program& program, const NestedChecks& checks, format::Report* report) {
  const format::ProgramView view = program.view();
  std::vector<uint8_t> kinds(format::nested_port_bytes(view));
  BERTH_RETURN_IF_ERROR(format::verify_nested(view, checks.version, kinds, report));
  return Checker(program, view.method(0), checks, std::move(kinds), report).check();
}

}  // namespace berth
