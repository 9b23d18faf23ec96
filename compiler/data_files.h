// The data files (.ptd) that compile_to_file() writes beside a program: which constants lie in them, and writing them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/emit/external_constants.h"
#include "compiler/ir/module.h"

namespace berth {

/// CompileOptions::external_constants.
class ExternalRules {
 public:
  /// InvalidArgument when a text has no file or an empty glob.
  static Expected<ExternalRules> parse(const std::vector<std::string>& texts);

  /// For emission, which calls it for every constant that it writes; null when there are no rules. This must outlive
  /// it.
  emit::ConstantFile constant_file();

  /// NotFound for a rule whose glob was like no constant that was written.
  Status check_matched() const;

 private:
  struct Rule {
    std::string text;
    std::string glob;
    std::string file;
    bool matched = false;
  };

  std::vector<Rule> rules_;
};

/// InvalidArgument when a file is that of the program, at `program`, or one of `read`, or exists and is not a regular
/// file.
Status check_data_files(const std::vector<emit::ExternalFile>& files, const std::string& program,
                        const std::vector<std::string>& read);

/// Writes all files, reads each again, and then calls `then`; only when that has succeeded do they take the place of
/// what was there.
Status write_data_files(const std::vector<emit::ExternalFile>& files, const std::function<Status()>& then);

}  // namespace berth
