// The interpreter.

#include <cinttypes>
#include <cstdio>

#include "base/math.h"
#include "runtime/log.h"
#include "runtime/method.h"
#include "runtime/method_data.h"
#include "runtime/observer.h"

namespace berth::internal {

void instruction_place(const MethodData& data, size_t index, char (&place)[96]) {
  const char* name = "";
  // The end follows the last instruction.
  static constexpr Instruction kEnd = {{nullptr}, nullptr, nullptr, 0, Instruction::Kind::kFree};
  const Instruction& instruction = index < data.counts.instructions ? data.instructions[index] : kEnd;
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
    case Instruction::Kind::kCheckedKernel: name = instruction.kernel->name; break;
    case Instruction::Kind::kDelegate: name = instruction.delegate->name; break;
    default: break;
  }
  std::snprintf(place, sizeof(place), "methods[%.24s].instructions[%zu] %.40s", format::text(data.plan->name()), index,
                name);
}

namespace {

Error fail_here(MethodData& data, Error error, const char* message) {
  char place[96];
  instruction_place(data, data.position, place);
  format::fail(&data.report, error, place, "%s", message);
  if (!data.quiet) log_message(LogLevel::kError, "%s: %s: %s", place, to_string(error), message);
  return error;
}

Error call_kernel(MethodData& data, const Instruction& instruction, Span<EValue* const> args) {
  KernelContext context(data.temp, data.pool, data.device_table(), data.user, data.observer, &data.fetch);
  context.set_state(instruction.state);
  context.set_data(instruction.kernel->data);
  const Error error = instruction.kernel->call(context, args);
  if (__builtin_expect(error == Error::kOk, 1)) return error;
  return fail_here(data, error, context.message() == nullptr ? "the kernel gave no reason" : context.message());
}

// Values may have changed since the method was loaded. An Int is converted to a Double for each call that takes a
// float, since another call may take the same value as an integer.
Error call_checked(MethodData& data, const Instruction& instruction, Span<const Parameter> parameters) {
  const Error error = check_call(data, data.position, parameters, When::kRun, &data.report);
  if (error != Error::kOk) return error;
  EValue converted[Signature::kMaxParameters];
  EValue* args[Signature::kMaxParameters];
  for (size_t i = 0; i < parameters.size(); ++i) {
    args[i] = instruction.args[i];
    if (parameters[i].kind != ArgKind::kFloat || !args[i]->is_int()) continue;
    converted[i] = EValue(args[i]->scalar_to<double>());
    args[i] = &converted[i];
  }
  return call_kernel(data, instruction, {args, parameters.size()});
}

Error call_checked(MethodData& data, const Instruction& instruction) {
  if (data.counts.stacks != 0) {
    return call_checked(data, instruction, {data.parameters + (instruction.args - data.args), instruction.count});
  }
  Signature signature;
  if (!Signature::parse(instruction.kernel->signature, &signature)) return Error::kInternal;
  return call_checked(data, instruction, signature.parameters());
}

Error call_delegate(MethodData& data, const Instruction& instruction) {
  const Error wrong = check_delegate_call(data, data.position, When::kRun, &data.report);
  if (wrong != Error::kOk) return wrong;
  KernelContext context(data.temp, data.pool, data.device_table(), data.user, data.observer, &data.fetch);
  const Delegate& delegate = *instruction.delegate;
  const Error error = delegate.backend->execute(delegate.handle, context, {instruction.args, instruction.count});
  if (__builtin_expect(error == Error::kOk, 1)) return error;
  return fail_here(data, error, context.message() == nullptr ? "the backend gave no reason" : context.message());
}

// A tensor is false if any of its elements is false.
Error read_condition(MethodData& data, const EValue& value, bool* truth) {
  if (value.is_bool()) {
    *truth = value.to_bool();
    return Error::kOk;
  }
  if (!value.is_tensor() || value.tensor().dtype() != DType::kBool || value.tensor().raw() == nullptr ||
      !value.tensor().device().is_cpu()) {
    return fail_here(data, Error::kInvalidProgram,
                     "the condition of a jump must be a boolean or a tensor of booleans on the host");
  }
  const uint8_t* elements = value.tensor().data<uint8_t>();
  *truth = true;
  for (int64_t i = 0; i < value.tensor().numel() && *truth; ++i) *truth = elements[i] != 0;
  return Error::kOk;
}

Error jump(MethodData& data, const Instruction& instruction) {
  bool truth = true;
  BERTH_RETURN_IF_ERROR(read_condition(data, *instruction.args[0], &truth));
  data.position = truth ? data.position + 1 : instruction.count;
  return Error::kOk;
}

Error over_budget(MethodData& data) {
  char message[96];
  std::snprintf(message, sizeof(message), "the limit of %" PRIu64 " instructions in one run is reached",
                kInstructionBudget);
  return fail_here(data, Error::kInvalidProgram, message);
}

Error compute(MethodData& data, const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::kKernel: return call_kernel(data, instruction, {instruction.args, instruction.count});
    case Instruction::Kind::kCheckedKernel: return call_checked(data, instruction);
    case Instruction::Kind::kMove: *instruction.args[1] = *instruction.args[0]; break;
    case Instruction::Kind::kDelegate: return call_delegate(data, instruction);
    case Instruction::Kind::kJumpFalse:
    case Instruction::Kind::kFree: break;
  }
  return Error::kOk;
}

InstructionEvent event_of(const MethodData& data, const Instruction& instruction) {
  InstructionEvent event = {
      format::text(data.plan->name()), data.position, "move", {instruction.args, instruction.count}, false};
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
    case Instruction::Kind::kCheckedKernel: event.name = instruction.kernel->name; break;
    case Instruction::Kind::kDelegate:
      event.name = instruction.delegate->name;
      event.is_delegate = true;
      break;
    default: event.args = {instruction.args, 2}; break;
  }
  return event;
}

Error compute_observed(MethodData& data, const Instruction& instruction) {
  const InstructionEvent event = event_of(data, instruction);
  const Error stopped = data.observer->before(event);
  if (stopped != Error::kOk) return fail_here(data, stopped, "the observer ended the run");
  const Error error = compute(data, instruction);
  data.observer->after(event, error);
  return error;
}

}  // namespace

Error run(MethodData& data, uint64_t limit) {
  const size_t count = data.counts.instructions;
  for (; limit > 0; --limit) {
    if (data.position >= count) return Error::kEndOfMethod;
    if (data.executed >= kInstructionBudget) return over_budget(data);
    ++data.executed;
    const Instruction& instruction = data.instructions[data.position];
    if (__builtin_expect(!data.pending.empty() || !data.arrivals.empty(), 0)) {
      const char* what = "";
      const Error error = settle_before(data, instruction, &what);
      if (error != Error::kOk) return fail_here(data, error, what);
    }
    switch (instruction.kind) {
      case Instruction::Kind::kJumpFalse: BERTH_RETURN_IF_ERROR(jump(data, instruction)); continue;
      case Instruction::Kind::kFree: break;
      default:
        BERTH_RETURN_IF_ERROR(__builtin_expect(data.observer == nullptr, 1) ? compute(data, instruction)
                                                                            : compute_observed(data, instruction));
    }
    ++data.position;
  }
  if (data.arrivals.empty()) return Error::kOk;
  // Between steps the caller may look at values.
  const char* what = "";
  const Error late = settle_all_arrivals(data, &what);
  return late == Error::kOk ? late : fail_here(data, late, what);
}

}  // namespace berth::internal
