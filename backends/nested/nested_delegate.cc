#include "backends/nested/nested_delegate.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "backends/nested/check_nested.h"
#include "base/math.h"
#include "format/nested.h"

namespace berth {

namespace {

constexpr size_t kAlignment = 16;

// The inner program knows no devices: what is not its own must not be found.
const DeviceAllocatorRegistry& no_devices() {
  static const DeviceAllocatorRegistry registry;
  return registry;
}

size_t capacity_bytes(const Tensor& tensor) {
  return static_cast<size_t>(tensor.capacity()) * element_size(tensor.dtype());
}

// What a tensor of the call has that is not what the nested program has in its place; null when nothing.
const char* difference(const EValue& outer, const Tensor& inner, Device device) {
  if (!outer.is_tensor()) return "it is no tensor";
  const Tensor& tensor = outer.tensor();
  if (tensor.device() != device) return "it is on another device than the delegate";
  if (tensor.dtype() != inner.dtype()) return "its element type is another one";
  if (tensor.rank() != inner.rank()) return "it has another number of dimensions";
  if (tensor.dim_order() != inner.dim_order()) return "its dimension order is another one";
  return nullptr;
}

}  // namespace

Result<FreeableBuffer> NestedConstants::get(const char* key) const {
  if (source_ == nullptr) return Error::kNotFound;
  return store_->get(*source_, key, use_);
}

size_t NestedDelegate::total_bytes(size_t method_bytes) {
  static_assert(alignof(NestedDelegate) <= kAlignment);
  return (sizeof(NestedDelegate) + kAlignment - 1) / kAlignment * kAlignment + method_bytes;
}

NestedDelegate::~NestedDelegate() {
  // First what may use the session and the constants, then these.
  method.reset();
  program.reset();
  if (opened) backend.close(session);
}

Result<Program> NestedDelegate::open_program(const NestedBackend& backend, const DataLoader& loader,
                                             const NamedDataMap* constants, bool verify, format::Report* report) {
  LoadOptions options;
  options.verification = verify ? Verification::kFull : Verification::kMinimal;
  options.registry = &no_devices();
  options.external = constants;
  options.report = report;
  BERTH_ASSIGN_OR_RETURN(Program program, Program::load(loader, backend.tables(), options));
  NestedChecks checks;
  checks.host_kernels = backend.host_kernels();
  BERTH_RETURN_IF_ERROR(check_nested(program, checks, report));
  return program;
}

Error NestedDelegate::load(const DelegateSource& source, const DelegateLoad& load, format::Report* report) {
  BERTH_ASSIGN_OR_RETURN(Program inner, open_program(backend, loader, &constants, source.verify, report));
  program.emplace(std::move(inner));
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program->method_meta(size_t{0}));
  inputs = meta.num_inputs();
  outputs = meta.num_outputs();
  uint64_t scratch_bytes = 0;
  if (meta.num_memory_planned_buffers() > 0) {
    BERTH_ASSIGN_OR_RETURN(scratch_bytes, meta.memory_planned_buffer_size(0));
  }
  has_scratch = scratch_bytes > 0;
  void* scratch = nullptr;
  BERTH_RETURN_IF_ERROR(check_args(load.args, report));
  BERTH_RETURN_IF_ERROR(reach_scratch(load.args, scratch_bytes, &scratch, report));
  BERTH_ASSIGN_OR_RETURN(session, backend.open(source, load, report));
  opened = true;
  const Span<uint8_t> arena(static_cast<uint8_t*>(scratch), static_cast<size_t>(scratch_bytes));
  const HierarchicalAllocator planned(Span<const Span<uint8_t>>(&arena, meta.num_memory_planned_buffers()));
  memory.emplace(load.memory->rest());
  MethodOptions options;
  options.pool = load.pool;
  options.report = report;
  options.user = session;
  if (backend.host_kernels() && device.is_cpu()) {
    options.read = load.read;
    options.fetch = load.fetch;
  }
  BERTH_ASSIGN_OR_RETURN(Method loaded, program->load_method(format::kNestedMethodName,
                                                             MemoryManager(*memory, planned, load.temp), options));
  method.emplace(std::move(loaded));
  return check_tensors(load.args, report);
}

Error NestedDelegate::check_args(Span<EValue* const> args, format::Report* report) const {
  const size_t expected = inputs + outputs + (has_scratch ? 1 : 0);
  if (args.size() == expected) return Error::kOk;
  return format::fail(report, Error::kInvalidProgram, "delegate call",
                      "%zu arguments are expected (%zu inputs, %zu outputs, %s scratch), found %zu", expected, inputs,
                      outputs, has_scratch ? "a" : "no", args.size());
}

