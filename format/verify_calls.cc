#include <cinttypes>
#include <cstring>

#include "base/backend_facts.h"
#include "base/result.h"
#include "format/delegate_device.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

Error verify_operators(const Spot& spot, const fb::ExecutionPlan& plan) {
  for (uint32_t i = 0; i < plan.operators()->size(); ++i) {
    const fb::Operator& op = *plan.operators()->Get(i);
    const Spot here = spot.at("operators", i);
    if (op.name() == nullptr || op.name()->size() == 0) {
      return here.fail(Error::kInvalidProgram, "the operator has no name");
    }
    const uint64_t overload = op.overload() == nullptr ? 0 : op.overload()->size();
    const uint64_t total = op.name()->size() + (overload == 0 ? 0 : overload + 1);
    if (total > kMaxOperatorName) {
      return here.fail(Error::kInvalidProgram, "the name has %" PRIu64 " characters, the limit is %u", total,
                       kMaxOperatorName);
    }
  }
  return Error::kOk;
}

Error verify_delegates(const Spot& spot, const fb::ExecutionPlan& plan) {
  const fb::Program& root = spot.program->root();
  for (uint32_t i = 0; i < plan.delegates()->size(); ++i) {
    const fb::BackendDelegate& delegate = *plan.delegates()->Get(i);
    const Spot here = spot.at("delegates", i);
    if (text(delegate.id())[0] == '\0') return here.fail(Error::kInvalidProgram, "the delegate has no backend");
    const fb::BackendDelegateDataReference* where = delegate.processed();
    if (where == nullptr) return here.fail(Error::kInvalidProgram, "the delegate has no payload");
    if (where->location() < fb::DataLocation::MIN || where->location() > fb::DataLocation::MAX) {
      return here.fail(Error::kInvalidProgram, "payload location %d does not exist",
                       static_cast<int>(where->location()));
    }
    const bool in_segment = where->location() == fb::DataLocation::SEGMENT;
    const uint32_t count = in_segment ? length(root.segments()) : length(root.backend_delegate_data());
    if (where->index() >= count) {
      return here.fail(Error::kInvalidProgram, "the payload is number %u of %u %s", where->index(), count,
                       in_segment ? "segments" : "inline payloads");
    }
    for (uint32_t k = 0; k < length(delegate.compile_specs()); ++k) {
      if (delegate.compile_specs()->Get(k)->key() == nullptr) {
        return here.fail(Error::kInvalidProgram, "compile spec %u has no key", k);
      }
    }
    const TargetDevice target = target_device(delegate);
    if (!target.ok() && target.unregistered()[0] == '\0')
      return here.fail(Error::kInvalidProgram, "%s", target.message());
    const char* problem = runs_nested_programs(text(delegate.id())) ? nullptr : delegate_specs(delegate).problem();
    if (problem != nullptr) return here.fail(Error::kInvalidProgram, "%s", problem);
  }
  return Error::kOk;
}

Error verify_args(const Spot& spot, const fb::ExecutionPlan& plan, const flatbuffers::Vector<int32_t>* args) {
  if (args == nullptr) return spot.fail(Error::kInvalidProgram, "the call has no list of arguments");
  BERTH_RETURN_IF_ERROR(spot.spend(args->size()));
  const int64_t count = plan.values()->size();
  for (uint32_t i = 0; i < args->size(); ++i) {
    const int64_t arg = args->Get(i);
    if (arg >= 0 && arg < count) continue;
    return spot.fail(Error::kInvalidProgram, "argument %u is value %" PRId64 "; there are %" PRId64 " values", i, arg,
                     count);
  }
  return Error::kOk;
}

Error verify_index(const Spot& spot, const char* what, int64_t index, int64_t count) {
  if (index >= 0 && index < count) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "%s %" PRId64 " does not exist; there are %" PRId64, what, index, count);
}

bool is_number(fb::KernelTypes type) {
  return type == fb::KernelTypes::Int || type == fb::KernelTypes::Double || type == fb::KernelTypes::Bool;
}

