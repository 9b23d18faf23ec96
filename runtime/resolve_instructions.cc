// MethodLoader::resolve: looks up the kernels and arguments of a method's instructions.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "base/math.h"
#include "runtime/method_loader.h"
#include "runtime/prim_kernels.h"

namespace berth::internal {

using format::length;
using format::text;

bool is_prim(const KernelEntry* entry) {
  const KernelTable prims = prim_kernels();
  return entry >= prims.begin() && entry < prims.end();
}

namespace {

bool is_list(const EValue& value) { return value.tag() == Tag::kIntList || value.tag() == Tag::kTensorList; }

// The number of values of a call of this kernel in the file. Out variants repeat their result at the end.
size_t file_args(const KernelEntry& kernel, const Signature& signature) {
  return signature.parameters().size() + (signature.returns_slot() || is_prim(&kernel) ? 0 : 1);
}

}  // namespace

Error MethodLoader::resolve(MethodData& data) {
  BERTH_RETURN_IF_ERROR(find_kernels(data));
  mark_given(data);
  size_t index = 0;
  for (flatbuffers::uoffset_t c = 0; c < length(plan_.chains()); ++c) {
    const auto& instructions = *plan_.chains()->Get(c)->instructions();
    const size_t begin = index;
    const size_t end = begin + instructions.size();
    for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i, ++index) {
      BERTH_RETURN_IF_ERROR(resolve_instruction(data, instructions.Get(i), begin, end, index));
    }
  }
  spread_volatile(data);
  BERTH_RETURN_IF_ERROR(check_inputs(data));
  return check_calls(data);
}

Error MethodLoader::find_kernels(MethodData& data) {
  size_t missing = 0;
  const char* first_name = nullptr;
  const char* first_overload = nullptr;
  size_t first = 0;
  for (flatbuffers::uoffset_t i = 0; i < data.counts.operators; ++i) {
    const fb::Operator* op = plan_.operators()->Get(i);
    if (op == nullptr || op->name() == nullptr) {
      return fail(Error::kInvalidProgram, "operators", i, "the operator has no name");
    }
    data.kernels[i] = program_.find_kernel(text(op->name()), text(op->overload()));
    if (data.kernels[i] == nullptr && missing++ == 0) {
      first = i;
      first_name = text(op->name());
      first_overload = text(op->overload());
    }
  }
  if (missing == 0) return check_own_operators(data);
  char others[48] = "";
  if (missing > 1) std::snprintf(others, sizeof(others), ", and for %zu other operators", missing - 1);
  return fail(Error::kOperatorMissing, "operators", first,
              "no kernel for %.60s%s%.30s%s; give Program::load a table that has them", first_name,
              first_overload[0] == '\0' ? "" : ".", first_overload, others);
}

// The plan may lay results of operators that the table does not have over arguments, as the file says; kernels agree.
Error MethodLoader::check_own_operators(const MethodData& data) {
  const fb::MethodMeta* meta = program_.names_of(plan_);
  for (flatbuffers::uoffset_t i = 0; meta != nullptr && i < length(meta->own_operators()); ++i) {
    const fb::OwnOperator& own = *meta->own_operators()->Get(i);
    const KernelEntry& kernel = *data.kernels[own.index()];
    const uint32_t refused = own.in_place() & ~kernel.in_place_arguments;
    if (refused == 0 || is_prim(&kernel)) continue;
    int argument = 0;
    while ((refused >> argument & 1u) == 0) ++argument;
    return fail(Error::kNotSupported, "operators", static_cast<size_t>(own.index()),
                "the program computes %.60s in place of argument %d, and its kernel does not allow that", kernel.name,
                argument);
  }
  return Error::kOk;
}

Error MethodLoader::look_up(MethodData& data, int64_t value, size_t index, EValue** out) {
  if (value < 0 || static_cast<uint64_t>(value) >= data.counts.values) {
    return fail(Error::kInvalidProgram, "instructions", index, "there is no value %" PRId64, value);
  }
  *out = &data.values[value];
  return Error::kOk;
}

