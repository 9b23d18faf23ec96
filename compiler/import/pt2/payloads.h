// Payloads: the tensors of an archive, by name, mapped from the file.
//
// A payload file is a whole storage; a tensor is a view of it by sizes, strides and offset. Tensors that are dense in
// some order of their dimensions (or repeat along one by a stride of 0) map the file; only those with gaps are gathered
// into memory, within a budget of the file's size + 64 MB.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "compiler/import/pt2/archive.h"
#include "compiler/import/pt2/schema.h"
#include "compiler/ir/blob.h"

namespace berth::pt2 {

/// The tensor is `blob` as a row-major tensor of `stored` sizes, permuted by `order` (when not empty), expanded to
/// `sizes`.
struct Payload {
  DType dtype = DType::kF32;
  std::vector<int64_t> stored;
  std::vector<int64_t> order;
  std::vector<int64_t> sizes;
  ir::Blob blob;
  size_t offset = 0;  // of the blob in the file, when it maps the file
};

class Payloads {
 public:
  /// Reads the configs of weights and constants of model `name`. `file` holds the archive; when null, `bytes` stand in
  /// memory alone and tensors are copied out of them. Failures have the config as place.
  static Expected<Payloads> read(const Archive& archive, const std::string& name,
                                 std::shared_ptr<const MappedFile> file, Span<const uint8_t> bytes);

  /// The parameter or persistent buffer `name`, or else the constant or other buffer.
  Expected<Payload> weight(const std::string& name) { return find(weights_, constants_, name); }
  Expected<Payload> constant(const std::string& name) { return find(constants_, weights_, name); }

 private:
  struct Entry {
    TensorMeta meta;
    Record record;
    bool pickled = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  static Expected<Entries> read_config(const Archive& archive, const std::string& folder, const std::string& config);
  Expected<Payload> find(const Entries& first, const Entries& second, const std::string& name);
  Expected<Payload> load(const Entry& entry, const std::string& place);
  /// `bytes` of the archive from `first` on: mapped, or a copy where there is no file.
  Expected<ir::Blob> take(size_t first, size_t bytes, const std::string& place);
  Expected<ir::Blob> gather(const Entry& entry, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                            size_t start, const std::string& place);

  std::shared_ptr<const MappedFile> file_;
  Span<const uint8_t> bytes_;
  Entries weights_, constants_;
  size_t budget_ = 0;
};

}  // namespace berth::pt2
