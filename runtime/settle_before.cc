// What an instruction writes on devices, while copies between them may still read there (pending_reads.h).

#include "runtime/method_data.h"

namespace berth::internal {
namespace {

Error before_write(MethodData& data, const EValue& value) {
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor();
    if (tensor.device().is_cpu() || tensor.raw() == nullptr) return Error::kOk;
    const size_t bytes = tensor.capacity() * element_size(tensor.dtype());
    return data.pending.before_write(tensor.device(), tensor.raw(), bytes);
  }
  if (value.tag() != Tag::kTensorList) return Error::kOk;
  for (const EValue* item : value.items()) {
    if (item->is_tensor()) BERTH_RETURN_IF_ERROR(before_write(data, *item));
  }
  return Error::kOk;
}

// What is said to be only read; all else may be written.
bool reads_only(const Instruction& instruction, const Signature& signature, size_t index) {
  if (instruction.kind == Instruction::Kind::kDelegate) {
    const size_t read = instruction.delegate->needed.read_arguments;
    return read != SIZE_MAX && index < read;  // SIZE_MAX: the backend does not say
  }
  const Span<const Parameter> parameters = signature.parameters();
  return index < parameters.size() && !parameters[index].written && !parameters[index].output;
}

}  // namespace

Error settle_before(MethodData& data, const Instruction& instruction) {
  Signature signature;
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
    case Instruction::Kind::kCheckedKernel:
      if (!instruction.kernel->takes_devices) return Error::kOk;
      if (!Signature::parse(instruction.kernel->signature, &signature)) return Error::kInternal;
      break;
    case Instruction::Kind::kDelegate: break;
    case Instruction::Kind::kMove:
    case Instruction::Kind::kJumpFalse:
    case Instruction::Kind::kFree: return Error::kOk;
  }
  for (size_t i = 0; i < instruction.count; ++i) {
    if (!reads_only(instruction, signature, i)) BERTH_RETURN_IF_ERROR(before_write(data, *instruction.args[i]));
  }
  return Error::kOk;
}

}  // namespace berth::internal
