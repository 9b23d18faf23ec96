#include "backends/nested/check_nested.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "format/nested.h"
#include "format/program_view.h"
#include "format/tensor_facts.h"
#include "runtime/prim_kernels.h"
#include "runtime/signature.h"

namespace berth {
namespace {

using format::length;
using format::Storage;
using format::text;

enum ValueKind : uint8_t {
  kInput = 1,
  kOutput = 2,
  kView = 4,  // the result of an operator that moves its data pointer
};

class Checker {
 public:
  Checker(const Program& program, const fb::ExecutionPlan& plan, const NestedChecks& checks, format::Report* report)
      : program_(program), plan_(plan), checks_(checks), report_(report), kinds_(length(plan.values())) {}

  Error check() {
    BERTH_RETURN_IF_ERROR(check_whole());
    for (size_t i = 0; i < kinds_.size(); ++i) BERTH_RETURN_IF_ERROR(check_value(i));
    BERTH_RETURN_IF_ERROR(check_ports(plan_.inputs(), "inputs", kInput));
    BERTH_RETURN_IF_ERROR(check_ports(plan_.outputs(), "outputs", kOutput));
    BERTH_RETURN_IF_ERROR(each_instruction(&Checker::find_views));
    return each_instruction(&Checker::check_instruction);
  }

 private:
  [[gnu::format(printf, 4, 5)]] Error fail(const char* what, size_t index, const char* message, ...) {
    char place[96];
    std::snprintf(place, sizeof(place), "nested program %s[%zu]", what, index);
    char sentence[192];
    va_list arguments;
    va_start(arguments, message);
    std::vsnprintf(sentence, sizeof(sentence), message, arguments);
    va_end(arguments);
    return format::fail(report_, Error::kInvalidProgram, place, "%s", sentence);
  }

  Error check_whole() {
    if (length(plan_.delegates()) > 0) return fail("delegates", 0, "a delegate has no delegates of its own");
    const MethodMeta meta = program_.method_meta(size_t{0}).value();
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      const Result<Device> device = meta.memory_planned_buffer_device(i);
      if (!device.ok() || !device->is_cpu()) {
        return fail("arenas", i, "a nested program says no devices; its delegate does");
      }
    }
    const size_t most = checks_.version < format::kNestedLentVersion ? 1 : 1 + size_t{length(plan_.outputs())};
    if (meta.num_memory_planned_buffers() > most) {
      return fail("arenas", most, most == 1 ? "the scratch is the only arena" : "there is no output for this arena");
    }
    return Error::kOk;
  }

  // The arena of output `k` is the output's bytes, all of them and no more, or there are none.
  Error check_result(size_t k) {
    const MethodMeta meta = program_.method_meta(size_t{0}).value();
    const uint32_t id = format::nested_result_arena(k);
    uint64_t arena = 0;
    if (id <= meta.num_memory_planned_buffers()) {
      BERTH_ASSIGN_OR_RETURN(arena, meta.memory_planned_buffer_size(id - 1));
    }
    const fb::Tensor* tensor = format::tensor_at(plan_, plan_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(k)));
    if (tensor == nullptr || format::storage_of(*tensor) != Storage::kPlanned) {
      return arena == 0 ? Error::kOk : fail("outputs", k, "it has an arena and does not lie there");
    }
    uint64_t bytes = 0;
    const fb::AllocationDetails& place = *tensor->allocation_info();
    if (place.memory_id() == id && format::planned_offset(place) == 0 && format::tensor_nbytes(*tensor, &bytes) &&
        bytes == arena && bytes > 0) {
      return Error::kOk;
    }
    return fail("outputs", k, "it is planned and is not all of arena %u", id);
  }

  Error check_value(size_t index) {
    const fb::Tensor* tensor = format::tensor_at(plan_, static_cast<int64_t>(index));
    if (tensor == nullptr) return Error::kOk;
    if (!format::tensor_device(*tensor).is_cpu()) {
      return fail("values", index, "a nested program says no devices; its delegate does");
    }
    switch (format::storage_of(*tensor)) {
      case Storage::kConstant: return fail("values", index, "a constant is named data of the outer program (external)");
      case Storage::kState:
      case Storage::kExternalState: return fail("values", index, "a nested program keeps no state");
      case Storage::kPlanned: {
        // A planned tensor with a name is state that begins as zeros.
        const fb::ExtraTensorInfo* extra = tensor->extra_tensor_info();
        const bool named = extra != nullptr && text(extra->fully_qualified_name())[0] != '\0';
        return named ? fail("values", index, "a nested program keeps no state") : Error::kOk;
      }
      default: return Error::kOk;
    }
  }

