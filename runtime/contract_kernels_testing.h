// For tests: a kernel for every operator of format/operators.def that does everything that a kernel may do. It reads
// each element of its arguments, grows each output as far as possible, writes each of its elements, and checks its
// arguments against its signature.
#pragma once

#include <cstring>

#include "base/check.h"
#include "runtime/kernel.h"
#include "runtime/signature.h"

namespace berth::contract {

inline volatile uint8_t sink;

inline void read_tensor(const Tensor& tensor) {
  uint8_t sum = 0;
  for (size_t i = 0; i < tensor.nbytes(); ++i) sum = static_cast<uint8_t>(sum + tensor.data<uint8_t>()[i]);
  sink = sum;
}

inline void write_tensor(Tensor& tensor, const Parameter& parameter, bool may_be_nowhere) {
  if (tensor.raw() == nullptr && may_be_nowhere) return;
  if (parameter.output && tensor.rank() > 0 && tensor.capacity() <= INT32_MAX) {
    int32_t sizes[kMaxRank];
    for (int32_t& size : sizes) size = 1;
    sizes[0] = static_cast<int32_t>(tensor.capacity());
    static_cast<void>(tensor.resize({sizes, tensor.sizes().size()}));
  }
  if (tensor.nbytes() > 0) std::memset(tensor.raw(), 0x40, tensor.nbytes());
}

inline void use(const EValue& value, const Parameter& parameter, bool may_be_nowhere) {
  BERTH_CHECK(accepts(parameter, value));
  if (value.is_tensor()) {
    if (!parameter.output) read_tensor(value.tensor());
    if (parameter.written) write_tensor(value.tensor(), parameter, may_be_nowhere);
  }
  if (value.tag() == Tag::kIntList) {
    for (const EValue* item : value.items()) sink = static_cast<uint8_t>(item->to_int());
  }
  if (value.tag() == Tag::kTensorList) {
    for (const EValue* item : value.items()) use(*item, parameter, may_be_nowhere);
  }
  if (value.tag() == Tag::kDoubleList) {
    for (const double x : value.doubles()) sink = x > 0;
  }
  if (value.tag() == Tag::kString) {
    for (size_t i = 0; i < value.to_string().size; ++i) sink = static_cast<uint8_t>(value.to_string().data[i]);
  }
}

inline Error touch(const char* schema, int unplaced, Span<EValue* const> args) {
  Signature signature;
  BERTH_CHECK(Signature::parse(schema, &signature));
  BERTH_CHECK(signature.parameters().size() == args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    Parameter parameter = signature.parameters()[i];
    // Elements of lists are checked one by one.
    if (args[i]->tag() == Tag::kTensorList) {
      BERTH_CHECK(accepts(parameter, *args[i]));
      parameter.optional = parameter.kind == ArgKind::kOptionalTensorList;
      parameter.kind = ArgKind::kTensor;
      for (const EValue* item : args[i]->items()) use(*item, parameter, false);
      continue;
    }
    const bool nowhere = unplaced >= 0 && i == signature.arguments() + static_cast<size_t>(unplaced);
    use(*args[i], parameter, nowhere);
    // The runtime converts integers to floats before the call.
    BERTH_CHECK(parameter.kind != ArgKind::kFloat || !args[i]->is_int());
  }
  return Error::kOk;
}

#define PLACED -1
#define UNPLACED(k) k

#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) \
  inline Error identifier(KernelContext&, Span<EValue* const> args) { return touch(schema, unplaced, args); }
#include "format/operators.def"
#undef OP

inline constexpr KernelEntry kKernels[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) \
  {out[0] != '\0' ? name "." out : name, schema, &identifier, nullptr, unplaced},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED

}  // namespace berth::contract
