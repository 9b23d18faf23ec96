#include "format/program_view.h"

#include <cinttypes>
#include <cstring>

#include "base/math.h"
#include "base/result.h"

namespace berth::format {

Error ProgramView::open(Span<const uint8_t> file, ProgramView* view, Report* report) {
  ProgramView found;
  found.file_ = file;
  BERTH_RETURN_IF_ERROR(parse_layout(file, file.size(), &found.layout_, report));
  if (found.layout_.program_size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(report, Error::kInvalidProgram, "header", "program_size is %" PRIu64 ", the format's limit is 2 GiB",
                found.layout_.program_size);
  }
  if (reinterpret_cast<uintptr_t>(file.data()) % kProgramAlignment != 0) {
    return fail(report, Error::kInvalidArgument, "file",
                "the program's address in memory must be a multiple of %zu; read it into aligned memory",
                kProgramAlignment);
  }
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(file.data());
  if (root < kHeaderOffset || root > found.layout_.program_size - 4) {
    return fail(report, Error::kInvalidProgram, "header",
                "the root table starts at %u, outside the program of %" PRIu64 " bytes", root,
                found.layout_.program_size);
  }
  found.root_ = fb::GetProgram(file.data());
  *view = found;
  return Error::kOk;
}

int ProgramView::find_method(const char* name) const {
  for (size_t i = 0; i < method_count(); ++i) {
    if (std::strcmp(text(method(i).name()), name) == 0) return static_cast<int>(i);
  }
  return -1;
}

const fb::Meta* ProgramView::meta() const {
  Span<const uint8_t> bytes;
  if (named_data(kMetaKey, &bytes) != Error::kOk || bytes.size() < kHeaderOffset) return nullptr;
  const fb::Meta* meta = fb::GetMeta(bytes.data());
  return meta->version() <= kMetaVersion ? meta : nullptr;
}

Error ProgramView::segment(uint32_t index, Span<const uint8_t>* bytes) const {
  const auto* segments = root_->segments();
  if (index >= length(segments)) return Error::kNotFound;
  const fb::DataSegment* entry = segments->Get(index);
  uint64_t end = 0;
  if (!checked_add(entry->offset(), entry->size(), &end) || end > layout_.segment_bytes) return Error::kInvalidProgram;
  *bytes = file_.subspan(static_cast<size_t>(layout_.segment_base + entry->offset()),
                         static_cast<size_t>(entry->size()));
  return Error::kOk;
}

Error ProgramView::blob(const fb::SubsegmentOffsets& table, uint32_t index, uint64_t nbytes,
                        Span<const uint8_t>* bytes) const {
  if (index >= length(table.offsets())) return Error::kInvalidProgram;
  Span<const uint8_t> all;
  BERTH_RETURN_IF_ERROR(segment(table.segment_index(), &all));
  const uint64_t offset = table.offsets()->Get(index);
  if (offset > all.size() || nbytes > all.size() - offset) return Error::kInvalidProgram;
  *bytes = all.subspan(static_cast<size_t>(offset), static_cast<size_t>(nbytes));
  return Error::kOk;
}

Error ProgramView::constant(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const {
  const fb::SubsegmentOffsets* table = root_->constant_segment();
  if (table != nullptr && length(table->offsets()) > 0) return blob(*table, index, nbytes, bytes);
  if (index >= length(root_->constant_buffer())) return Error::kInvalidProgram;
  const auto* storage = root_->constant_buffer()->Get(index)->storage();
  if (nbytes > length(storage)) return Error::kInvalidProgram;
  *bytes = nbytes == 0 ? Span<const uint8_t>() : Span<const uint8_t>(storage->data(), static_cast<size_t>(nbytes));
  return Error::kOk;
}

Error ProgramView::initial_value(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const {
  if (length(root_->mutable_data_segments()) == 0) return Error::kNotFound;
  return blob(*root_->mutable_data_segments()->Get(0), index, nbytes, bytes);
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
