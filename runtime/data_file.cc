#include "runtime/data_file.h"

#include <cstring>

#include "format/data_schema.h"
#include "format/program_view.h"

namespace berth {

using format::length;
using format::text;

namespace {

const fb::data::Blob* find(const fb::data::DataFile& file, const char* key) {
  for (flatbuffers::uoffset_t i = 0; i < length(file.blobs()); ++i) {
    if (std::strcmp(text(file.blobs()->Get(i)->key()), key) == 0) return file.blobs()->Get(i);
  }
  return nullptr;
}

template <typename T>
bool same(const flatbuffers::Vector<T>* stored, Span<const T> wanted) {
  if (length(stored) != wanted.size()) return false;
  for (flatbuffers::uoffset_t i = 0; i < length(stored); ++i) {
    if (stored->Get(i) != wanted[i]) return false;
  }
  return true;
}

}  // namespace

Result<DataFile> DataFile::open(const DataLoader& loader, format::Report* report) {
  DataFile result;
  result.loader_ = &loader;
  uint8_t head[format::kDataHeadBytes] = {};
  const size_t size = loader.size() < sizeof head ? static_cast<size_t>(loader.size()) : sizeof head;
  Error error = loader.load_into(0, size, head);
  if (error != Error::kOk) return format::fail(report, error, "file", "the first %zu bytes cannot be read", size);
  BERTH_RETURN_IF_ERROR(format::parse_data_layout({head, size}, loader.size(), &result.layout_, report));
  Result<FreeableBuffer> tables = loader.load(0, static_cast<size_t>(result.layout_.flatbuffer_size));
  if (!tables.ok()) return format::fail(report, tables.error(), "file", "the tables cannot be read");
  result.tables_ = std::move(*tables);
  BERTH_RETURN_IF_ERROR(format::verify_data_file(result.tables_.bytes(), result.layout_, &result.file_, report));
  return result;
}

size_t DataFile::size() const { return length(file_->blobs()); }

const char* DataFile::key(size_t index) const {
  return index < size() ? text(file_->blobs()->Get(static_cast<flatbuffers::uoffset_t>(index))->key()) : nullptr;
}

Result<FreeableBuffer> DataFile::get(const char* key) const {
  const fb::data::Blob* blob = find(*file_, key);
  if (blob == nullptr) return Error::kNotFound;
  const fb::data::Segment& segment = *file_->segments()->Get(blob->segment_index());
  if (segment.size() > SIZE_MAX) return Error::kNotSupported;
  return loader_->load(layout_.segment_base + segment.offset(), static_cast<size_t>(segment.size()));
}

Error DataFile::check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
  const fb::data::Blob* blob = find(*file_, key);
  if (blob == nullptr || blob->layout() == nullptr) return Error::kOk;
  const fb::data::Layout& layout = *blob->layout();
  const bool agrees = layout.scalar_type() == static_cast<int8_t>(dtype) && same(layout.sizes(), sizes) &&
                      same(layout.dim_order(), dim_order);
  return agrees ? Error::kOk : Error::kInvalidExternalData;
}

}  // namespace berth
