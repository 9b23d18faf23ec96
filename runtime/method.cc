// Method: inputs, outputs, execute().

#include "runtime/method.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/math.h"
#include "format/tensor_facts.h"
#include "runtime/device_explanation.h"
#include "runtime/log.h"
#include "runtime/method_data.h"

namespace berth {

using internal::Instruction;
using internal::MethodData;
using internal::Port;

namespace {

[[gnu::format(printf, 5, 6)]] Error fail_port(MethodData& data, const char* what, size_t index, Error error,
                                              const char* message, ...) {
  char place[96];
  std::snprintf(place, sizeof(place), "methods[%.40s].%s[%zu]", format::text(data.plan->name()), what, index);
  char text[192];
  va_list arguments;
  va_start(arguments, message);
  std::vsnprintf(text, sizeof(text), message, arguments);
  va_end(arguments);
  format::fail(&data.report, error, place, "%s", text);
  log_message(LogLevel::kError, "%s: %s", place, text);
  return error;
}

Error fail_method(MethodData& data, Error error, const char* message) {
  char place[96];
  std::snprintf(place, sizeof place, "methods[%.40s]", format::text(data.plan->name()));
  return format::fail(&data.report, error, place, "%s", message);
}

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % format::element_alignment(dtype) == 0;
}

// Whether two numbers are equal up to the precision that a traced model keeps.
bool same_number(double compiled, double given) {
  if (std::isnan(compiled)) return std::isnan(given);
  if (std::isinf(compiled) || std::isinf(given)) return compiled == given;
  return std::fabs(compiled - given) <= 1e-4 + 1e-5 * std::fabs(compiled);
}

bool same_value(const fb::EValue& compiled, const EValue& given) {
  switch (compiled.val_type()) {
    case fb::KernelTypes::Null: return given.is_none();
    case fb::KernelTypes::Int: return given.is_int() && given.to_int() == compiled.val_as_Int()->int_val();
    case fb::KernelTypes::Bool: return given.is_bool() && given.to_bool() == compiled.val_as_Bool()->bool_val();
    case fb::KernelTypes::Double:
      return given.is_double() && same_number(compiled.val_as_Double()->double_val(), given.to_double());
    case fb::KernelTypes::String: {
      const auto* text = compiled.val_as_String()->string_val();
      return given.tag() == Tag::kString && given.to_string().size == text->size() &&
             std::memcmp(given.to_string().data, text->c_str(), text->size()) == 0;
    }
    default: return false;
  }
}

}  // namespace

Method::~Method() {
  if (data_ != nullptr) internal::release(*data_);
}

MethodMeta Method::meta() const { return MethodMeta(data_->plan, data_->meta, data_->device_map); }
size_t Method::inputs_size() const { return data_->counts.inputs; }
size_t Method::outputs_size() const { return data_->counts.outputs; }
size_t Method::next_instruction() const { return data_->position; }
size_t Method::num_instructions() const { return data_->counts.instructions; }
const format::Report& Method::last_report() const { return data_->report; }

const char* Method::instruction_name(size_t index) const {
  if (index >= data_->counts.instructions) return "";
  switch (data_->instructions[index].kind) {
    case Instruction::Kind::kMove: return "move";
    case Instruction::Kind::kJumpFalse: return "jump_false";
    case Instruction::Kind::kFree: return "free";
    case Instruction::Kind::kDelegate: return data_->instructions[index].delegate->name;
    default: return data_->instructions[index].kernel->name;
  }
}

Error Method::check_input(size_t index, Span<const int32_t> sizes, DType dtype, Device device) {
  data_->report = format::Report();
  if (index >= data_->counts.inputs) {
    return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the method has %zu inputs",
                     data_->counts.inputs);
  }
  if (data_->inputs[index].tensor == nullptr) {
    return fail_port(*data_, "inputs", index, Error::kInvalidType, "the input is not a tensor");
  }
  const Tensor& tensor = *data_->inputs[index].tensor;
  if (dtype != tensor.dtype()) {
    return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the element type is %s, found %s",
                     to_string(tensor.dtype()), is_valid_dtype(static_cast<int>(dtype)) ? to_string(dtype) : "none");
  }
  if (device != tensor.device()) {
    return fail_port(*data_, "inputs", index, Error::kNotSupported,
                     "the input is on %s and the tensor on %s; copy it there first", to_text(tensor.device()).text,
                     to_text(device).text);
  }
  if (sizes.size() == tensor.sizes().size()) return Error::kOk;
  return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the tensor has %d dimensions, found %zu",
                   tensor.rank(), sizes.size());
}

