// The data files (.ptd) of a program, as the runtime asks for them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "compiler/import/pte/external_data.h"
#include "runtime/named_data.h"
#include "runtime/program.h"

namespace berth::tool {

/// Empty until open(): so it can be given to the Program whose needs it is opened for.
class DataFiles final : public NamedDataMap {
 public:
  /// Opens `given`, or the file beside the program at `path` when it needs one, and looks that they hold all that
  /// `program` needs. NotFound with the key that is missing. `program` must outlive this.
  Status open(const Program& program, const std::string& path, const std::vector<std::string>& given);

  /// The paths of the open files.
  const std::vector<std::string>& files() const { return data_.files(); }

  /// Of the data files; what they have not got, of the program itself.
  Result<FreeableBuffer> get(const char* key) const override;
  Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const override;

 private:
  ExternalData data_;
  const Program* program_ = nullptr;
};

/// Looks that `data` holds all that `program`, a verified file at `path`, needs. NotFound, InvalidExternalData.
Status check_external_data(const ExternalData& data, const format::ProgramView& program, const std::string& path);

/// Adds --data.
void add_data(CLI::App& command, std::vector<std::string>& files);

}  // namespace berth::tool
