#include "runtime/program.h"

#include <cinttypes>
#include <cstring>

#include "format/program_view.h"
#include "format/verify.h"
#include "runtime/log.h"
#include "runtime/prim_kernels.h"

namespace berth {

using format::fail;
using format::length;
using format::text;

namespace {

bool names_operator(const char* entry, const char* name, const char* overload) {
  const size_t length = std::strlen(name);
  if (std::strncmp(entry, name, length) != 0) return false;
  if (overload[0] == '\0') return entry[length] == '\0';
  return entry[length] == '.' && std::strcmp(entry + length + 1, overload) == 0;
}

}  // namespace

Result<Program> Program::load(const DataLoader& loader, KernelTable kernels, const LoadOptions& options) {
  return load(loader, Span<const KernelTable>(&kernels, 1), options);
}

Result<Program> Program::load(const DataLoader& loader, Span<const KernelTable> tables, const LoadOptions& options) {
  Report own;
  Report* report = options.report == nullptr ? &own : options.report;
  *report = Report();
  Program program;
  program.loader_ = &loader;
  program.verification_ = options.verification;
  Error error = program.take(tables, options, report);
  if (error == Error::kOk) error = program.read(report);
  if (error == Error::kOk && options.verification == Verification::kFull) {
    error = format::verify_program(program.view(), report);
  }
  if (error == Error::kOk) error = program.load_constants(report);
  if (error == Error::kOk) error = program.load_names(options.verification, report);
  if (error == Error::kOk) error = program.map_devices(options.devices, report);
  if (error != Error::kOk) {
    log_message(LogLevel::kError, "program: %s: %s", report->place, report->message);
    return error;
  }
  return program;
}

Error Program::take(Span<const KernelTable> tables, const LoadOptions& options, Report* report) {
  if (tables.size() > kMaxTables) {
    return fail(report, Error::kInvalidArgument, "kernels", "at most %zu tables are supported, found %zu", kMaxTables,
                tables.size());
  }
  for (const KernelTable& table : tables) tables_[table_count_++] = table;
  if (options.backends.size() > kMaxBackends) {
    return fail(report, Error::kInvalidArgument, "backends", "at most %zu backends are supported, found %zu",
                kMaxBackends, options.backends.size());
  }
  for (Backend* backend : options.backends) {
    if (backend == nullptr) {
      return fail(report, Error::kInvalidArgument, "backends", "backend %zu is null", backend_count_);
    }
    backends_[backend_count_++] = backend;
  }
  registry_ = options.registry == nullptr ? &DeviceAllocatorRegistry::instance() : options.registry;
  external_ = options.external;
  return Error::kOk;
}

Backend* Program::find_backend(const char* name) const {
  for (size_t i = 0; i < backend_count_; ++i) {
    if (std::strcmp(backends_[i]->name(), name) == 0) return backends_[i];
  }
  return nullptr;
}

Backend* Program::find_backend(const char* name, DeviceType type) const {
  for (size_t i = 0; i < backend_count_; ++i) {
    if (std::strcmp(backends_[i]->name(), name) == 0 && backends_[i]->serves(type)) return backends_[i];
  }
  return find_backend(name);
}

Error Program::read(Report* report) {
  file_size_ = loader_->size();
  alignas(16) uint8_t head[format::kHeadBytes] = {};
  const size_t head_size = file_size_ < sizeof(head) ? static_cast<size_t>(file_size_) : sizeof(head);
  Error error = loader_->load_into(0, head_size, head);
  if (error != Error::kOk) return fail(report, error, "file", "the first %zu bytes cannot be read", head_size);
  format::FileLayout layout;
  BERTH_RETURN_IF_ERROR(format::parse_layout({head, head_size}, file_size_, &layout, report));
  if (layout.program_size > SIZE_MAX) {
    return fail(report, Error::kNotSupported, "header", "a program of %" PRIu64 " bytes is too large for this machine",
                layout.program_size);
  }
  Result<FreeableBuffer> bytes = loader_->load(0, static_cast<size_t>(layout.program_size));
  if (!bytes.ok()) {
    return fail(report, bytes.error(), "file", "%" PRIu64 " bytes of program cannot be read", layout.program_size);
  }
  program_ = std::move(*bytes);
  format::ProgramView view;
  return format::ProgramView::open(program_.bytes(), file_size_, &view, report);
}

// Created on each call, which takes some tens of nanoseconds, so that program.h does not include FlatBuffers' headers.
format::ProgramView Program::view() const {
  format::ProgramView view;
  BERTH_CHECK(format::ProgramView::open(program_.bytes(), file_size_, &view, nullptr) == Error::kOk);
  if (names_ != nullptr) view.attach_meta(names_bytes_.bytes());
  return view;
}

Error Program::load_constants(Report* report) {
  const fb::SubsegmentOffsets* table = view().root().constant_segment();
  if (table == nullptr || length(table->offsets()) < 2) return Error::kOk;
  uint64_t size = 0;
  const Error error = view().segment_range(table->segment_index(), &constants_offset_, &size);
  if (error != Error::kOk) {
    return fail(report, error, "constant_segment", "segment %u is not in the file", table->segment_index());
  }
  Result<FreeableBuffer> bytes = load_segment(table->segment_index());
  if (!bytes.ok()) {
    return fail(report, bytes.error(), "constant_segment", "%" PRIu64 " bytes of constants cannot be read", size);
  }
  constants_ = std::move(*bytes);
  return Error::kOk;
}

Error Program::load_names(Verification verification, Report* report) {
  Result<FreeableBuffer> bytes = named_data(format::kMetaKey);
  if (!bytes.ok()) {
    if (bytes.error() == Error::kNotFound || verification == Verification::kMinimal) return Error::kOk;
    return fail(report, bytes.error(), format::kMetaKey, "cannot be read");
  }
  format::ProgramView with_names = view();
  with_names.attach_meta(bytes->bytes());
  const Error error = format::verify_meta(with_names, report);
  if (error != Error::kOk) return verification == Verification::kMinimal ? Error::kOk : error;
  if (with_names.meta() == nullptr) return Error::kOk;
  names_ = with_names.meta();
  names_bytes_ = std::move(*bytes);
  return Error::kOk;
}

Result<FreeableBuffer> Program::load_segment(uint32_t index) const {
  uint64_t offset = 0;
  uint64_t size = 0;
  BERTH_RETURN_IF_ERROR(view().segment_range(index, &offset, &size));
  if (size > SIZE_MAX) return Error::kNotSupported;
  return loader_->load(offset, static_cast<size_t>(size));
}

Result<FreeableBuffer> Program::named_data(const char* key) const {
  const auto* entries = view().root().named_data();
  for (flatbuffers::uoffset_t i = 0; i < length(entries); ++i) {
    if (std::strcmp(text(entries->Get(i)->key()), key) == 0) return load_segment(entries->Get(i)->segment_index());
  }
  return Error::kNotFound;
}

Result<FreeableBuffer> Program::blob(const char* key) const {
  Result<FreeableBuffer> own = named_data(key);
  return own.ok() || own.error() != Error::kNotFound || external_ == nullptr ? std::move(own) : external_->get(key);
}

Result<FreeableBuffer> Program::delegate_payload(const fb::BackendDelegate& delegate) const {
  const fb::BackendDelegateDataReference* where = delegate.processed();
  if (where == nullptr) return Error::kInvalidProgram;
  if (where->location() == fb::DataLocation::SEGMENT) return load_segment(where->index());
  Span<const uint8_t> bytes;
  BERTH_RETURN_IF_ERROR(view().delegate_payload(delegate, &bytes));
  return FreeableBuffer(bytes.data(), bytes.size());
}

Error Program::constant(uint32_t index, uint64_t nbytes, const void** data) const {
  uint64_t offset = 0;
  const Error error = view().constant_range(index, nbytes, &offset);
  if (error == Error::kNotFound) {
    Span<const uint8_t> bytes;
    BERTH_RETURN_IF_ERROR(view().constant(index, nbytes, &bytes));
    *data = bytes.data();
    return Error::kOk;
  }
  if (error != Error::kOk) return error;
  if (offset < constants_offset_ || offset - constants_offset_ > constants_.size() ||
      nbytes > constants_.size() - (offset - constants_offset_)) {
    return Error::kInvalidProgram;
  }
  *data = constants_.data() + (offset - constants_offset_);
  return Error::kOk;
}

size_t Program::num_methods() const { return length(view().root().execution_plan()); }

const char* Program::method_name(size_t index) const {
  return index < num_methods() ? text(view().method(index).name()) : nullptr;
}

const fb::ExecutionPlan* Program::find_plan(const char* name, Report* report) const {
  for (size_t i = 0; i < num_methods(); ++i) {
    if (std::strcmp(text(view().method(i).name()), name) == 0) return &view().method(i);
  }
  fail(report, Error::kInvalidArgument, "methods", "there is no method \"%.64s\"; the first of %zu is \"%.64s\"", name,
       num_methods(), num_methods() == 0 ? "" : method_name(0));
  return nullptr;
}

const fb::MethodMeta* Program::names_of(const fb::ExecutionPlan& plan) const {
  const auto* methods = names_ == nullptr ? nullptr : names_->methods();
  for (flatbuffers::uoffset_t i = 0; i < length(methods); ++i) {
    if (std::strcmp(text(methods->Get(i)->name()), text(plan.name())) == 0) return methods->Get(i);
  }
  return nullptr;
}

size_t Program::index_of(const fb::ExecutionPlan& plan) const {
  const format::ProgramView view = this->view();
  size_t index = 0;
  while (&view.method(index) != &plan) ++index;
  return index;
}

Result<MethodMeta> Program::method_meta(const char* name) const {
  const fb::ExecutionPlan* plan = find_plan(name, nullptr);
  if (plan == nullptr) return Error::kInvalidArgument;
  return MethodMeta(plan, names_of(*plan), devices_.of(index_of(*plan)));
}

Result<MethodMeta> Program::method_meta(size_t index) const {
  if (index >= num_methods()) return Error::kInvalidArgument;
  return MethodMeta(&view().method(index), names_of(view().method(index)), devices_.of(index));
}

const KernelEntry* Program::find_kernel(const char* name, const char* overload) const {
  const char* suffix = overload == nullptr ? "" : overload;
  for (size_t i = 0; i < table_count_; ++i) {
    for (const KernelEntry& entry : tables_[i]) {
      if (names_operator(entry.name, name, suffix)) return &entry;
    }
  }
  for (const KernelEntry& entry : prim_kernels()) {
    if (names_operator(entry.name, name, suffix)) return &entry;
  }
  return nullptr;
}

}  // namespace berth
