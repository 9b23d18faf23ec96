// ExternalData: the mapped data files (.ptd) of a program, with their tensors and blobs by key.
//
// A program may refer to constants and initial values of state that it does not contain. They are in data files, which
// are given by name; by default, in the file in the same folder with the program's name and the extension .ptd.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "format/data_schema.h"
#include "format/program_view.h"

namespace berth {

/// One entry of a data file.
struct ExternalBlob {
  std::string key;
  std::shared_ptr<const MappedFile> file;
  size_t offset = 0;  // bytes, in the file
  size_t size = 0;
  /// Type, sizes and dimension order, in `file`; null for raw bytes.
  const fb::data::Layout* layout = nullptr;

  Span<const uint8_t> bytes() const { return file->bytes().subspan(offset, size); }
};

/// A tensor of a program that must be in a data file.
struct ExternalUse {
  std::string key;
  const fb::Tensor* tensor = nullptr;
  uint64_t bytes = 0;
};

class ExternalData {
 public:
  /// Empty.
  ExternalData() = default;
  /// Maps and verifies all of `paths`. NotFound, AccessFailed, InvalidExternalData with the file as place; a key that
  /// two entries have is InvalidExternalData.
  static Expected<ExternalData> open(const std::vector<std::string>& paths);

  bool empty() const { return blobs_.empty(); }
  /// The paths that were opened.
  const std::vector<std::string>& files() const { return files_; }
  /// In the order of their keys.
  const std::map<std::string, ExternalBlob, std::less<>>& blobs() const { return blobs_; }
  /// Null when there is none of that key.
  const ExternalBlob* find(std::string_view key) const;
  /// The blob for `use`. NotFound, with the key and how to give the file; InvalidExternalData when the blob
  /// is too short or another tensor than the program says.
  Expected<const ExternalBlob*> find(const ExternalUse& use) const;

 private:
  Status add(const std::string& path);

  std::map<std::string, ExternalBlob, std::less<>> blobs_;
  std::vector<std::string> files_;
};

/// Whether a file that begins with `bytes` says that it is a data file ("FT01").
bool looks_like_data_file(Span<const uint8_t> bytes);

/// Every tensor of the program that lies in a data file, each key once, those of Berth's delegates included; those that
/// the program has itself, as named data, are none. REQUIRES: verify_program() accepted it.
std::vector<ExternalUse> external_uses(const format::ProgramView& program);

/// The path of the data file that open_external_data() finds for the program at `path` without being given one; empty
/// when the program needs none, or the file does not exist. REQUIRES: verify_program() accepted it.
std::string data_file_beside(const format::ProgramView& program, const std::string& path);

/// The data files of the program at `path`: `given`, or, when that is empty and the program needs one, the file beside
/// it if there is one; no path, no file. Errors as ExternalData::open(). REQUIRES: verify_program() accepted it.
Expected<ExternalData> open_external_data(const format::ProgramView& program, const std::string& path,
                                          const std::vector<std::string>& given);

}  // namespace berth
