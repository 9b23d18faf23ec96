// Inputs, runs and outputs of a method.
#include <cinttypes>
#include <cstdio>

#include "base/math.h"
#include "c/method.h"
#include "runtime/host/dim_order_copy.h"

namespace berth::c {
namespace {

std::string port_place(bool input, size_t index) {
  return (input ? "inputs[" : "outputs[") + std::to_string(index) + "]";
}

// The tensor that an input or output is.
Expected<TensorInfo> tensor_at(const berth_method& method, bool input, size_t index) {
  const size_t count = input ? method.inputs.size() : method.outputs.size();
  if (index >= count) {
    return Failure{Error::kInvalidArgument, port_place(input, index),
                   "the method has " + std::to_string(count) + " of them"};
  }
  const MethodMeta meta = method.method().meta();
  const auto info = input ? meta.input_tensor_meta(index) : meta.output_tensor_meta(index);
  if (info.ok()) return *info;
  return Failure{Error::kInvalidType, port_place(input, index), "is not a tensor"};
}

Failure wrong(bool input, size_t index, std::string message) {
  return Failure{Error::kInvalidArgument, port_place(input, index), std::move(message)};
}

// What of an array does not depend on the program.
Expected<Bound> read_array(const berth_array& given, size_t index, bool input) {
  BERTH_ASSIGN_OR_RETURN(const berth_array array,
                         known_part(&given, "berth_array", BERTH_SIZE_UP_TO(berth_array, bytes)));
  Bound bound;
  bound.data = array.data;
  bound.bytes = array.bytes;
  BERTH_ASSIGN_OR_RETURN(bound.device, device_of(array.device));
  bound.is_set = true;
  if (!input) return bound;
  if (!is_valid_dtype(array.dtype))
    return wrong(true, index, "there is no element type " + std::to_string(array.dtype));
  if (array.rank < 0 || array.rank > kMaxRank) {
    return wrong(true, index, "expected a rank from 0 to 16, found " + std::to_string(array.rank));
  }
  if (array.rank > 0 && array.sizes == nullptr) return wrong(true, index, "its sizes are null");
  bound.dtype = static_cast<DType>(array.dtype);
  bound.rank = array.rank;
  std::copy(array.sizes, array.sizes + array.rank, bound.sizes);
  return bound;
}

Status check_elements(const Bound& bound, size_t index) {
  uint64_t bytes = element_size(bound.dtype);
  for (int32_t d = 0; d < bound.rank; ++d) {
    if (bound.sizes[d] < 0) return wrong(true, index, "size " + std::to_string(d) + " is negative");
    if (!checked_mul(bytes, static_cast<uint64_t>(bound.sizes[d]), &bytes)) return wrong(true, index, "is too large");
  }
  if (bytes > bound.bytes) {
    return wrong(true, index,
                 "has " + std::to_string(bound.bytes) + " bytes; its type and sizes need " + std::to_string(bytes));
  }
  if (bytes > 0 && bound.data == nullptr) return wrong(true, index, "its data is null");
  return Done{};
}

std::string order_text(Span<const uint8_t> order, size_t rank) {
  std::string text;
  for (size_t d = 0; d < rank; ++d) text += (d == 0 ? "" : ",") + std::to_string(order.empty() ? d : order[d]);
  return text;
}

Status check_order(const berth_array& array, const TensorInfo& info, size_t index) {
  const uint8_t* const order = array.size >= BERTH_SIZE_UP_TO(berth_array, dim_order) ? array.dim_order : nullptr;
  const size_t rank = array.rank;
  if (rank != info.sizes.size()) return Done{};  // refused with the sizes
  const Span<const uint8_t> given = order == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(order, rank);
  if (same_dim_order(given, info.dim_order, rank)) return Done{};
  return wrong(
      true, index,
      "its dimension order is " + order_text(given, rank) + "; the program wants " + order_text(info.dim_order, rank));
}

Status set(berth_method& method, size_t index, const Bound& bound) {
  const Error error = method.method().set_input(index, bound.data, {bound.sizes, static_cast<size_t>(bound.rank)},
                                                bound.dtype, bound.device);
  return error == Error::kOk ? Status(Done{}) : said_by(method, error, port_place(true, index));
}

Expected<Bound> checked_input(berth_method& method, size_t index, const berth_array* array) {
  if (array == nullptr) return is_null("berth_array");
  BERTH_ASSIGN_OR_RETURN(const TensorInfo info, tensor_at(method, true, index));
  BERTH_ASSIGN_OR_RETURN(Bound bound, read_array(*array, index, true));
  BERTH_TRY(check_elements(bound, index));
  BERTH_TRY(check_order(*array, info, index));
  bound.is_copied = info.is_memory_planned;
  BERTH_TRY(set(method, index, bound));
  return bound;
}

Status bind_output(berth_method& method, size_t index, const berth_array* array) {
  BERTH_ASSIGN_OR_RETURN(const TensorInfo info, tensor_at(method, false, index));
  if (array == nullptr) {
    if (!info.is_memory_planned) return wrong(false, index, "is not planned, so it has to have memory");
    method.outputs[index] = Bound();
    return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(Bound bound, read_array(*array, index, false));
  if (bound.data == nullptr && info.nbytes > 0) return wrong(false, index, "its data is null");
  if (bound.bytes < info.nbytes) {
    return wrong(false, index,
                 "has " + std::to_string(bound.bytes) + " bytes; the output needs " + std::to_string(info.nbytes));
  }
  if (info.is_memory_planned) {
    if (!bound.device.is_cpu() && bound.device != info.device) {
      return Failure{Error::kNotSupported, port_place(false, index),
                     std::string("is on ") + to_text(info.device).text + ", its memory neither there nor on the host"};
    }
    bound.is_copied = true;
  } else {
    const Error error = method.method().set_output_data_ptr(index, bound.data, bound.bytes, bound.device);
    if (error != Error::kOk) return said_by(method, error, port_place(false, index));
  }
  method.outputs[index] = bound;
  return Done{};
}

// A planned input's bytes may be another value's after its last read.
Status set_bound_inputs(berth_method& method) {
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    if (method.inputs[i].is_set && method.inputs[i].is_copied) BERTH_TRY(set(method, i, method.inputs[i]));
  }
  return Done{};
}

Status copy_bound_outputs(berth_method& method) {
  for (size_t i = 0; i < method.outputs.size(); ++i) {
    const Bound& bound = method.outputs[i];
    if (!bound.is_set || !bound.is_copied) continue;
    const Tensor& tensor = method.method().get_output(i).tensor();
    BERTH_TRY(copy_between(method.program->program->registry(), bound.device, bound.data, tensor.device(), tensor.raw(),
                           tensor.nbytes()));
  }
  return Done{};
}

Status run(berth_method& method) {
  // While steps are under way nothing may be set; execute() says so.
  if (method.method().next_instruction() == 0) BERTH_TRY(set_bound_inputs(method));
  const Error error = run_observed(method.method(), method.program->events());
  if (error != Error::kOk) return said_by(method, error, method.method().meta().name());
  return copy_bound_outputs(method);
}

Status step(berth_method& method, int32_t* done) {
  if (method.method().next_instruction() == 0) BERTH_TRY(set_bound_inputs(method));
  const Error error = method.method().step();
  if (error != Error::kOk && error != Error::kEndOfMethod) {
    return said_by(method, error, method.method().meta().name());
  }
  if (error == Error::kEndOfMethod) BERTH_TRY(copy_bound_outputs(method));
  *done = error == Error::kEndOfMethod ? 1 : 0;
  return Done{};
}

template <typename T>
void put_number(const berth_method& method, size_t index, DType dtype, T number, berth_array* array) {
  std::memcpy(&method.numbers[index], &number, sizeof number);
  array->data = &method.numbers[index];
  array->bytes = sizeof number;
  array->dtype = static_cast<int32_t>(dtype);
}

Status read_output(const berth_method& method, size_t index, berth_array* array) {
  if (index >= method.outputs.size()) {
    return wrong(false, index, "the method has " + std::to_string(method.outputs.size()) + " of them");
  }
  const EValue value = method.method().get_output(index);
  berth_array filled = {};
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor();
    filled.data = tensor.raw();
    filled.bytes = tensor.nbytes();
    filled.dtype = static_cast<int32_t>(tensor.dtype());
    filled.rank = tensor.rank();
    filled.sizes = tensor.sizes().data();
    filled.dim_order = tensor.dim_order().data();
    filled.device = device_of(tensor.device());
  } else if (value.is_int()) {
    put_number(method, index, DType::kI64, value.to_int(), &filled);
  } else if (value.is_double()) {
    put_number(method, index, DType::kF64, value.to_double(), &filled);
  } else if (value.is_bool()) {
    put_number(method, index, DType::kBool, static_cast<uint8_t>(value.to_bool()), &filled);
  } else {
    return Failure{Error::kNotSupported, port_place(false, index), "is neither a tensor nor a number"};
  }
  return fill(array, "berth_array", filled);
}

int64_t find_port(const berth_method* method, bool input, const char* name) {
  if (name == nullptr || !check(method, Handle::Kind::kMethod).ok()) return -1;
  const MethodMeta meta = method->method().meta();
  const size_t count = input ? method->inputs.size() : method->outputs.size();
  for (size_t i = 0; i < count; ++i) {
    const char* const known = (input ? meta.input_names(i) : meta.output_names(i)).name;
    char numbered[32];
    std::snprintf(numbered, sizeof numbered, "%s%zu", input ? "in" : "out", i);
    if (std::strcmp(known[0] == '\0' ? numbered : known, name) == 0) return static_cast<int64_t>(i);
  }
  return -1;
}

// What all functions on a method begin with.
template <typename Call>
int32_t with_method(const berth_method* method, berth_error* error, Call&& call) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(method, Handle::Kind::kMethod));
    return call();
  });
}

}  // namespace

