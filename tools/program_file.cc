#include "tools/program_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/backend_facts.h"
#include "compiler/check_delegates.h"
#include "compiler/compile.h"
#include "compiler/import/pte/external_data.h"
#include "format/plan_check/verify_plan.h"
#include "format/verify.h"

namespace berth::tool {
namespace {

Failure data_file(const std::string& path) {
  return Failure{Error::kInvalidProgram, path, "is a data file; name the program, and this file with --data"};
}

Failure in_file(const std::string& path, const format::Report& report) {
  const std::string place = report.place[0] == '\0' ? path : path + ": " + report.place;
  return if_no_program(path, Failure{report.code, place, report.message});
}

}  // namespace

bool is_program(const MappedFile& file) {
  return file.bytes().size() >= 8 && std::memcmp(file.bytes().data() + 4, "ET", 2) == 0;
}

Failure if_no_program(const std::string& path, Failure failure) {
  const auto file = MappedFile::open(path);
  if (!file.ok() || (*file)->bytes().size() < 64 || is_program(**file)) return failure;
  if (looks_like_data_file((*file)->bytes())) return data_file(path);
  const std::string stem = std::filesystem::path(path).stem().string();
  return Failure{
      Error::kInvalidProgram, path,
      "is not a program (bytes 4 to 7 should be \"ET12\"); " +
          (named_like_a_model(path) ? "compile the model first: berth compile " + path + " -o " + stem + ".pte"
                                    : "berth compile makes one from an " + model_extensions(" or ", false) + " file")};
}

Status refuse_data_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file.ok() && looks_like_data_file((*file)->bytes())) return data_file(path);
  return Done{};
}

Expected<ProgramFile> open_program(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ProgramFile program{path, std::move(file), {}};
  format::Report report;
  if (format::ProgramView::open(program.file->bytes(), &program.view, &report) != Error::kOk ||
      format::verify_program(program.view, &report) != Error::kOk) {
    return in_file(path, report);
  }
  return program;
}

Expected<PlanCheck> check_plan(const ProgramFile& program) {
  PlanCheck check;
  std::vector<uint8_t> scratch;
  for (size_t method = 0; method < program.view.method_count(); ++method) {
    format::Report report;
    format::PlanFacts facts;
    scratch.resize(format::plan_scratch_bytes(program.view, method));
    if (format::verify_plan(program.view, method, scratch, &facts, &report) != Error::kOk) {
      return in_file(program.path, report);
    }
    check.inferred = check.inferred || facts.inferred;
    check.unknown_operators += facts.unknown_operators;
  }
  return check;
}

Expected<PayloadCheck> check_payloads(const ProgramFile& program) {
  const Status checked = berth::check_payloads(program.view);
  if (!checked.ok()) {
    return Failure{checked.error().code, program.path + ": " + checked.error().place, checked.error().message};
  }
  PayloadCheck check;
  for (size_t m = 0; m < program.view.method_count(); ++m) {
    for (const fb::BackendDelegate* delegate : *program.view.method(m).delegates()) {
      const std::string name = format::text(delegate->id());
      const bool opened = runs_nested_programs(name.c_str());
      ++(opened ? check.opened : check.unopened);
      if (!opened && std::find(check.names.begin(), check.names.end(), name) == check.names.end()) {
        check.names.push_back(name);
      }
    }
  }
  return check;
}

}  // namespace berth::tool
