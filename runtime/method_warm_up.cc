// What keeps the first run from being slower than others: constants are prefaulted, delegates warmed up.

#include "runtime/method.h"
#include "runtime/method_loader.h"

namespace berth {

namespace internal {
namespace {

void visit(MethodData& data, const EValue& value, const MemoryVisitor& read) {
  if (value.tag() == Tag::kTensorList) {
    for (const EValue* item : value.items()) {
      if (item->is_tensor()) visit(data, *item, read);
    }
  }
  if (!value.is_tensor()) return;
  const Tensor& tensor = value.tensor();
  if ((data.flags_of(tensor) & kConstantTensor) == 0 || tensor.raw() == nullptr) return;
  read.call(read.context, {static_cast<const uint8_t*>(tensor.raw()), tensor.nbytes()});
}

}  // namespace

void MethodLoader::visit_constants(MethodData& data, const Instruction& call, const MemoryVisitor& read) const {
  for (uint32_t a = 0; read.call != nullptr && a < call.count; ++a) {
    if (static_cast<int>(a) != call.kernel->picked_argument) visit(data, *call.args[a], read);
  }
}

}  // namespace internal

void Method::warm_up() {
  for (size_t i = 0; i < data_->counts.inputs; ++i) {
    if (data_->inputs[i].planned && data_->inputs[i].fresh) return;
  }
  for (size_t i = 0; i < data_->counts.delegates; ++i) {
    const internal::Delegate& delegate = data_->delegates[i];
    if (delegate.handle != nullptr) delegate.backend->warm_up(delegate.handle);
  }
}

}  // namespace berth
