// Method::warm_up: what a run will read, said before it is read.

#include "runtime/method.h"
#include "runtime/method_data.h"

namespace berth {
namespace {

using internal::Instruction;

void visit(internal::MethodData& data, const EValue& value, const MemoryVisitor& read) {
  if (value.tag() == Tag::kTensorList) {
    for (const EValue* item : value.items()) {
      if (item->is_tensor()) visit(data, *item, read);
    }
  }
  if (!value.is_tensor()) return;
  const Tensor& tensor = value.tensor();
  if ((data.flags_of(tensor) & internal::kConstantTensor) == 0 || tensor.raw() == nullptr) return;
  read.call(read.context, {static_cast<const uint8_t*>(tensor.raw()), tensor.nbytes()});
}

}  // namespace

void Method::warm_up(MemoryVisitor read) {
  for (size_t i = 0; i < data_->counts.instructions; ++i) {
    const Instruction& instruction = data_->instructions[i];
    const bool call =
        instruction.kind == Instruction::Kind::kKernel || instruction.kind == Instruction::Kind::kCheckedKernel;
    for (uint32_t a = 0; call && a < instruction.count; ++a) {
      if (static_cast<int>(a) != instruction.kernel->picked_argument) visit(*data_, *instruction.args[a], read);
    }
  }
  for (size_t i = 0; i < data_->counts.delegates; ++i) {
    const internal::Delegate& delegate = data_->delegates[i];
    if (delegate.handle != nullptr) delegate.backend->warm_up(delegate.handle, read);
  }
}

}  // namespace berth
