// check_call: the guarantees that kernels rely on.

#include <algorithm>

#include "runtime/method_data.h"

namespace berth::internal {

bool MethodData::is_read_only(const void* address) const {
  const uintptr_t a = reinterpret_cast<uintptr_t>(address);
  for (const Span<const uint8_t>& range : read_only) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(range.data());
    if (a >= begin && a - begin < range.size()) return true;
  }
  const FreeableBuffer* begin = externals;
  const FreeableBuffer* after =
      std::upper_bound(begin, begin + external_count, a,
                       [](uintptr_t x, const FreeableBuffer& b) { return x < reinterpret_cast<uintptr_t>(b.data()); });
  return after != begin && a - reinterpret_cast<uintptr_t>(after[-1].data()) < after[-1].size();
}

void forget_rows(MethodData& data) {
  for (size_t i = 0; i < data.counts.tensors; ++i) {
    if ((data.tensor_flags[i] & kRowTensor) != 0) data.tensors[i].set_data(nullptr);
  }
}

namespace {

struct Check {
  MethodData& data;
  size_t index;
  format::Report* report;
  When when;

  template <typename... Args>
  Error fail(Error error, const char* message, Args... args) const {
    char place[96];
    instruction_place(data, index, place);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return format::fail(report, error, place, message, args...);
#pragma GCC diagnostic pop
  }

  Error tensor(const Tensor& tensor, const Parameter& parameter, size_t argument, bool resizes, bool unplaced) const {
    const uint8_t flags = data.flags_of(tensor);
    if (!tensor.device().is_cpu() && !data.instructions[index].kernel->takes_devices) {
      return fail(Error::kInvalidProgram, "argument %zu is on %s, which a kernel of the host cannot access", argument,
                  to_text(tensor.device()).text);
    }
    if (parameter.kind == ArgKind::kView || parameter.kind == ArgKind::kRow) {
      // Reached through a move, so it is not the tensor that was marked at load.
      const uint8_t own = parameter.kind == ArgKind::kView ? kViewTensor : kRowTensor;
      if ((flags & (kViewTensor | kRowTensor)) == own) return Error::kOk;
      return fail(Error::kInvalidProgram, "a move made argument %zu a view of another tensor", argument);
    }
    if (parameter.written && ((flags & kConstantTensor) != 0 || data.is_read_only(tensor.raw()))) {
      return fail(Error::kInvalidProgram, "argument %zu is written but is a constant", argument);
    }
    if (resizes && (flags & kViewTensor) != 0) {
      return fail(Error::kInvalidProgram, "argument %zu is written but is the output of a view", argument);
    }
    if (resizes && (flags & (kCallerInputTensor | kChangedTensor)) == kCallerInputTensor) {
      return fail(Error::kInvalidProgram, "argument %zu is written but is an input in the caller's memory", argument);
    }
    return has_memory(tensor, argument, parameter.written, unplaced);
  }

  Error has_memory(const Tensor& tensor, size_t argument, bool written, bool unplaced) const {
    const uint8_t flags = data.flags_of(tensor);
    const int64_t elements = written ? tensor.capacity() : tensor.numel();
    if (tensor.raw() != nullptr || elements == 0 || unplaced) return Error::kOk;
    if (when == When::kRun) {
      return fail(Error::kInvalidState, "the tensor of argument %zu has no memory yet", argument);
    }
    if ((flags & (kCallerTensor | kViewTensor | kRowTensor)) != 0) return Error::kOk;
    return fail(Error::kInvalidProgram, "the tensor of argument %zu has no memory", argument);
  }

  Error delegate_tensor(const Delegate& delegate, const Tensor& tensor, size_t argument) const {
    if (!tensor.device().is_cpu() && tensor.device() != delegate.source.device) {
      return fail(Error::kInvalidProgram, "argument %zu is on %s, the delegate on %s", argument,
                  to_text(tensor.device()).text, to_text(delegate.source.device).text);
    }
    const bool written = argument >= delegate.needed.read_arguments;
    if (written && ((data.flags_of(tensor) & kConstantTensor) != 0 || data.is_read_only(tensor.raw()))) {
      return fail(Error::kInvalidProgram, "argument %zu is written but is a constant", argument);
    }
    if (written && (data.flags_of(tensor) & (kViewTensor | kCallerInputTensor)) != 0) {
      return fail(Error::kInvalidProgram, "argument %zu is written but is a view or an input in the caller's memory",
                  argument);
    }
    return has_memory(tensor, argument, written, false);
  }
};

}  // namespace

Error check_call(MethodData& data, size_t index, Span<const Parameter> parameters, When when, format::Report* report) {
  const Check check = {data, index, report, when};
  const KernelEntry& entry = *data.instructions[index].kernel;
  EValue* const* args = data.instructions[index].args;
  const bool prim = is_prim(&entry);
  size_t first_output = 0;
  while (first_output < parameters.size() && !parameters[first_output].output) ++first_output;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const EValue& value = *args[i];
    const bool is_volatile = (data.value_flags[&value - data.values] & kVolatileValue) != 0;
    if (when == When::kLoad && is_volatile) continue;
    if (!accepts(parameter, value)) {
      return check.fail(
          Error::kInvalidType, "argument %zu must be %s, found %s%s", i, to_string(parameter.kind),
          to_string(value.tag()),
          value.tag() == Tag::kIntList || value.tag() == Tag::kTensorList ? " with elements of another kind" : "");
    }
    const bool resizes = parameter.output || (prim && parameter.written);
    const bool unplaced = entry.unplaced_output >= 0 && i == first_output + static_cast<size_t>(entry.unplaced_output);
    if (value.is_tensor()) {
      BERTH_RETURN_IF_ERROR(check.tensor(value.tensor(), parameter, i, resizes, unplaced));
    } else if (value.tag() == Tag::kTensorList) {
      for (const EValue* item : value.items()) {
        if (item->is_none()) continue;
        BERTH_RETURN_IF_ERROR(check.tensor(item->tensor(), parameter, i, resizes, unplaced));
      }
    }
  }
  return Error::kOk;
}

Error check_delegate_call(MethodData& data, size_t index, When when, format::Report* report) {
  const Check check = {data, index, report, when};
  const Instruction& call = data.instructions[index];
  for (size_t i = 0; i < call.count; ++i) {
    const EValue& value = *call.args[i];
    if (when == When::kLoad && (data.value_flags[&value - data.values] & kVolatileValue) != 0) continue;
    if (value.is_tensor()) BERTH_RETURN_IF_ERROR(check.delegate_tensor(*call.delegate, value.tensor(), i));
    if (value.tag() != Tag::kTensorList) continue;
    for (const EValue* item : value.items()) {
      if (item->is_tensor()) BERTH_RETURN_IF_ERROR(check.delegate_tensor(*call.delegate, item->tensor(), i));
    }
  }
  return Error::kOk;
}

}  // namespace berth::internal
