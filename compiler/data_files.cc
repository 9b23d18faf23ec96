#include "compiler/data_files.h"

#include <fnmatch.h>

#include <filesystem>
#include <system_error>

#include "base/output_file.h"
#include "compiler/import/pte/external_data.h"
#include "compiler/ir/text.h"

namespace berth {
namespace {

std::string place_of(const std::string& text) { return "external constants " + ir::quoted(text); }

bool same_path(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto first = std::filesystem::weakly_canonical(std::filesystem::absolute(a, error), error);
  if (error) return a == b;
  const auto second = std::filesystem::weakly_canonical(std::filesystem::absolute(b, error), error);
  return error ? a == b : first == second;
}

Status write_from(const std::vector<emit::ExternalFile>& files, size_t next, const std::function<Status()>& then) {
  if (next == files.size()) return then();
  const emit::ExternalFile& external = files[next];
  const auto write = [&](OutputFile& file) {
    return format::write_data_file(external.data,
                                   [&](Span<const uint8_t> bytes) { return file.write(bytes.data(), bytes.size()); });
  };
  const auto check = [&](const std::string& written) -> Status {
    BERTH_ASSIGN_OR_RETURN(const ExternalData data, ExternalData::open({written}));
    if (data.blobs().size() == external.data.blobs.size()) return write_from(files, next + 1, then);
    return Failure{Error::kInternal, external.path, "the data file that was made lacks a constant"};
  };
  return write_whole_file(external.path, write, check);
}

}  // namespace

Expected<ExternalRules> ExternalRules::parse(const std::vector<std::string>& texts) {
  ExternalRules rules;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    Rule rule{text, equals == std::string::npos ? "*" : text.substr(0, equals),
              equals == std::string::npos ? text : text.substr(equals + 1)};
    if (rule.glob.empty() || rule.file.empty()) {
      return Failure{Error::kInvalidArgument, place_of(text),
                     "expected FILE.ptd, or GLOB=FILE.ptd for constants of some names"};
    }
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

emit::ConstantFile ExternalRules::constant_file() {
  if (rules_.empty()) return nullptr;
  return [this](const ir::Constant& constant) {
    std::string file;
    for (Rule& rule : rules_) {
      if (fnmatch(rule.glob.c_str(), constant.name.c_str(), 0) != 0) continue;
      rule.matched = true;
      file = rule.file;
    }
    return file;
  };
}

Status ExternalRules::check_matched() const {
  for (const Rule& rule : rules_) {
    if (rule.matched) continue;
    return Failure{Error::kNotFound, place_of(rule.text),
                   rule.glob == "*" ? "the program has no constants"
                                    : "no constant has such a name; berth inspect PROGRAM --values lists them"};
  }
  return Done{};
}

Status check_data_files(const std::vector<emit::ExternalFile>& files, const std::string& program,
                        const std::vector<std::string>& read) {
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& path = files[i].path;
    const std::string place = place_of(path);
    BERTH_TRY(keep_files(read, path, place));
    if (is_special_file(path)) return Failure{Error::kInvalidArgument, place, "expected a regular file"};
    if (same_path(path, program)) return Failure{Error::kInvalidArgument, place, "this is the program's own file"};
    for (size_t k = 0; k < i; ++k) {
      if (!same_path(path, files[k].path)) continue;
      return Failure{Error::kInvalidArgument, place, "is the same file as " + files[k].path + "; write one of the two"};
    }
  }
  return Done{};
}

Status write_data_files(const std::vector<emit::ExternalFile>& files, const std::function<Status()>& then) {
  return write_from(files, 0, then);
}

}  // namespace berth
