// A program file, mapped and verified.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "format/program_view.h"

namespace berth::tool {

struct ProgramFile {
  std::string path;
  std::shared_ptr<const MappedFile> file;
  format::ProgramView view;
};

/// Whether `path` is a program, judged by its identifier and not by its name.
bool is_program(const MappedFile& file);

/// The error for a `path` that could not be opened as a program: `failure`, or for a file of another format, what it is
/// and what to do with it.
Failure if_no_program(const std::string& path, Failure failure);

/// InvalidProgram when `path` is a data file (.ptd) instead of a program.
Status refuse_data_file(const std::string& path);

/// Maps `path` and verifies it. The place of a failure is "PATH: place in the program".
Expected<ProgramFile> open_program(const std::string& path);

struct PlanCheck {
  bool inferred = false;           // the file does not say which values are views; it was inferred
  uint32_t unknown_operators = 0;  // without a schema in Berth; treated conservatively
};

/// Runs the plan check on every method.
Expected<PlanCheck> check_plan(const ProgramFile& program);

struct PayloadCheck {
  int64_t opened = 0;
  int64_t unopened = 0;            // delegates of other backends, whose payloads only these can read
  std::vector<std::string> names;  // of these backends, each once
};

/// Checks the payloads of all delegates of Berth's backends: the nested programs, their memory plans, and what their
/// calls give them (compiler/check_delegates.h).
Expected<PayloadCheck> check_payloads(const ProgramFile& program);

}  // namespace berth::tool