Failure said_by(const berth_method& method, Error error, const std::string& place) {
  const format::Report& report = method.method().last_report();
  if (report.code != Error::kOk) return failure_of(error, report);
  return Failure{error, place, berth::to_string(error)};
}

}  // namespace berth::c

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

int64_t berth_method_find_input(const berth_method* method, const char* name) { return find_port(method, true, name); }
int64_t berth_method_find_output(const berth_method* method, const char* name) {
  return find_port(method, false, name);
}

int32_t berth_method_set_input(berth_method* method, size_t index, const berth_array* array, berth_error* error) {
  return with_method(method, error, [&]() -> Status {
    BERTH_TRY(checked_input(*method, index, array));
    method->inputs[index] = Bound();
    return Done{};
  });
}

int32_t berth_method_bind_input(berth_method* method, size_t index, const berth_array* array, berth_error* error) {
  return with_method(method, error, [&]() -> Status {
    Bound bound;
    if (array == nullptr) {
      BERTH_TRY(tensor_at(*method, true, index));
    } else {
      BERTH_ASSIGN_OR_RETURN(bound, checked_input(*method, index, array));
    }
    method->inputs[index] = bound;
    return Done{};
  });
}

int32_t berth_method_bind_output(berth_method* method, size_t index, const berth_array* array, berth_error* error) {
  return with_method(method, error, [&] { return bind_output(*method, index, array); });
}

int32_t berth_method_set_arena(berth_method* method, size_t index, berth_block memory, berth_error* error) {
  return with_method(method, error, [&]() -> Status {
    const Error set = method->method().set_planned_buffer(index, memory.data, memory.size);
    if (set == Error::kOk) return Done{};
    return said_by(*method, set, "arenas[" + std::to_string(index) + "]");
  });
}

int32_t berth_method_run(berth_method* method, berth_error* error) {
  return with_method(method, error, [&] { return run(*method); });
}

int32_t berth_method_step(berth_method* method, int32_t* done, berth_error* error) {
  return with_method(method, error, [&] { return done == nullptr ? Status(is_null("done")) : step(*method, done); });
}

int32_t berth_method_end_run(berth_method* method, berth_error* error) {
  return with_method(method, error, [&]() -> Status {
    method->method().reset_execution();
    return Done{};
  });
}

int32_t berth_method_output(const berth_method* method, size_t index, berth_array* array, berth_error* error) {
  return with_method(method, error, [&] { return read_output(*method, index, array); });
}
