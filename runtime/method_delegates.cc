// A method's delegates: finding their backends, measuring and loading them.

#include <cinttypes>
#include <cstring>

#include "base/backend_facts.h"
#include "base/compile_specs.h"
#include "base/math.h"
#include "format/delegate_device.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::length;
using format::text;

namespace {

// The largest number of payload bytes, counted once for each delegate, for each byte of the file. It can be above 1 in
// valid programs, because equal layers share a payload.
constexpr uint64_t kPayloadsPerByte = 64;
constexpr uint64_t kLeastPayloads = uint64_t{1} << 26;

const fb::BackendDelegate& delegate_at(const fb::ExecutionPlan& plan, size_t index) {
  return *plan.delegates()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

size_t blocks(size_t bytes) { return ceil_div(bytes, sizeof(DelegateBlock)); }

}  // namespace

Error MethodLoader::delegate_device(size_t index, Device* device) {
  const fb::BackendDelegate& delegate = delegate_at(plan_, index);
  const uint32_t specs = length(delegate.compile_specs());
  if (specs > kMostCompileSpecs) {
    return fail(Error::kNotSupported, "delegates", index, "a delegate has at most %zu compile specs, found %u",
                kMostCompileSpecs, specs);
  }
  for (uint32_t i = 0; i < specs; ++i) {
    if (delegate.compile_specs()->Get(i) == nullptr) {
      return fail(Error::kInvalidProgram, "delegates", index, "compile spec %u is missing", i);
    }
  }
  const TargetDevice target = format::target_device(delegate);
  if (!target.ok()) return fail(Error::kInvalidProgram, "delegates", index, "%s", target.message());
  *device = target.device();
  return Error::kOk;
}

Error MethodLoader::check_delegate(size_t index) {
  const char* name = text(delegate_at(plan_, index).id());
  const Backend* backend = program_.find_backend(name);
  if (backend == nullptr) {
    return fail(Error::kNotFound, "delegates", index,
                "no backend \"%.64s\" was given to Program::load (LoadOptions::backends)", name);
  }
  Device device;
  BERTH_RETURN_IF_ERROR(delegate_device(index, &device));
  BERTH_RETURN_IF_ERROR(find_device(device, "delegates", index));
  const Device here = devices_(device);
  backend = program_.find_backend(name, here.type);
  if (backend->serves(here.type)) return Error::kOk;
  return fail(Error::kNotSupported, "delegates", index, "backend \"%.64s\" does not run on %s", name,
              to_text(here).text);
}

Error MethodLoader::read_delegate(size_t index, Span<CompileSpec> specs, FreeableBuffer* payload,
                                  DelegateSource* source) {
  const fb::BackendDelegate& delegate = delegate_at(plan_, index);
  Result<FreeableBuffer> bytes = program_.delegate_payload(delegate);
  if (!bytes.ok()) return fail(bytes.error(), "delegates", index, "the payload cannot be read");
  *payload = std::move(*bytes);
  Device device;
  BERTH_RETURN_IF_ERROR(delegate_device(index, &device));
  for (uint32_t i = 0; i < length(delegate.compile_specs()); ++i) {
    const fb::CompileSpec& spec = *delegate.compile_specs()->Get(i);
    const auto* value = spec.value();
    specs[i].key = text(spec.key());
    specs[i].value = value == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(value->data(), value->size());
  }
  source->payload = payload->bytes();
  source->specs = specs;
  source->device = devices_(device);
  source->registry = &program_.registry();
  source->verify = program_.verification_ == Verification::kFull;
  return Error::kOk;
}

// A few bytes can add a delegate whose whole payload its backend must read.
Error MethodLoader::check_payloads(size_t index, uint64_t bytes, uint64_t* sum) {
  const uint64_t own =
      program_.file_size_ > UINT64_MAX / kPayloadsPerByte ? UINT64_MAX : kPayloadsPerByte * program_.file_size_;
  const uint64_t limit = own < kLeastPayloads ? kLeastPayloads : own;
  if (checked_add(*sum, bytes, sum) && *sum <= limit) return Error::kOk;
  return fail(
      Error::kInvalidProgram, "delegates", index,
      "delegates share payloads so often that verifying them would read more than %llu bytes, the limit for a file of "
      "this size",
      static_cast<unsigned long long>(limit));
}

// Asks the backend of delegate `index` what it needs; adds the bytes that were read to `payloads`.
Error MethodLoader::ask_delegate(size_t index, bool verify, int threads, DelegateMemory* needed, uint64_t* payloads) {
  CompileSpec specs[kMostCompileSpecs];
  FreeableBuffer payload;
  DelegateSource source;
  const fb::BackendDelegate& delegate = delegate_at(plan_, index);
  BERTH_RETURN_IF_ERROR(read_delegate(index, {specs, length(delegate.compile_specs())}, &payload, &source));
  BERTH_RETURN_IF_ERROR(check_payloads(index, payload.size(), payloads));
  source.named_data = &blobs_;
  source.verify = verify;
  const Backend& backend = *program_.find_backend(text(delegate.id()), source.device.type);
  return backend_error(index, backend.memory_needed(source, {}, threads, needed, report_));
}

Error MethodLoader::check_delegates(const MethodCounts& counts, int threads) {
  uint64_t payloads = 0;
  for (size_t i = 0; i < counts.delegates; ++i) {
    DelegateMemory needed;
    BERTH_RETURN_IF_ERROR(ask_delegate(i, true, threads, &needed, &payloads));
  }
  return Error::kOk;
}

Error MethodLoader::measure_delegates(MethodCounts* counts, int threads) {
  const bool verify = program_.verification_ == Verification::kFull;
  counts->delegate_blocks = 0;
  uint64_t payloads = 0;
  for (size_t i = 0; i < counts->delegates; ++i) {
    DelegateMemory needed;
    BERTH_RETURN_IF_ERROR(ask_delegate(i, verify, threads, &needed, &payloads));
    if (needed.method_bytes > SIZE_MAX / 4 ||
        !checked_add(counts->delegate_blocks, blocks(needed.method_bytes), &counts->delegate_blocks)) {
      return fail(Error::kMemoryAllocationFailed, "delegates", i, "it needs more than this machine can address");
    }
  }
  return Error::kOk;
}

// Keeps the backend's own report, under the delegate's place.
Error MethodLoader::backend_error(size_t index, Error error) {
  if (error == Error::kOk) return error;
  char message[sizeof report_->message] = "the backend gave no reason";
  char inside[sizeof report_->place] = "";
  if (report_ != nullptr && report_->message[0] != '\0') {
    std::snprintf(message, sizeof message, "%s", report_->message);
    std::snprintf(inside, sizeof inside, "%s", report_->place);
  }
  return fail(error, "delegates", index, "%.40s%s%.60s%s%.300s", text(delegate_at(plan_, index).id()),
              inside[0] == '\0' ? "" : ", ", inside, ": ", message);
}

Error MethodLoader::open_delegates(MethodData& data, int threads) {
  size_t spec = 0;
  size_t block = 0;
  for (size_t i = 0; i < data.counts.delegates; ++i) {
    Delegate& delegate = data.delegates[i];
    const size_t spec_count = length(delegate_at(plan_, i).compile_specs());
    for (size_t k = 0; k < spec_count; ++k) new (&data.specs[spec + k]) CompileSpec();
    BERTH_RETURN_IF_ERROR(read_delegate(i, {data.specs + spec, spec_count}, &delegate.payload, &delegate.source));
    spec += spec_count;
    delegate.source.named_data = &data.blobs;
    delegate.name = text(delegate_at(plan_, i).id());
    delegate.backend = program_.find_backend(delegate.name, delegate.source.device.type);
    const Span<uint8_t> rest(reinterpret_cast<uint8_t*>(data.delegate_blocks + block),
                             (data.counts.delegate_blocks - block) * sizeof(DelegateBlock));
    BERTH_RETURN_IF_ERROR(
        backend_error(i, delegate.backend->memory_needed(delegate.source, rest, threads, &delegate.needed, report_)));
    const size_t bytes = delegate.needed.method_bytes;
    if (bytes > rest.size() || delegate.needed.temp_bytes == MemoryNeeded::kUnknown) {
      return fail(Error::kInternal, "delegates", i, "backend \"%.64s\" did not compute its memory", delegate.name);
    }
    delegate.memory = MemoryAllocator(rest.subspan(0, bytes));
    block += blocks(bytes);
  }
  return Error::kOk;
}

Error MethodLoader::load_delegates(MethodData& data, MemoryVisitor read) {
  for (size_t i = 0; i < data.counts.delegates; ++i) {
    Delegate& delegate = data.delegates[i];
    if (delegate.call == Delegate::kNoCall) continue;
    const Instruction& call = data.instructions[delegate.call];
    DelegateLoad load;
    load.memory = &delegate.memory;
    const DeviceUse* use = data.device_table().find(delegate.source.device);
    if (use != nullptr) load.use = *use;
    load.pool = data.pool;
    load.temp = data.temp;
    load.read = read;
    load.fetch = data.fetch;
    load.args = {call.args, call.count};
    const Result<DelegateHandle*> handle = delegate.backend->load(delegate.source, load, report_);
    if (!handle.ok()) return backend_error(i, handle.error());
    delegate.handle = *handle;
  }
  return Error::kOk;
}

Error MethodLoader::resolve_delegate_call(MethodData& data, const fb::DelegateCall& call, size_t index,
                                          Instruction* out) {
  if (!is_index(call.delegate_index(), data.counts.delegates)) {
    return fail(Error::kInvalidProgram, "instructions", index, "there is no delegate %d", call.delegate_index());
  }
  const size_t number = call.delegate_index();
  Delegate& delegate = data.delegates[number];
  delegate.name = text(delegate_at(plan_, number).id());
  if (delegate.call != Delegate::kNoCall && runs_nested_programs(delegate.name)) {
    return fail(Error::kInvalidProgram, "instructions", index,
                "delegate %zu of %.40s is called by instruction %zu already; each call needs its own delegate", number,
                delegate.name, delegate.call);
  }
  const DelegateSpecs specs = format::delegate_specs(delegate_at(plan_, number));
  if (!runs_nested_programs(delegate.name) && !format::is_given_state(plan_, specs, *call.args())) {
    return fail(Error::kInvalidProgram, "instructions", index,
                "delegate %zu of %.40s keeps %lld bytes of state, which its call is not given; berth compile plans it",
                number, delegate.name, static_cast<long long>(specs.state));
  }
  if (delegate.call == Delegate::kNoCall) delegate.call = index;
  out->kind = Instruction::Kind::kDelegate;
  out->delegate = &delegate;
  out->count = length(call.args());
  for (uint32_t i = 0; i < out->count; ++i) {
    BERTH_RETURN_IF_ERROR(look_up(data, call.args()->Get(i), index, &out->args[i]));
  }
  next_arg_ += out->count;
  return Error::kOk;
}

}  // namespace berth::internal