  Error check_ports(const flatbuffers::Vector<int32_t>* ports, const char* what, uint8_t kind) {
    for (flatbuffers::uoffset_t i = 0; i < length(ports); ++i) {
      const int32_t value = ports->Get(i);
      const fb::Tensor* tensor = format::tensor_at(plan_, value);
      const Storage storage = tensor == nullptr ? Storage::kConstant : format::storage_of(*tensor);
      const bool lent =
          kind == kOutput && storage == Storage::kPlanned && checks_.version >= format::kNestedLentVersion;
      if (storage != Storage::kNone && !lent) {
        return fail(what, i, "value %d is no tensor whose memory the call gives", value);
      }
      if (kind == kOutput) BERTH_RETURN_IF_ERROR(check_result(i));
      uint8_t& kinds = kinds_[static_cast<size_t>(value)];
      if (kinds != 0) return fail(what, i, "value %d is an input or output already", value);
      kinds = kind;
    }
    return Error::kOk;
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

  // The kernel of a call and its signature; false for what the loader will refuse.
  bool look_up(const fb::KernelCall& call, const KernelEntry** kernel, Signature* signature) const {
    const auto* operators = plan_.operators();
    if (call.op_index() < 0 || static_cast<uint32_t>(call.op_index()) >= length(operators)) return false;
    const fb::Operator* op = operators->Get(static_cast<flatbuffers::uoffset_t>(call.op_index()));
    if (op == nullptr) return false;
    *kernel = program_.find_kernel(text(op->name()), text(op->overload()));
    return *kernel != nullptr && (*kernel)->signature != nullptr && Signature::parse((*kernel)->signature, signature) &&
           length(call.args()) >= signature->parameters().size();
  }

  uint8_t kinds_of(int64_t value) const {
    return value < 0 || static_cast<size_t>(value) >= kinds_.size() ? uint8_t{0} : kinds_[static_cast<size_t>(value)];
  }

  Error find_views(const fb::Instruction& instruction, size_t) {
    const fb::KernelCall* call = instruction.instr_args_as_KernelCall();
    const KernelEntry* kernel = nullptr;
    Signature signature;
    if (call == nullptr || !look_up(*call, &kernel, &signature)) return Error::kOk;
    for (size_t i = 0; i < signature.parameters().size(); ++i) {
      const int32_t value = call->args()->Get(static_cast<flatbuffers::uoffset_t>(i));
      const bool known = value >= 0 && static_cast<size_t>(value) < kinds_.size();
      if (signature.parameters()[i].kind == ArgKind::kView && known) kinds_[static_cast<size_t>(value)] |= kView;
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
        return fail("instructions", index, "a jump on a tensor's elements, which the host cannot read here");
      }
      default: return Error::kOk;
    }
  }

  // A value that a tensor was moved to is that tensor from then on: the rule about writing could not be held.
  Error check_move(const fb::MoveCall& move, size_t index) {
    const fb::Tensor* from = format::tensor_at(plan_, move.move_from());
    const bool own = from != nullptr && format::storage_of(*from) == Storage::kPlanned;
    if (from != nullptr && (!own || kinds_of(move.move_from()) != 0)) {
      return fail("instructions", index, "value %d is moved and is no tensor of the scratch", move.move_from());
    }
    if (kinds_of(move.move_to()) != 0) {
      return fail("instructions", index, "value %d, an input, output or view, is replaced", move.move_to());
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
        return fail("instructions", index, "%.60s looks at elements, which the host cannot read here", kernel->name);
      }
      if (parameter.kind == ArgKind::kView && (kinds_of(value) & (kInput | kOutput)) != 0) {
        return fail("instructions", index, "value %d, an input or output, becomes a view", value);
      }
      if (parameter.written && parameter.kind != ArgKind::kView) BERTH_RETURN_IF_ERROR(check_written(value, index));
    }
    return Error::kOk;
  }

  Error check_written(int32_t value, size_t index) {
    if ((kinds_of(value) & (kInput | kView)) != 0) {
      return fail("instructions", index, "value %d, an input or a view, is written", value);
    }
    const bool known = value >= 0 && static_cast<size_t>(value) < kinds_.size();
    const fb::EValue* entry = known ? plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(value)) : nullptr;
    const fb::TensorList* list = entry == nullptr ? nullptr : entry->val_as_TensorList();
    const auto* items = list == nullptr ? nullptr : list->items();
    for (flatbuffers::uoffset_t i = 0; i < length(items); ++i) {
      if ((kinds_of(items->Get(i)) & (kInput | kView)) == 0) continue;
      return fail("instructions", index, "value %d, an input or a view, is written", items->Get(i));
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
  if (program.num_methods() != 1 || std::strcmp(program.method_name(0), format::kNestedMethodName) != 0) {
    return format::fail(report, Error::kInvalidProgram, "nested program methods",
                        "one method \"%s\" is expected, found %zu", format::kNestedMethodName, program.num_methods());
  }
  const format::ProgramView view = program.view();
  return Checker(program, view.method(0), checks, report).check();
}

}  // namespace berth
