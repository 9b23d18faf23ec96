// DataFile: a data file (.ptd), with constants of programs that do not contain them.
//
//     Result<MappedFileLoader> data = MappedFileLoader::open("model.ptd");
//     Result<DataFile> file = DataFile::open(*data);
//     LoadOptions options;
//     options.external = &*file;
//     Result<Program> program = Program::load(loader, kernels, options);
#pragma once

#include <cstddef>

#include "format/data_file.h"
#include "runtime/named_data.h"

namespace berth {

/// Immutable after open(): several threads and programs may share one. Does not allocate from the heap, though its
/// loader may.
class DataFile final : public NamedDataMap {
 public:
  /// Reads and checks the tables; blobs are read by get(). The loader must outlive the DataFile. InvalidExternalData,
  /// with the place in `report` (may be null), for an invalid file; the loader's errors.
  static Result<DataFile> open(const DataLoader& loader, format::Report* report = nullptr);

  size_t size() const;
  /// Null-terminated; null when the index is out of range.
  const char* key(size_t index) const;

  Result<FreeableBuffer> get(const char* key) const override;
  Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const override;

 private:
  DataFile() = default;

  const DataLoader* loader_ = nullptr;
  FreeableBuffer tables_;
  format::DataLayout layout_;
  const fb::data::DataFile* file_ = nullptr;
};

}  // namespace berth
