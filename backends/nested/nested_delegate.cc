#include "backends/nested/nested_delegate.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "backends/nested/check_nested.h"
#include "base/math.h"
#include "format/narrowing.h"
#include "format/nested.h"
#include "format/tensor_facts.h"
#include "runtime/device_explanation.h"
#include "runtime/log.h"
#include "runtime/observer.h"

namespace berth {

namespace {

constexpr size_t kAlignment = 16;

// The inner program has no devices, so that it cannot find any but its own.
const DeviceAllocatorRegistry& no_devices() {
  static const DeviceAllocatorRegistry registry;
  return registry;
}

size_t capacity_bytes(const Tensor& tensor) { return tensor.capacity() * element_size(tensor.dtype()); }

// Whether a scratch has the size that a run needs, and may then lie elsewhere.
bool moves(const EValue& scratch) {
  return scratch.is_tensor() && scratch.tensor().dynamism() == ShapeDynamism::kBounded;
}

// Whether two tensors of a call share bytes.
bool meet(const Tensor& a, const Tensor& b) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(a.raw());
  const uintptr_t second = reinterpret_cast<uintptr_t>(b.raw());
  return first != 0 && second != 0 && first < second + b.nbytes() && second < first + a.nbytes();
}

// How a tensor of the call differs from that of the nested program; null when they match.
const char* difference(const EValue& outer, const Tensor& inner, Device device) {
  if (!outer.is_tensor()) return "it is not a tensor";
  const Tensor& tensor = outer.tensor();
  if (tensor.device() != device) return "it is on another device than the delegate";
  if (tensor.dtype() != inner.dtype()) return "its element type is different";
  if (tensor.rank() != inner.rank()) return "its number of dimensions is different";
  if (tensor.dim_order() != inner.dim_order()) return "its dimension order is different";
  return nullptr;
}

}  // namespace

// Passes on what it sees when the instruction's work has finished.
class NestedDelegate::SettledObserver final : public InstructionObserver {
 public:
  SettledObserver(InstructionObserver* inner, NestedBackend& backend, void* session)
      : inner_(inner), backend_(backend), session_(session) {}
  Error before(const InstructionEvent& event) override { return late_ == Error::kOk ? inner_->before(event) : late_; }
  void after(const InstructionEvent& event, Error result) override {
    static_cast<void>(take_explanation());
    const Error error = backend_.settle(session_);
    if (late_ == Error::kOk) late_ = error;
    inner_->after(event, result == Error::kOk ? error : result);
  }
  /// The error of an instruction's work, which the instruction itself could not know. It is the last one.
  Error late() const { return late_; }

 private:
  InstructionObserver* inner_;
  NestedBackend& backend_;
  void* session_;
  Error late_ = Error::kOk;
};

Result<FreeableBuffer> NestedConstants::get(const char* key) const {
  if (source_ == nullptr) return Error::kNotFound;
  return store_->get(*source_, key, use_);
}

size_t NestedDelegate::total_bytes(size_t method_bytes) {
  static_assert(alignof(NestedDelegate) <= kAlignment);
  return (sizeof(NestedDelegate) + kAlignment - 1) / kAlignment * kAlignment + method_bytes;
}

NestedDelegate::~NestedDelegate() {
  for (Recordings::Entry& entry : recordings.entries()) discard(&entry);
  // The method uses the session and the constants, so it is destroyed first.
  method.reset();
  program.reset();
  if (opened) backend.close(session);
}

Result<Program> NestedDelegate::open_program(const NestedBackend& backend, const DataLoader& loader, uint32_t version,
                                             const NamedDataMap* constants, bool verify, format::Report* report) {
  LoadOptions options;
  options.verification = verify ? Verification::kFull : Verification::kMinimal;
  options.registry = &no_devices();
  options.external = constants;
  options.report = report;
  BERTH_ASSIGN_OR_RETURN(Program program, Program::load(loader, backend.tables(), options));
  NestedChecks checks;
  checks.host_kernels = backend.host_kernels();
  checks.version = version;
  BERTH_RETURN_IF_ERROR(check_nested(program, checks, report));
  return program;
}