Error Method::set_input(size_t index, const void* data, Span<const int32_t> sizes, DType dtype, Device device) {
  BERTH_RETURN_IF_ERROR(check_input(index, sizes, dtype, device));
  Port& port = data_->inputs[index];
  Tensor& tensor = *port.tensor;
  const bool in_place = data != nullptr && data == tensor.raw();
  BERTH_RETURN_IF_ERROR(check_input_sizes(index, sizes, in_place));
  if (in_place && port.planned) data = tensor.raw();  // what lies there has moved with it
  const size_t bytes = tensor.nbytes();
  if (data == nullptr && bytes > 0) {
    return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the data pointer is null");
  }
  BERTH_RETURN_IF_ERROR(move_input(index, data, bytes, device));
  mark_set(index);
  return Error::kOk;
}

Error Method::set_input_sizes(size_t index, Span<const int32_t> sizes, DType dtype) {
  const bool exists = index < data_->counts.inputs && data_->inputs[index].tensor != nullptr;
  BERTH_RETURN_IF_ERROR(check_input(index, sizes, dtype, exists ? data_->inputs[index].tensor->device() : Device()));
  if (!data_->inputs[index].planned) {
    return fail_port(*data_, "inputs", index, Error::kInvalidState, "the input is not planned (set_input)");
  }
  Port& port = data_->inputs[index];
  const bool stayed = port.stays;
  port.stays = true;
  const Error error = check_input_sizes(index, sizes, false);
  if (error == Error::kOk) mark_set(index);
  port.stays = error == Error::kOk || stayed;
  return error;
}

void Method::mark_set(size_t index) {
  Port& port = data_->inputs[index];
  // A move may have replaced the tensor in the last run.
  data_->values[port.value] = EValue(port.tensor);
  port.set = port.fresh = true;
  port.stays = false;
  data_->ports_checked = false;
}

// Copies the data into the input's arena, or points the input at it if it is not planned.
Error Method::move_input(size_t index, const void* data, size_t bytes, Device device) {
  const Port& port = data_->inputs[index];
  Tensor& tensor = *port.tensor;
  if (!port.planned) {
    if (!is_aligned(data, tensor.dtype())) {
      return fail_port(*data_, "inputs", index, Error::kInvalidArgument,
                       "the address must be a multiple of %zu, since the method reads the elements in place",
                       format::element_alignment(tensor.dtype()));
    }
    tensor.set_data(const_cast<void*>(data));
    return Error::kOk;
  }
  if (bytes == 0 || data == tensor.raw()) return Error::kOk;
  if (tensor.raw() == nullptr) {
    return fail_port(*data_, "inputs", index, Error::kInvalidState, "its arena has no memory (set_planned_buffer)");
  }
  if (device.is_cpu()) {
    std::memmove(tensor.raw(), data, bytes);
    return Error::kOk;
  }
  const Error error = internal::copy_within(*data_, device, tensor.raw(), data, bytes);
  if (error == Error::kOk) return error;
  return fail_port(*data_, "inputs", index, error, "%zu bytes could not be copied within %s", bytes,
                   to_text(device).text);
}

// Also lays out the arenas that follow the sizes, where the input lies in one.
Error Method::check_input_sizes(size_t index, Span<const int32_t> sizes, bool in_place) {
  BERTH_RETURN_IF_ERROR(internal::check_symbol_ranges(*data_, index, sizes));
  BERTH_RETURN_IF_ERROR(internal::check_own_relations(*data_, index, sizes));
  Port& port = data_->inputs[index];
  Tensor& tensor = *port.tensor;
  const int32_t stacked = data_->counts.stacks == 0 ? -1 : data_->stacked_of[port.value];
  if (stacked < 0) return resize_input(index, sizes);
  int32_t old_sizes[kMaxRank];
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), old_sizes);
  const int64_t old_capacity = tensor.capacity();
  const bool was_fresh = port.fresh;
  const size_t element = element_size(tensor.dtype());
  tensor.set_capacity(static_cast<int64_t>(data_->stacked[stacked].bound / element));
  Error error = resize_input(index, sizes);
  if (error == Error::kOk) {
    if (tensor.numel() > old_capacity) data_->laid_out = false;
    tensor.set_capacity(std::max(old_capacity, tensor.numel()));
    port.fresh = was_fresh || in_place;
    error = internal::lay_out(*data_, index);
  }
  if (error == Error::kOk) return error;
  port.fresh = was_fresh;
  static_cast<void>(tensor.resize({old_sizes, tensor.sizes().size()}));
  tensor.set_capacity(old_capacity);
  return error;
}

