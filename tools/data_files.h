// The data files (.ptd) of a program, for the runtime.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "compiler/import/pte/external_data.h"
#include "runtime/named_data.h"
#include "runtime/program.h"

namespace berth::tool {

/// Empty until open(), so that it can be passed to the Program for which it is opened.
class DataFiles final : public NamedDataMap {
 public:
  /// Opens `given`, or if it is empty and the program needs one, the data file with the name of `path`; checks that
  /// they contain all that `program` needs. NotFound names the missing key. `program` must outlive this.
  Status open(const Program& program, const std::string& path, const std::vector<std::string>& given);

  /// The paths of the open files.
  const std::vector<std::string>& files() const { return data_.files(); }

  /// From the data files, otherwise from the program itself.
  Result<FreeableBuffer> get(const char* key) const override;
  Error check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const override;

 private:
  ExternalData data_;
  const Program* program_ = nullptr;
};

/// Checks that `data` contains all that `program`, a verified file at `path`, needs. NotFound, InvalidExternalData.
Status check_external_data(const ExternalData& data, const format::ProgramView& program, const std::string& path);

/// Adds --data.
void add_data(CLI::App& command, std::vector<std::string>& files);

}  // namespace berth::tool