Error NestedDelegate::load(const DelegateSource& source, const DelegateLoad& load, format::Report* report) {
  BERTH_ASSIGN_OR_RETURN(Program inner, open_program(backend, loader, version, &constants, source.verify, report));
  program.emplace(std::move(inner));
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program->method_meta(size_t{0}));
  inputs = meta.num_inputs();
  outputs = meta.num_outputs();
  std::vector<Span<uint8_t>> arenas;
  BERTH_RETURN_IF_ERROR(find_arenas(&arenas));
  const size_t scratch_bytes = arenas.empty() ? 0 : arenas[0].size();
  has_scratch = scratch_bytes > 0;
  arena_bytes.resize(arenas.size());
  BERTH_RETURN_IF_ERROR(check_args(load.args, report));
  scratch_moves = has_scratch && moves(*load.args[load.args.size() - 1]);
  void* scratch = nullptr;
  if (has_scratch && !scratch_moves) {
    BERTH_RETURN_IF_ERROR(reach_scratch(load.args, scratch_bytes, &scratch, report));
    fixed_scratch = load.args[load.args.size() - 1]->tensor().raw();
  }
  BERTH_ASSIGN_OR_RETURN(session, backend.open(source, load, report));
  opened = true;
  if (has_scratch && !scratch_moves) arenas[0] = {static_cast<uint8_t*>(scratch), scratch_bytes};
  const HierarchicalAllocator planned(arenas);
  memory.emplace(load.memory->rest());
  MethodOptions options;
  options.pool = load.pool;
  options.report = report;
  options.user = session;
  options.small_outputs = true;
  if (backend.host_kernels() && device.is_cpu()) {
    read = load.read;
    if (read.call != nullptr) options.read = {&NestedDelegate::prefault, this};
    options.fetch = load.fetch;
  }
  BERTH_ASSIGN_OR_RETURN(Method loaded, program->load_method(format::kNestedMethodName,
                                                             MemoryManager(*memory, planned, load.temp), options));
  method.emplace(std::move(loaded));
  find_changed_inputs();
  find_ports_in_scratch();
  narrows = backend.host_kernels() && device.is_cpu() && format::narrows_in_place(program->view());
  BERTH_RETURN_IF_ERROR(check_tensors(load.args, report));
  if (backend.records()) reserve_recordings(load.args);
  return Error::kOk;
}

Error NestedDelegate::find_arenas(std::vector<Span<uint8_t>>* arenas) {
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program->method_meta(size_t{0}));
  output_scratch.resize(outputs);
  for (size_t a = 0; a < meta.num_memory_planned_buffers(); ++a) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(a));
    arenas->push_back({nullptr, static_cast<size_t>(bytes)});
    // check_nested() has checked that there are not more arenas than outputs.
    if (a > 0) output_scratch[a - 1] = {static_cast<size_t>(bytes), meta.memory_planned_buffer_alignment(a), nullptr};
  }
  return Error::kOk;
}

// Since version 3 of nested programs a value may be both.
void NestedDelegate::find_changed_inputs() {
  changed_input.assign(outputs, kNoInput);
  for (size_t k = 0; k < outputs; ++k) {
    for (size_t i = 0; i < inputs; ++i) {
      if (&inner_port(i) == &inner_port(inputs + k)) changed_input[k] = i;
    }
  }
}

// Since version 4 of nested programs both may be planned there.
void NestedDelegate::find_ports_in_scratch() {
  const fb::ExecutionPlan& plan = *method->meta().plan();
  in_scratch.assign(inputs + outputs, false);
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const uint32_t port = static_cast<uint32_t>(i < inputs ? i : i - inputs);
    const fb::Tensor* tensor = format::tensor_at(plan, (i < inputs ? plan.inputs() : plan.outputs())->Get(port));
    in_scratch[i] = tensor != nullptr && format::is_planned(*tensor) && tensor->allocation_info()->memory_id() == 1;
  }
}

void NestedDelegate::prefault(void* delegate, Span<const uint8_t> constant) {
  NestedDelegate& self = *static_cast<NestedDelegate*>(delegate);
  self.read_bytes += constant.size();
  self.read.call(self.read.context, constant);
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
    if (wrong == nullptr && output) {
      // A null pointer passes; addresses are checked again at each call.
      const uintptr_t address = reinterpret_cast<uintptr_t>(args[i]->tensor().raw());
      if (address % output_scratch[i - inputs].alignment != 0)
        wrong = "its address is not aligned for its use as scratch";
    }
    if (wrong == nullptr && output) {
      const size_t changed = changed_input[i - inputs];
      const void* const address = args[i]->tensor().raw();
      if (changed != kNoInput && address != args[changed]->tensor().raw())
        wrong = "it is elsewhere than the input that the delegate changes in place";
      if (changed == kNoInput && lies_over_input(args, i)) wrong = "it lies over an input, which is read after it";
    }
    if (wrong == nullptr) continue;
    return format::fail(report, Error::kInvalidProgram, "delegate call", "argument %zu does not match %s %zu: %s", i,
                        output ? "output" : "input", output ? i - inputs : i, wrong);
  }
  return Error::kOk;
}

