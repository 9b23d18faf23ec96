// What an instruction writes on devices, while copies between them may still read there (pending_reads.h), and what it
// uses on the host, while copies from devices may not have arrived (arrivals.h).

#include "runtime/device_explanation.h"
#include "runtime/method_data.h"

namespace berth::internal {
namespace {

// What the device said of an error, or `otherwise`.
const char* explained(const char* otherwise) {
  const char* const why = take_explanation();
  return why == nullptr ? otherwise : why;
}

constexpr const char* kNoWait = "one device's stream cannot wait for another's";
constexpr const char* kLateCopy = "a copy to the host, or the device's work before it, failed";

// Calls `visit(tensor)` for each tensor with memory of a value.
template <typename Visit>
Error for_each_tensor(const EValue& value, const Visit& visit) {
  if (value.is_tensor()) return value.tensor().raw() == nullptr ? Error::kOk : visit(value.tensor());
  if (value.tag() != Tag::kTensorList) return Error::kOk;
  for (const EValue* item : value.items()) {
    if (item->is_tensor()) BERTH_RETURN_IF_ERROR(for_each_tensor(*item, visit));
  }
  return Error::kOk;
}

size_t bytes_of(const Tensor& tensor) { return tensor.capacity() * element_size(tensor.dtype()); }

Error before_write(MethodData& data, const EValue& value) {
  return for_each_tensor(value, [&](const Tensor& tensor) {
    if (tensor.device().is_cpu()) return Error::kOk;
    return data.pending.before_write(tensor.device(), tensor.raw(), bytes_of(tensor));
  });
}

Error before_use(MethodData& data, const EValue& value) {
  return for_each_tensor(value, [&](const Tensor& tensor) {
    return tensor.device().is_cpu() ? data.arrivals.before_use(tensor.raw(), bytes_of(tensor)) : Error::kOk;
  });
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

Error settle_reads(MethodData& data, const Instruction& instruction) {
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

// What it writes counts too: those bytes may be a copy's that nothing read.
Error settle_arrivals(MethodData& data, const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::kJumpFalse: return before_use(data, *instruction.args[0]);
    case Instruction::Kind::kMove:
    case Instruction::Kind::kFree: return Error::kOk;
    case Instruction::Kind::kKernel:
    case Instruction::Kind::kCheckedKernel:
    case Instruction::Kind::kDelegate: break;
  }
  for (size_t i = 0; i < instruction.count; ++i) BERTH_RETURN_IF_ERROR(before_use(data, *instruction.args[i]));
  return Error::kOk;
}

}  // namespace

Error settle_before(MethodData& data, const Instruction& instruction, const char** what) {
  static_cast<void>(take_explanation());  // of what was before
  Error error = data.pending.empty() ? Error::kOk : settle_reads(data, instruction);
  if (error != Error::kOk) *what = explained(kNoWait);
  if (error != Error::kOk || data.arrivals.empty()) return error;
  error = settle_arrivals(data, instruction);
  if (error != Error::kOk) *what = explained(kLateCopy);
  return error;
}

Error settle_all_arrivals(MethodData& data, const char** what) {
  static_cast<void>(take_explanation());
  const Error error = data.arrivals.settle();
  if (error != Error::kOk) *what = explained(kLateCopy);
  return error;
}

Error settle_all(MethodData& data, const char** what) {
  if (data.pending.empty() && data.arrivals.empty()) return Error::kOk;
  static_cast<void>(take_explanation());
  const Error error = data.pending.settle();
  if (error != Error::kOk) *what = explained(kNoWait);
  return error == Error::kOk ? settle_all_arrivals(data, what) : error;
}

}  // namespace berth::internal