Error Method::resize_input(size_t index, Span<const int32_t> sizes) {
  Tensor& tensor = *data_->inputs[index].tensor;
  if (tensor.resize(sizes) == Error::kOk) return Error::kOk;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (tensor.dynamism() == ShapeDynamism::kStatic && sizes[i] != tensor.size(static_cast<int>(i))) {
      return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the size of dimension %zu is %lld, found %d",
                       i, static_cast<long long>(tensor.size(static_cast<int>(i))), sizes[i]);
    }
  }
  return fail_port(*data_, "inputs", index, Error::kInvalidArgument,
                   "the plan has room for %lld elements, the sizes need more",
                   static_cast<long long>(tensor.capacity()));
}

Error Method::set_input(size_t index, const EValue& value) {
  data_->report = format::Report();
  if (index >= data_->counts.inputs) {
    return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the method has %zu inputs",
                     data_->counts.inputs);
  }
  Port& port = data_->inputs[index];
  if (port.tensor != nullptr) {
    if (!value.is_tensor()) {
      return fail_port(*data_, "inputs", index, Error::kInvalidArgument, "the input is a tensor, found %s",
                       to_string(value.tag()));
    }
    const Tensor& tensor = value.tensor();
    if (tensor.rank() == port.tensor->rank() && tensor.dim_order() != port.tensor->dim_order()) {
      return fail_port(*data_, "inputs", index, Error::kInvalidArgument,
                       "the dimension order is not that of the input");
    }
    return set_input(index, tensor.raw(), tensor.sizes(), tensor.dtype(), tensor.device());
  }
  if (!same_value(*data_->plan->values()->Get(port.value), value)) {
    return fail_port(*data_, "inputs", index, Error::kInvalidArgument,
                     "this input was compiled into the program, and the given value is different");
  }
  port.set = true;
  data_->ports_checked = false;
  return Error::kOk;
}

Error Method::set_output_data_ptr(size_t index, void* data, size_t bytes, Device device) {
  data_->report = format::Report();
  if (index >= data_->counts.outputs) {
    return fail_port(*data_, "outputs", index, Error::kInvalidArgument, "the method has %zu outputs",
                     data_->counts.outputs);
  }
  const Port& port = data_->outputs[index];
  if (port.tensor == nullptr || port.planned || (data_->flags_of(*port.tensor) & internal::kCallerInputTensor) != 0) {
    return fail_port(*data_, "outputs", index, Error::kInvalidState,
                     "the output has memory already: planned, a constant's or an input's");
  }
  if (device != port.tensor->device()) {
    return fail_port(*data_, "outputs", index, Error::kNotSupported, "the output is on %s and the memory on %s",
                     to_text(port.tensor->device()).text, to_text(device).text);
  }
  const size_t element = element_size(port.tensor->dtype());
  uint64_t most = 0;
  static_cast<void>(format::tensor_numel(*format::tensor_at(*data_->plan, port.value), &most));
  const bool fewer_do = data_->small_outputs && port.tensor->dynamism() == ShapeDynamism::kBounded;
  const size_t needed = fewer_do ? 0 : static_cast<size_t>(most) * element;
  if (bytes < needed) {
    return fail_port(*data_, "outputs", index, Error::kInvalidArgument, "%zu bytes are needed, %zu were given", needed,
                     bytes);
  }
  if (!is_aligned(data, port.tensor->dtype())) {
    return fail_port(*data_, "outputs", index, Error::kInvalidArgument, "the address must be a multiple of %zu",
                     format::element_alignment(port.tensor->dtype()));
  }
  port.tensor->set_data(data);
  if (fewer_do) port.tensor->set_capacity(static_cast<int64_t>(std::min<uint64_t>(most, bytes / element)));
  data_->ports_checked = false;
  return Error::kOk;
}

