// replan: a better memory plan for an existing program, of any origin. Only arena sizes and memory offsets change.
#pragma once

#include <string>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "base/span.h"
#include "format/write/replace_offsets.h"

namespace berth::replan {

struct ArenaChange {
  std::string method;
  uint32_t id = 1;
  Device device;
  int64_t before = 0;
  int64_t after = 0;
  int64_t lower_bound = 0;  // no plan of this program's order and in-place steps is smaller
  bool optimal = false;
};

struct Replanned {
  format::ReplacedProgram program;
  std::vector<ArenaChange> arenas;

  int64_t before() const;
  int64_t after() const;
};

/// An arena that would not become smaller keeps its plan, and a program for which no new plan passes the checks keeps
/// all of it. In a file of several methods, which may share arenas, what is state in one method is left alone by the
/// others. The result's segments are those of `file`, which must stay where it is.
///
/// InvalidProgram for a file whose own plan is unsound: nothing can be kept of it. NotSupported for a file with fields
/// that are not known here. The result passed verify_program() and verify_plan().
Expected<Replanned> replan(Span<const uint8_t> file);

}  // namespace berth::replan
