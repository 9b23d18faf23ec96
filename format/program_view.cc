#include "format/program_view.h"

#include <cinttypes>
#include <cstring>

#include "base/math.h"
#include "base/result.h"

namespace berth::format {

Error ProgramView::open(Span<const uint8_t> bytes, uint64_t file_size, ProgramView* view, Report* report) {
  ProgramView found;
  found.file_ = bytes;
  BERTH_RETURN_IF_ERROR(parse_layout(bytes, file_size, &found.layout_, report));
  if (found.layout_.program_size > bytes.size()) {
    return fail(report, Error::kInvalidArgument, "header", "%zu bytes were loaded of a program of %" PRIu64,
                bytes.size(), found.layout_.program_size);
  }
  if (found.layout_.program_size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(report, Error::kInvalidProgram, "header", "program_size is %" PRIu64 ", the format's limit is 2 GiB",
                found.layout_.program_size);
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kProgramAlignment != 0) {
    return fail(report, Error::kInvalidArgument, "file",
                "the program's address in memory must be a multiple of %zu; read it into aligned memory",
                kProgramAlignment);
  }
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(bytes.data());
  if (root < kHeaderOffset || root > found.layout_.program_size - 4) {
    return fail(report, Error::kInvalidProgram, "header",
                "the root table starts at %u, outside the program of %" PRIu64 " bytes", root,
                found.layout_.program_size);
  }
  found.root_ = fb::GetProgram(bytes.data());
  *view = found;
  return Error::kOk;
}

int ProgramView::find_method(const char* name) const {
  for (size_t i = 0; i < method_count(); ++i) {
    if (std::strcmp(text(method(i).name()), name) == 0) return static_cast<int>(i);
  }
  return -1;
}

Error ProgramView::meta_blob(Span<const uint8_t>* bytes) const {
  if (meta_.empty()) return named_data(kMetaKey, bytes);
  *bytes = meta_;
  return Error::kOk;
}

const fb::Meta* ProgramView::meta() const {
  Span<const uint8_t> bytes;
  if (meta_blob(&bytes) != Error::kOk || bytes.size() < kHeaderOffset) return nullptr;
  const fb::Meta* meta = fb::GetMeta(bytes.data());
  return meta->version() <= kMetaVersion ? meta : nullptr;
}

Error ProgramView::segment_range(uint32_t index, uint64_t* offset, uint64_t* size) const {
  const auto* segments = root_->segments();
  if (index >= length(segments)) return Error::kNotFound;
  const fb::DataSegment* entry = segments->Get(index);
  uint64_t end = 0;
  if (!checked_add(entry->offset(), entry->size(), &end) || end > layout_.segment_bytes) return Error::kInvalidProgram;
  *offset = layout_.segment_base + entry->offset();
  *size = entry->size();
  return Error::kOk;
}

Error ProgramView::resident(uint64_t offset, uint64_t size, Span<const uint8_t>* bytes) const {
  if (offset > file_.size() || size > file_.size() - offset) return Error::kInvalidState;
  *bytes = file_.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
  return Error::kOk;
}

Error ProgramView::segment(uint32_t index, Span<const uint8_t>* bytes) const {
  uint64_t offset = 0;
  uint64_t size = 0;
  BERTH_RETURN_IF_ERROR(segment_range(index, &offset, &size));
  return resident(offset, size, bytes);
}

Error ProgramView::blob_range(const fb::SubsegmentOffsets& table, uint32_t index, uint64_t nbytes,
                              uint64_t* offset) const {
  if (index >= length(table.offsets())) return Error::kInvalidProgram;
  uint64_t start = 0;
  uint64_t size = 0;
  BERTH_RETURN_IF_ERROR(segment_range(table.segment_index(), &start, &size));
  const uint64_t inside = table.offsets()->Get(index);
  if (inside > size || nbytes > size - inside) return Error::kInvalidProgram;
  *offset = start + inside;
  return Error::kOk;
}

Error ProgramView::constant_range(uint32_t index, uint64_t nbytes, uint64_t* offset) const {
  const fb::SubsegmentOffsets* table = root_->constant_segment();
  if (table == nullptr || length(table->offsets()) == 0) return Error::kNotFound;
  return blob_range(*table, index, nbytes, offset);
}

Error ProgramView::initial_value_range(uint32_t index, uint64_t nbytes, uint64_t* offset) const {
  if (length(root_->mutable_data_segments()) == 0) return Error::kNotFound;
  return blob_range(*root_->mutable_data_segments()->Get(0), index, nbytes, offset);
}

Error ProgramView::constant(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const {
  uint64_t offset = 0;
  const Error error = constant_range(index, nbytes, &offset);
  if (error == Error::kOk) return resident(offset, nbytes, bytes);
  if (error != Error::kNotFound || index >= length(root_->constant_buffer())) return Error::kInvalidProgram;
  const auto* storage = root_->constant_buffer()->Get(index)->storage();
  if (nbytes > length(storage)) return Error::kInvalidProgram;
  *bytes = nbytes == 0 ? Span<const uint8_t>() : Span<const uint8_t>(storage->data(), static_cast<size_t>(nbytes));
  return Error::kOk;
}

Error ProgramView::initial_value(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const {
  uint64_t offset = 0;
  BERTH_RETURN_IF_ERROR(initial_value_range(index, nbytes, &offset));
  return resident(offset, nbytes, bytes);
}

Error ProgramView::named_data(const char* key, Span<const uint8_t>* bytes) const {
  const auto* entries = root_->named_data();
  for (flatbuffers::uoffset_t i = 0; i < length(entries); ++i) {
    if (std::strcmp(text(entries->Get(i)->key()), key) == 0) return segment(entries->Get(i)->segment_index(), bytes);
  }
  return Error::kNotFound;
}

Error ProgramView::delegate_payload(const fb::BackendDelegate& delegate, Span<const uint8_t>* bytes) const {
  const fb::BackendDelegateDataReference* where = delegate.processed();
  if (where == nullptr) return Error::kInvalidProgram;
  if (where->location() == fb::DataLocation::SEGMENT) return segment(where->index(), bytes);
  if (where->index() >= length(root_->backend_delegate_data())) return Error::kNotFound;
  const auto* data = root_->backend_delegate_data()->Get(where->index())->data();
  *bytes = length(data) == 0 ? Span<const uint8_t>() : Span<const uint8_t>(data->data(), data->size());
  return Error::kOk;
}

}  // namespace berth::format