Error MethodLoader::resolve_instruction(MethodData& data, const fb::Instruction* instruction, size_t chain_begin,
                                        size_t chain_end, size_t index) {
  Instruction& out = *new (&data.instructions[index]) Instruction();
  data.resolved = index + 1;
  out.args = data.args + next_arg_;
  switch (instruction->instr_args_type()) {
    case fb::InstructionArguments::KernelCall:
      return resolve_call(data, *instruction->instr_args_as_KernelCall(), index, &out);
    case fb::InstructionArguments::DelegateCall:
      return resolve_delegate_call(data, *instruction->instr_args_as_DelegateCall(), index, &out);
    case fb::InstructionArguments::MoveCall: {
      const fb::MoveCall& move = *instruction->instr_args_as_MoveCall();
      out.kind = Instruction::Kind::kMove;
      BERTH_RETURN_IF_ERROR(look_up(data, move.move_from(), index, &out.args[0]));
      BERTH_RETURN_IF_ERROR(look_up(data, move.move_to(), index, &out.args[1]));
      data.value_flags[move.move_to()] |= kVolatileValue;
      break;
    }
    case fb::InstructionArguments::JumpFalseCall: {
      const fb::JumpFalseCall& jump = *instruction->instr_args_as_JumpFalseCall();
      out.kind = Instruction::Kind::kJumpFalse;
      BERTH_RETURN_IF_ERROR(look_up(data, jump.cond_value_index(), index, &out.args[0]));
      if (jump.destination_instruction() < 0) {
        return fail(Error::kInvalidProgram, "instructions", index, "a jump to %d", jump.destination_instruction());
      }
      // A jump beyond the end of the chain goes to its end.
      const size_t destination = chain_begin + static_cast<size_t>(jump.destination_instruction());
      out.count = static_cast<uint32_t>(destination < chain_end ? destination : chain_end);
      break;
    }
    case fb::InstructionArguments::FreeCall:
      out.kind = Instruction::Kind::kFree;
      BERTH_RETURN_IF_ERROR(look_up(data, instruction->instr_args_as_FreeCall()->value_index(), index, &out.args[0]));
      break;
    default:
      return fail(Error::kInvalidProgram, "instructions", index, "instruction type %d is not supported",
                  static_cast<int>(instruction->instr_args_type()));
  }
  next_arg_ += 2;
  return Error::kOk;
}

const Signature* MethodLoader::signature_of(const KernelEntry* kernel) {
  if (parsed_ == kernel) return &signature_;
  parsed_ = nullptr;
  if (kernel->signature == nullptr || !Signature::parse(kernel->signature, &signature_)) return nullptr;
  parsed_ = kernel;
  return &signature_;
}

Error MethodLoader::resolve_call(MethodData& data, const fb::KernelCall& call, size_t index, Instruction* out) {
  if (!is_index(call.op_index(), data.counts.operators)) {
    return fail(Error::kInvalidProgram, "instructions", index, "there is no operator %d", call.op_index());
  }
  out->kind = Instruction::Kind::kKernel;
  out->kernel = data.kernels[call.op_index()];
  const Signature* signature = signature_of(out->kernel);
  if (signature == nullptr) {
    return fail(Error::kInternal, "instructions", index, "the table's signature of %.60s does not parse",
                out->kernel->name);
  }
  const size_t expected = file_args(*out->kernel, *signature);
  if (length(call.args()) != expected) {
    return fail(Error::kInvalidProgram, "instructions", index, "%.60s takes %zu values, found %u", out->kernel->name,
                expected, length(call.args()));
  }
  for (flatbuffers::uoffset_t i = 0; i < expected; ++i) {
    BERTH_RETURN_IF_ERROR(look_up(data, call.args()->Get(i), index, &out->args[i]));
  }
  next_arg_ += expected;
  const Span<const Parameter> parameters = signature->parameters();
  out->count = static_cast<uint32_t>(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const size_t value = static_cast<size_t>(out->args[i] - data.values);
    if (parameters[i].kind == ArgKind::kSlot) data.value_flags[value] |= kVolatileValue;
    const bool row = parameters[i].kind == ArgKind::kRow;
    if ((row || parameters[i].kind == ArgKind::kView) && out->args[i]->is_tensor()) {
      data.value_flags[value] |= kVolatileValue;
      data.flags_of(out->args[i]->tensor()) |= row ? kRowTensor : kViewTensor;
      data.has_rows = data.has_rows || row;
    }
  }
  return Error::kOk;
}