Error NestedDelegate::check_tensors(Span<EValue* const> args, format::Report* report) const {
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& inner = inner_port(i);
    const char* wrong = difference(*args[i], inner, device);
    const bool output = i >= inputs;
    if (wrong == nullptr && output && args[i]->tensor().capacity() < inner.capacity()) wrong = "it is too small";
    if (wrong == nullptr) continue;
    return format::fail(report, Error::kInvalidProgram, "delegate call", "argument %zu does not fit %s %zu: %s", i,
                        output ? "output" : "input", output ? i - inputs : i, wrong);
  }
  return Error::kOk;
}

const Tensor& NestedDelegate::inner_port(size_t index) const {
  const EValue value = index < inputs ? method->get_input(index) : method->get_output(index - inputs);
  return value.tensor();
}

Error NestedDelegate::reach_scratch(Span<EValue* const> args, uint64_t bytes, void** scratch,
                                    format::Report* report) const {
  if (!has_scratch) return Error::kOk;
  constexpr const char* kPlace = "delegate call, scratch";
  const EValue& value = *args[args.size() - 1];
  if (!value.is_tensor() || value.tensor().dtype() != DType::kU8 || value.tensor().device() != device) {
    return format::fail(report, Error::kInvalidProgram, kPlace, "a tensor of bytes on %s is expected",
                        to_text(device).text);
  }
  const Tensor& tensor = value.tensor();
  if (tensor.nbytes() < bytes || tensor.raw() == nullptr) {
    return format::fail(report, Error::kInvalidProgram, kPlace, "%" PRIu64 " bytes are needed, found %zu %s", bytes,
                        tensor.nbytes(), tensor.raw() == nullptr ? "without a place" : "");
  }
  const Error error = backend.reach(use, tensor.raw(), tensor.nbytes(), scratch);
  if (error == Error::kOk) return error;
  return format::fail(report, error, kPlace, "its %zu bytes are no memory of %s", tensor.nbytes(),
                      to_text(device).text);
}

Error NestedDelegate::fail(KernelContext& context, Error error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return context.fail(error, message);
}

Error NestedDelegate::execute(KernelContext& context, Span<EValue* const> args) {
  if (args.size() != inputs + outputs + (has_scratch ? 1 : 0)) {
    return fail(context, Error::kInvalidArgument, "%zu arguments are too many or too few", args.size());
  }
  BERTH_RETURN_IF_ERROR(bind(context, args));
  Error error = backend.begin(session, context);
  if (error != Error::kOk) return error;
  error = run(context);
  error = backend.end(session, context, error);
  return error == Error::kOk ? bring_sizes(context, args) : error;
}

Error NestedDelegate::bind(KernelContext& context, Span<EValue* const> args) {
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const char* wrong = difference(*args[i], inner_port(i), device);
    if (wrong != nullptr) return fail(context, Error::kInvalidArgument, "argument %zu: %s", i, wrong);
    const Tensor& tensor = args[i]->tensor();
    const bool output = i >= inputs;
    const size_t bytes = output ? capacity_bytes(tensor) : tensor.nbytes();
    void* data = nullptr;
    if (bytes > 0) {
      const Error error = backend.reach(use, tensor.raw(), bytes, &data);
      if (error != Error::kOk) {
        return fail(context, error, "argument %zu: its %zu bytes %s %s", i, bytes,
                    error == Error::kInvalidArgument ? "are no memory of" : "cannot be used on", to_text(device).text);
      }
    }
    const Error error = output ? method->set_output_data_ptr(i - inputs, data, bytes)
                               : method->set_input(i, data, tensor.sizes(), tensor.dtype());
    if (error != Error::kOk) return fail(context, error, "argument %zu: %s", i, method->last_report().message);
  }
  return Error::kOk;
}

Error NestedDelegate::run(KernelContext& context) {
  method->set_observer(context.observer());
  const Error error = method->execute();
  if (error == Error::kOk) return error;
  return fail(context, error, "%s: %s", method->last_report().place, method->last_report().message);
}

Error NestedDelegate::bring_sizes(KernelContext& context, Span<EValue* const> args) {
  for (size_t i = 0; i < outputs; ++i) {
    Tensor& outer = args[inputs + i]->tensor();
    if (outer.resize(inner_port(inputs + i).sizes()) == Error::kOk) continue;
    return fail(context, Error::kInvalidArgument, "output %zu has sizes that the outer program does not take", i);
  }
  return Error::kOk;
}

}  // namespace berth
