// ModuleData: the data files of a Module, as one map for its Program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data_file.h"
#include "runtime/host/file_loader.h"
#include "runtime/program.h"

namespace berth::internal {

/// Empty until open(), so that it can be passed to the Program for which it is opened.
class ModuleData final : public NamedDataMap {
 public:
  /// Opens the files of `paths`, or if there are none and `program` needs one, the file beside `program_path` with its
  /// name. NotFound or AccessFailed; errors as DataFile::open. `program` must outlive this.
  Error open(const Program& program, const char* program_path, const std::vector<std::string>& paths, Report* report);

  /// From the first data file that has the key, otherwise from the program itself.
  Result<FreeableBuffer> get(const char* key) const override;
  Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const override;

 private:
  Error add(const std::string& path, Report* report);

  std::vector<std::unique_ptr<MappedFileLoader>> loaders_;
  std::vector<std::unique_ptr<DataFile>> files_;
  const Program* program_ = nullptr;
};

/// Whether a tensor of the program lies in a data file.
bool needs_data_file(const Program& program);

/// The data file beside a program: "models/a.ptd" for "models/a.pte", and for "models/a".
std::string path_beside(const std::string& program);

}  // namespace berth::internal