// A list is as volatile as its elements.
void MethodLoader::spread_volatile(MethodData& data) const {
  for (size_t i = 0; i < data.counts.values; ++i) {
    if (!is_list(data.values[i])) continue;
    for (const EValue* item : data.values[i].items()) {
      if ((data.value_flags[item - data.values] & kVolatileValue) != 0) data.value_flags[i] |= kVolatileValue;
    }
  }
}

// set_input copies into planned inputs, so they must have memory of their own.
Error MethodLoader::check_inputs(MethodData& data) {
  for (size_t i = 0; i < data.counts.inputs; ++i) {
    const Tensor* tensor = data.inputs[i].tensor;
    if (tensor == nullptr || (data.flags_of(*tensor) & (kConstantTensor | kViewTensor | kRowTensor)) == 0) continue;
    return fail(Error::kInvalidProgram, "inputs", i, "value %u is a constant or the output of a view",
                data.inputs[i].value);
  }
  return Error::kOk;
}

Error MethodLoader::check_calls(MethodData& data) {
  for (size_t i = 0; i < data.counts.instructions; ++i) {
    Instruction& instruction = data.instructions[i];
    mention_others(data, instruction);
    if (instruction.kind == Instruction::Kind::kDelegate) {
      BERTH_RETURN_IF_ERROR(check_delegate_call(data, i, When::kLoad, report_));
    }
    if (instruction.kind != Instruction::Kind::kKernel) continue;
    const Signature* signature = signature_of(instruction.kernel);
    if (signature == nullptr) return Error::kInternal;
    const Span<EValue* const> args(instruction.args, instruction.count);
    const Span<const Parameter> parameters = signature->parameters();
    BERTH_RETURN_IF_ERROR(check_call(data, i, parameters, When::kLoad, report_));
    mention_call(data, instruction, *signature);
    for (size_t a = 0; a < args.size(); ++a) {
      const bool changes =
          (data.value_flags[args[a] - data.values] & kVolatileValue) != 0 && parameters[a].kind != ArgKind::kSlot;
      const bool converts = parameters[a].kind == ArgKind::kFloat && args[a]->is_int();
      if (changes || converts) instruction.kind = Instruction::Kind::kCheckedKernel;
    }
    if (data.counts.stacks == 0 || instruction.kind != Instruction::Kind::kCheckedKernel) continue;
    std::copy(parameters.begin(), parameters.end(), data.parameters + (instruction.args - data.args));
  }
  return Error::kOk;
}

size_t MethodLoader::temp_bytes(const MethodData& data, int threads) const {
  size_t most = 0;
  for (size_t i = 0; i < data.counts.delegates; ++i) {
    const Delegate& delegate = data.delegates[i];
    if (delegate.call != Delegate::kNoCall && delegate.needed.temp_bytes > most) most = delegate.needed.temp_bytes;
  }
  Signature signature;
  for (size_t i = 0; i < data.counts.instructions; ++i) {
    const Instruction& instruction = data.instructions[i];
    const bool call =
        instruction.kind == Instruction::Kind::kKernel || instruction.kind == Instruction::Kind::kCheckedKernel;
    if (!call || instruction.kernel->temp_bytes == nullptr) continue;
    if (!Signature::parse(instruction.kernel->signature, &signature)) continue;
    EValue converted[Signature::kMaxParameters];
    EValue* args[Signature::kMaxParameters];
    bool fits = true;
    for (size_t a = 0; a < instruction.count; ++a) {
      args[a] = instruction.args[a];
      fits = fits && accepts(signature.parameters()[a], *args[a]);
      if (signature.parameters()[a].kind != ArgKind::kFloat || !args[a]->is_int()) continue;
      converted[a] = EValue(args[a]->scalar_to<double>());
      args[a] = &converted[a];
    }
    // A value that an instruction computes may have another tag until then, so the kernel cannot be asked for its temp
    // memory.
    if (!fits) continue;
    const size_t bytes = instruction.kernel->temp_bytes({args, instruction.count}, threads);
    if (bytes > most) most = bytes;
  }
  return most;
}

}  // namespace berth::internal
