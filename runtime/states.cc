// Method: states, to be saved and set again.
//
// The state of a method is what got an initial value when it was loaded: tensors that the file marks, and those that
// only the instructions show to be state (method_state.cc).
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "format/tensor_facts.h"
#include "runtime/method.h"
#include "runtime/method_data.h"

namespace berth {
namespace {

using internal::MethodData;

struct State {
  size_t value = 0;
  const Tensor* tensor = nullptr;  // null: there is no such state
};

// Calls `visit(state)` for each in the order of the file, until it returns false.
template <typename Visit>
void for_each_state(const MethodData& data, Visit visit) {
  constexpr uint8_t kElsewhere = internal::kViewTensor | internal::kRowTensor;
  size_t next = 0;
  for (size_t i = 0; i < data.counts.values; ++i) {
    if (format::tensor_at(*data.plan, static_cast<int64_t>(i)) == nullptr) continue;
    // As it was loaded: a move may have put another in its place.
    const Tensor& tensor = data.tensors[next];
    const uint8_t flags = data.tensor_flags[next++];
    if ((data.value_flags[i] & internal::kStateValue) == 0 || (flags & kElsewhere) != 0) continue;
    if (!visit(State{i, &tensor})) return;
  }
}

State state_at(const MethodData& data, size_t index) {
  State found;
  for_each_state(data, [&](const State& state) {
    if (index-- > 0) return true;
    found = state;
    return false;
  });
  return found;
}

const char* name_of(const MethodData& data, size_t value) {
  const fb::Tensor* tensor = format::tensor_at(*data.plan, static_cast<int64_t>(value));
  const fb::ExtraTensorInfo* extra = tensor == nullptr ? nullptr : tensor->extra_tensor_info();
  return extra == nullptr ? "" : format::text(extra->fully_qualified_name());
}

[[gnu::format(printf, 4, 5)]] Error fail_state(MethodData& data, size_t index, Error error, const char* message, ...) {
  char place[96];
  std::snprintf(place, sizeof place, "methods[%.40s].states[%zu]", format::text(data.plan->name()), index);
  char text[192];
  va_list arguments;
  va_start(arguments, message);
  std::vsnprintf(text, sizeof text, message, arguments);
  va_end(arguments);
  return format::fail(&data.report, error, place, "%s", text);
}

// The state's tensor, once nothing is running.
Result<const Tensor*> find(const Method& method, MethodData& data, size_t index) {
  data.report = format::Report();
  const State state = state_at(data, index);
  if (state.tensor == nullptr) {
    return fail_state(data, index, Error::kInvalidArgument, "the method has %zu states", method.num_states());
  }
  if (!data.running) return state.tensor;
  return fail_state(data, index, Error::kInvalidState,
                    "a run started by step() is in progress; reset_execution() ends it");
}

}  // namespace

size_t Method::num_states() const {
  size_t count = 0;
  for_each_state(*data_, [&](const State&) { return ++count > 0; });
  return count;
}

const char* Method::state_name(size_t index) const {
  const State state = state_at(*data_, index);
  return state.tensor == nullptr ? nullptr : name_of(*data_, state.value);
}

Result<size_t> Method::find_state(const char* name) const {
  size_t next = 0;
  bool found = false;
  for_each_state(*data_, [&](const State& state) {
    const char* own = name_of(*data_, state.value);
    char number[32];
    std::snprintf(number, sizeof number, "state%zu", next);
    found = std::strcmp(own[0] == '\0' ? number : own, name) == 0;
    next += found ? 0 : 1;
    return !found;
  });
  if (!found) return Error::kInvalidArgument;
  return next;
}

Result<TensorInfo> Method::state_tensor_meta(size_t index) const {
  const Tensor* tensor = state_at(*data_, index).tensor;
  if (tensor == nullptr) return Error::kInvalidArgument;
  TensorInfo info;
  info.sizes = tensor->sizes();
  info.dim_order = tensor->dim_order();
  info.dtype = tensor->dtype();
  info.dynamism = tensor->dynamism();
  info.device = tensor->device();
  info.is_memory_planned = true;
  info.nbytes = tensor->nbytes();
  return info;
}

Error Method::get_state(size_t index, void* data, size_t bytes) {
  BERTH_ASSIGN_OR_RETURN(const Tensor* tensor, find(*this, *data_, index));
  if (data == nullptr || bytes < tensor->nbytes()) {
    return fail_state(*data_, index, Error::kInvalidArgument, "%zu bytes are needed, %zu were given", tensor->nbytes(),
                      data == nullptr ? size_t{0} : bytes);
  }
  const Error error = internal::download(*data_, tensor->device(), data, tensor->raw(), tensor->nbytes());
  if (error == Error::kOk) return error;
  return fail_state(*data_, index, error, "it could not be copied from %s", to_text(tensor->device()).text);
}

Error Method::set_state(size_t index, const void* data, Span<const int32_t> sizes, DType dtype) {
  BERTH_ASSIGN_OR_RETURN(const Tensor* tensor, find(*this, *data_, index));
  if (dtype != tensor->dtype()) {
    return fail_state(*data_, index, Error::kInvalidArgument, "the element type is %s, found %s",
                      to_string(tensor->dtype()), is_valid_dtype(static_cast<int>(dtype)) ? to_string(dtype) : "none");
  }
  if (sizes.size() != tensor->sizes().size()) {
    return fail_state(*data_, index, Error::kInvalidArgument, "the state has %d dimensions, found %zu", tensor->rank(),
                      sizes.size());
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t size = tensor->size(static_cast<int>(d));
    if (sizes[d] == size) continue;
    return fail_state(*data_, index, Error::kInvalidArgument, "the size of dimension %zu is %lld, found %d", d,
                      static_cast<long long>(size), sizes[d]);
  }
  if (data == nullptr) return fail_state(*data_, index, Error::kInvalidArgument, "the data pointer is null");
  if (tensor->device().is_cpu()) {
    std::memmove(tensor->raw(), data, tensor->nbytes());
    return Error::kOk;
  }
  const Error error = internal::upload(*data_, tensor->device(), tensor->raw(), data, tensor->nbytes());
  if (error == Error::kOk) return error;
  return fail_state(*data_, index, error, "it could not be copied to %s", to_text(tensor->device()).text);
}

}  // namespace berth