bool NestedDelegate::lies_over_input(Span<EValue* const> args, size_t output) const {
  if (in_scratch[output]) return false;  // of inputs there the nested program knows when they are dead
  const Tensor& written = args[output]->tensor();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(written.raw());
  const size_t bytes = capacity_bytes(written);
  if (begin == 0 || bytes == 0) return false;
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor& read = args[i]->tensor();
    if (narrows && read.raw() == written.raw()) continue;
    const uintptr_t at = reinterpret_cast<uintptr_t>(read.raw());
    if (at != 0 && at < begin + bytes && begin < at + read.nbytes()) return true;
  }
  return false;
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
  return format::fail(report, error, kPlace, "its %zu bytes are not memory of %s", tensor.nbytes(),
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
  error = run(context, args);
  return backend.end(session, context, error);
}

Error NestedDelegate::bind(KernelContext& context, Span<EValue* const> args) {
  for (size_t i = 0; i < inputs; ++i) BERTH_RETURN_IF_ERROR(bind_argument(context, args, i));
  // How large scratch and outputs that are scratch must be follows from the sizes of the inputs.
  if (const Error error = method->lay_out(); error != Error::kOk) {
    return fail(context, error, "%s: %s", method->last_report().place, method->last_report().message);
  }
  for (size_t i = inputs; i < inputs + outputs; ++i) BERTH_RETURN_IF_ERROR(bind_argument(context, args, i));
  BERTH_RETURN_IF_ERROR(give_scratch(context, args));
  BERTH_RETURN_IF_ERROR(check_ports_in_scratch(context, args));
  const size_t input = overwritten_input();
  if (input != SIZE_MAX) {
    return fail(context, Error::kInvalidArgument, "argument %zu overlaps an output that is used as scratch before",
                input);
  }
  // Where they lie may not have been known at load, or be another place now.
  for (size_t i = inputs; i < inputs + outputs; ++i) {
    if (changed_input[i - inputs] != kNoInput || !lies_over_input(args, i)) continue;
    return fail(context, Error::kInvalidArgument, "argument %zu lies over an input, which is read after it", i);
  }
  return Error::kOk;
}

Error NestedDelegate::bind_argument(KernelContext& context, Span<EValue* const> args, size_t i) {
  const char* wrong = difference(*args[i], inner_port(i), device);
  if (wrong != nullptr) return fail(context, Error::kInvalidArgument, "argument %zu: %s", i, wrong);
  const Tensor& tensor = args[i]->tensor();
  const bool output = i >= inputs;
  if (output && in_scratch[i]) return Error::kOk;
  if (in_scratch[i]) {
    const Error error = method->set_input_sizes(i, tensor.sizes(), tensor.dtype());
    if (error == Error::kOk) return error;
    return fail(context, error, "argument %zu: %s", i, method->last_report().message);
  }
  const size_t bytes = output ? capacity_bytes(tensor) : tensor.nbytes();
  void* data = nullptr;
  if (bytes > 0) {
    const Error error =
        output ? backend.reach(use, tensor.raw(), bytes, &data) : backend.reach_input(use, tensor.raw(), bytes, &data);
    if (error != Error::kOk) {
      return fail(context, error, "argument %zu: its %zu bytes %s %s", i, bytes,
                  error == Error::kInvalidArgument ? "are not memory of" : "cannot be used on", to_text(device).text);
    }
  }
  if (output && changed_input[i - inputs] != kNoInput && data != inner_port(i).raw())
    return fail(context, Error::kInvalidArgument, "argument %zu is elsewhere than input %zu, which is changed in place",
                i, changed_input[i - inputs]);
  const Error error =
      output ? give_output(i - inputs, data, bytes) : method->set_input(i, data, tensor.sizes(), tensor.dtype());
  if (error == Error::kOk) return error;
  return fail(context, error, "argument %zu: %s", i, method->last_report().message);
}

Error NestedDelegate::check_ports_in_scratch(KernelContext& context, Span<EValue* const> args) {
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const Tensor& tensor = args[i]->tensor();
    const size_t bytes = i < inputs ? tensor.nbytes() : capacity_bytes(tensor);
    if (bytes == 0) continue;
    if (!in_scratch[i]) {
      if (!has_scratch || !meet(tensor, args[args.size() - 1]->tensor())) continue;
      return fail(context, Error::kInvalidArgument, "argument %zu lies in the scratch, which the program does not know",
                  i);
    }
    void* data = nullptr;
    const Error error = backend.reach(use, tensor.raw(), bytes, &data);
    if (error != Error::kOk) {
      return fail(context, error, "argument %zu: its %zu bytes cannot be used on %s", i, bytes, to_text(device).text);
    }
    if (data == inner_port(i).raw()) continue;
    return fail(context, Error::kInvalidArgument, "argument %zu does not lie in the scratch where the program has it",
                i);
  }
  return Error::kOk;
}

