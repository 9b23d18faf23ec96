// MethodLoader::prepare_kernels: calls KernelEntry::prepare.

#include <cstring>

#include "runtime/method_loader.h"

namespace berth::internal {

namespace {

bool is_call(const Instruction& instruction) {
  return instruction.kind == Instruction::Kind::kKernel || instruction.kind == Instruction::Kind::kCheckedKernel;
}

// What it reads on its device may be read still when it returns.
bool copies_between_devices(const KernelEntry& kernel) {
  return kernel.takes_devices && kernel.prepare == nullptr && std::strcmp(kernel.name, "berth::_d2d_copy.out") == 0;
}

// What it writes may arrive after it has returned.
bool copies_to_host(const KernelEntry& kernel) {
  return kernel.takes_devices && kernel.prepare == nullptr && std::strcmp(kernel.name, "et_copy::_d2h_copy.out") == 0;
}

bool is_volatile(const MethodData& data, const EValue* value) {
  return (data.value_flags[value - data.values] & kVolatileValue) != 0;
}

// A tensor that is replaced keeps its type and rank; a number that is computed is unknown until then.
bool is_known(const MethodData& data, const Parameter& parameter, const EValue* value) {
  return !is_volatile(data, value) || (value->is_tensor() && accepts(parameter, *value));
}

bool is_constant(MethodData& data, const EValue* value) {
  if (!value->is_tensor() || is_volatile(data, value)) return false;
  return (data.flags_of(value->tensor()) & kConstantTensor) != 0 && value->tensor().raw() != nullptr;
}

}  // namespace

Error MethodLoader::prepare_kernels(MethodData& data, MemoryVisitor read) {
  for (size_t i = 0; i < data.counts.instructions; ++i) {
    Instruction& instruction = data.instructions[i];
    if (!is_call(instruction)) continue;
    if (copies_between_devices(*instruction.kernel)) instruction.state = &data.pending;
    if (copies_to_host(*instruction.kernel)) instruction.state = &data.arrivals;
    // Before the kernel reads them: it may repack them and then release their pages.
    visit_constants(data, instruction, read);
    if (instruction.kernel->prepare == nullptr) continue;
    const Signature* signature = signature_of(instruction.kernel);
    if (signature == nullptr) return Error::kInternal;
    BERTH_RETURN_IF_ERROR(prepare(data, i, *signature));
  }
  return Error::kOk;
}

Error MethodLoader::prepare(MethodData& data, size_t index, const Signature& signature) {
  Instruction& instruction = data.instructions[index];
  EValue converted[Signature::kMaxParameters];
  EValue* args[Signature::kMaxParameters];
  bool constant[Signature::kMaxParameters] = {};
  for (size_t i = 0; i < instruction.count; ++i) {
    EValue* value = instruction.args[i];
    const Parameter& parameter = signature.parameters()[i];
    if (!is_known(data, parameter, value)) return Error::kOk;
    constant[i] = is_constant(data, value);
    args[i] = value;
    if (parameter.kind != ArgKind::kFloat || !value->is_int()) continue;
    converted[i] = EValue(value->scalar_to<double>());
    args[i] = &converted[i];
  }
  PrepareContext context(data.pool, data.user, {constant, instruction.count});
  void* state = nullptr;
  const Error error = instruction.kernel->prepare(context, {args, instruction.count}, &state);
  if (error == Error::kOk) {
    instruction.state = state;
    return error;
  }
  return fail(error, "instructions", index, "%.60s cannot be prepared: %.300s", instruction.kernel->name,
              context.message() == nullptr ? "the kernel gave no reason" : context.message());
}

}  // namespace berth::internal