/// Moves keep the kind of a value, so later calls find the kind that they were loaded for.
Error verify_move(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MoveCall& move) {
  const int64_t count = plan.values()->size();
  BERTH_RETURN_IF_ERROR(verify_index(spot, "value", move.move_from(), count));
  BERTH_RETURN_IF_ERROR(verify_index(spot, "value", move.move_to(), count));
  const auto from = plan.values()->Get(static_cast<uint32_t>(move.move_from()))->val_type();
  const auto to = plan.values()->Get(static_cast<uint32_t>(move.move_to()))->val_type();
  if (from == to || (is_number(from) && is_number(to))) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "value %d of kind %s is moved to value %d of kind %s", move.move_from(),
                   fb::EnumNameKernelTypes(from), move.move_to(), fb::EnumNameKernelTypes(to));
}

Error verify_jump(const Spot& spot, const fb::ExecutionPlan& plan, const fb::JumpFalseCall& jump,
                  int64_t instructions) {
  BERTH_RETURN_IF_ERROR(verify_index(spot, "value", jump.cond_value_index(), plan.values()->size()));
  if (jump.destination_instruction() < 0 || jump.destination_instruction() > instructions) {
    return spot.fail(Error::kInvalidProgram, "the jump goes to instruction %d; the chain has %" PRId64,
                     jump.destination_instruction(), instructions);
  }
  const fb::EValue& condition = *plan.values()->Get(static_cast<uint32_t>(jump.cond_value_index()));
  if (is_number(condition.val_type())) return Error::kOk;
  const fb::Tensor* tensor = condition.val_as_Tensor();
  if (tensor != nullptr && tensor->scalar_type() == fb::ScalarType::BOOL) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "condition %d is neither a Bool nor a tensor of bool",
                   jump.cond_value_index());
}

Error verify_instruction(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Instruction& instruction,
                         int64_t instructions) {
  const fb::InstructionArguments type = instruction.instr_args_type();
  if (type == fb::InstructionArguments::NONE || type > fb::InstructionArguments::MAX) {
    return spot.fail(Error::kInvalidProgram, "kind %d of instruction does not exist", static_cast<int>(type));
  }
  if (instruction.instr_args() == nullptr) return spot.fail(Error::kInvalidProgram, "the instruction has no content");
  switch (type) {
    case fb::InstructionArguments::KernelCall: {
      const fb::KernelCall& call = *instruction.instr_args_as_KernelCall();
      BERTH_RETURN_IF_ERROR(verify_index(spot, "operator", call.op_index(), plan.operators()->size()));
      return verify_args(spot, plan, call.args());
    }
    case fb::InstructionArguments::DelegateCall: {
      const fb::DelegateCall& call = *instruction.instr_args_as_DelegateCall();
      BERTH_RETURN_IF_ERROR(verify_index(spot, "delegate", call.delegate_index(), plan.delegates()->size()));
      return verify_args(spot, plan, call.args());
    }
    case fb::InstructionArguments::MoveCall: return verify_move(spot, plan, *instruction.instr_args_as_MoveCall());
    case fb::InstructionArguments::JumpFalseCall:
      return verify_jump(spot, plan, *instruction.instr_args_as_JumpFalseCall(), instructions);
    default:
      return spot.fail(Error::kNotSupported,
                       "FreeCall takes memory from tensors without a bound, which cannot be loaded");
  }
}

}  // namespace

Error verify_calls(const Spot& spot, const fb::ExecutionPlan& plan) {
  BERTH_RETURN_IF_ERROR(verify_operators(spot, plan));
  BERTH_RETURN_IF_ERROR(verify_delegates(spot, plan));
  for (uint32_t c = 0; c < plan.chains()->size(); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    if (instructions == nullptr) {
      return spot.at("chains", c).fail(Error::kInvalidProgram, "the chain has no list of instructions");
    }
    for (uint32_t i = 0; i < instructions->size(); ++i) {
      BERTH_RETURN_IF_ERROR(
          verify_instruction(spot.at("instructions", i), plan, *instructions->Get(i), instructions->size()));
    }
  }
  return Error::kOk;
}

}  // namespace berth::format::internal