// A scratch that moves may be anywhere, and another one must be where it was.
Error NestedDelegate::give_scratch(KernelContext& context, Span<EValue* const> args) {
  if (!has_scratch) return Error::kOk;
  const EValue& value = *args[args.size() - 1];
  if (!scratch_moves) {
    if (value.is_tensor() && value.tensor().raw() == fixed_scratch) return Error::kOk;
    return fail(context, Error::kInvalidArgument, "the scratch is not where it was when the delegate was loaded");
  }
  BERTH_ASSIGN_OR_RETURN(const uint64_t needed, method->planned_bytes(size_t{0}));
  if (needed == 0) return Error::kOk;
  format::Report report;
  void* there = nullptr;
  Error error = reach_scratch(args, needed, &there, &report);
  if (error != Error::kOk) return fail(context, error, "%s: %s", report.place, report.message);
  error = method->set_planned_buffer(0, there, value.tensor().nbytes());
  moved_scratch = there;
  if (error == Error::kOk) return error;
  return fail(context, error, "scratch: %s", method->last_report().message);
}

Error NestedDelegate::argument_bytes(Span<const Span<const int32_t>> sizes, Span<uint64_t> bytes) {
  if (sizes.size() != inputs + outputs + (has_scratch ? 1 : 0)) return Error::kInvalidArgument;
  const Error error = method->planned_bytes(sizes.subspan(0, inputs), {arena_bytes.data(), arena_bytes.size()});
  if (error != Error::kOk) {
    log_message(LogLevel::kError, "%s: %s", method->last_report().place, method->last_report().message);
    return error;
  }
  for (size_t a = 1; a < arena_bytes.size(); ++a) {
    uint64_t& output = bytes[inputs + a - 1];
    if (arena_bytes[a] > output) output = arena_bytes[a];
  }
  if (has_scratch) bytes[inputs + outputs] = arena_bytes[0];
  return Error::kOk;
}

// An unchanged address costs a comparison; a new one, a walk over the inner method's tensors.
Error NestedDelegate::give_output(size_t index, void* data, size_t bytes) {
  if (changed_input[index] != kNoInput) return Error::kOk;
  OutputScratch& result = output_scratch[index];
  const size_t arena = format::nested_output_arena(index) - 1;
  if (result.bytes == 0) return method->set_output_data_ptr(index, data, bytes);
  BERTH_ASSIGN_OR_RETURN(result.needed, method->planned_bytes(arena));
  const bool follows = method->follows_sizes();
  if (!follows && result.address == data && data != nullptr && bytes >= result.bytes) return Error::kOk;
  const Error error = method->set_planned_buffer(arena, data, bytes);
  if (error != Error::kOk) return error;
  result.address = data;
  const Tensor& output = inner_port(inputs + index);
  return output.raw() == data || output.capacity() == 0 ? Error::kOk : Error::kInvalidProgram;
}

size_t NestedDelegate::overwritten_input() const {
  for (const OutputScratch& result : output_scratch) {
    if (result.bytes == 0) continue;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(result.address);
    for (size_t i = 0; i < inputs; ++i) {
      const Tensor& input = inner_port(i);
      const uintptr_t at = reinterpret_cast<uintptr_t>(input.raw());
      if (input.nbytes() > 0 && at < begin + result.needed && begin < at + input.nbytes()) return i;
    }
  }
  return SIZE_MAX;
}

Error NestedDelegate::run_plainly(KernelContext& context, Span<EValue* const> args) {
  SettledObserver observer(context.observer(), backend, session);
  method->set_observer(context.observer() == nullptr ? nullptr : &observer);
  const Error error = method->execute();
  method->set_observer(nullptr);
  if (observer.late() != Error::kOk) {
    const char* const why = take_explanation();
    return fail(context, observer.late(), "%s", why == nullptr ? "an instruction's work on the device failed" : why);
  }
  if (error == Error::kOk) return copy_sizes_out(context, args);
  return fail(context, error, "%s: %s", method->last_report().place, method->last_report().message);
}

Error NestedDelegate::copy_sizes_out(KernelContext& context, Span<EValue* const> args) {
  for (size_t i = 0; i < outputs; ++i) {
    BERTH_RETURN_IF_ERROR(set_sizes(context, args, i, inner_port(inputs + i).sizes()));
  }
  return Error::kOk;
}

Error NestedDelegate::set_sizes(KernelContext& context, Span<EValue* const> args, size_t output,
                                Span<const int32_t> sizes) {
  if (args[inputs + output]->tensor().resize(sizes) == Error::kOk) return Error::kOk;
  return fail(context, Error::kInvalidArgument, "output %zu has sizes that the outer program does not accept", output);
}

}  // namespace berth