Error Method::check_ports() {
  for (size_t i = 0; i < data_->counts.inputs; ++i) {
    if (!data_->inputs[i].set) {
      return fail_port(*data_, "inputs", i, Error::kInvalidState, "the input was not set");
    }
  }
  for (size_t i = 0; i < data_->counts.outputs; ++i) {
    const Tensor* tensor = data_->outputs[i].tensor;
    if (data_->outputs[i].planned || tensor->capacity() == 0 || tensor->raw() != nullptr) continue;
    const uint8_t flags = data_->flags_of(*tensor);
    if ((flags & (internal::kCallerInputTensor | internal::kViewTensor | internal::kRowTensor)) != 0) continue;
    return fail_port(*data_, "outputs", i, Error::kInvalidState,
                     "the output is not planned and has no memory (set_output_data_ptr)");
  }
  if (data_->deferred_tensors > 0) {
    return format::fail(&data_->report, Error::kInvalidState, "arenas",
                        "%zu tensors are in arenas that have no memory (set_planned_buffer)", data_->deferred_tensors);
  }
  BERTH_RETURN_IF_ERROR(internal::check_symbol_relations(*data_, internal::InputSizes(*data_)));
  BERTH_RETURN_IF_ERROR(internal::lay_out(*data_, SIZE_MAX));
  for (size_t k = 0; k < data_->counts.stacks; ++k) {
    const internal::StackedArena& arena = data_->stacks[k];
    if (arena.memory != nullptr || arena.needed == 0) continue;
    return format::fail(&data_->report, Error::kInvalidState, "arenas",
                        "arena %zu has no memory; %llu bytes are needed at these sizes (set_planned_buffer)",
                        arena.index() + 1, static_cast<unsigned long long>(arena.needed));
  }
  data_->ports_checked = true;
  return Error::kOk;
}

Error Method::begin() {
  data_->report = format::Report();
  data_->position = 0;
  data_->executed = 0;
  if (!data_->ports_checked) BERTH_RETURN_IF_ERROR(check_ports());
  if (data_->has_rows) internal::forget_rows(*data_);
  // Of a run that reset_execution() ended, where that failed.
  const char* what = "";
  const Error late = internal::settle_all(*data_, &what);
  if (late != Error::kOk) return fail_method(*data_, late, what);
  data_->running = true;
  for (size_t i = 0; i < data_->counts.inputs; ++i) data_->inputs[i].fresh = false;
  return Error::kOk;
}

Error Method::execute() {
  if (data_->running) {
    char place[96];
    internal::instruction_place(*data_, data_->position, place);
    return format::fail(&data_->report, Error::kInvalidState, place,
                        "a run started by step() is in progress; reset_execution() ends it");
  }
  BERTH_RETURN_IF_ERROR(begin());
  return finish(internal::run(*data_, UINT64_MAX));
}

// Also after an error: the caller may free its memory now, so no device may still use it.
Error Method::finish(Error error) {
  data_->running = false;
  data_->position = 0;
  if (error == Error::kEndOfMethod) static_cast<void>(take_explanation());  // else it is that error's
  const Error late = internal::synchronize(*data_);
  data_->clear_copies();
  if (error != Error::kEndOfMethod) return error;
  if (late == Error::kOk) return Error::kOk;
  const char* const why = take_explanation();
  return fail_method(*data_, late, why == nullptr ? "work on a device failed after the last instruction" : why);
}

Error Method::step() {
  if (!data_->running) BERTH_RETURN_IF_ERROR(begin());
  const Error error = internal::run(*data_, 1);
  if (error == Error::kOk) return error;
  const Error end = finish(error);
  return end == Error::kOk ? Error::kEndOfMethod : end;
}

Error Method::step_quietly() {
  data_->quiet = true;
  const Error error = step();
  data_->quiet = false;
  return error;
}

void Method::set_observer(InstructionObserver* observer) { data_->observer = observer; }

void Method::reset_execution() {
  // What the caller writes now, such as a state, must not be read by work of the run that ends, nor may a fault of that
  // work be the next run's. Where it cannot be waited for, begin() tries again.
  if (data_->running && internal::synchronize(*data_) == Error::kOk) data_->clear_copies();
  data_->running = false;
  data_->position = 0;
}

EValue Method::get_output(size_t index) const {
  return index < data_->counts.outputs ? data_->values[data_->outputs[index].value] : EValue();
}

EValue Method::get_input(size_t index) const {
  return index < data_->counts.inputs ? data_->values[data_->inputs[index].value] : EValue();
}

}  // namespace berth
