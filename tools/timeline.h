// A method of a program file over time: which values lie where in its arenas, and from when to when. For pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"
#include "compiler/memory/packing/plan.h"
#include "format/program_view.h"

namespace berth::tool {

/// A planned value. Steps: 0 sets the inputs, 1 + i is instruction i, the last one reads the outputs.
struct TimelineValue {
  int32_t index = 0;   // in the method's values
  std::string name;    // of the model, "scratch of delegate 0", or "%7"
  bool named = false;  // false for "%7"
  std::string node;    // of the model, that makes it; may be empty
  std::string type;    // "f32[1,64,56,56]"
  /// "input", "output", "state", "value".
  std::string role;
  /// "view of NAME", "in place of NAME", "state NAME", or empty.
  std::string relation;
  /// Index of the value that `relation` names; -1 without one.
  int32_t base = -1;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t first = 0;  // step that mentions it first
  int64_t last = 0;   // and last
};

struct TimelineArena {
  uint32_t id = 1;
  Device device;
  std::string bank;  // empty: its device has none
  int64_t bytes = 0;
  int64_t lower_bound = -1;  // -1: the file does not say
  bool proven = false;
  std::vector<TimelineValue> values;
  /// The step in which the most bytes are alive, bytes that several values share counted once; and how many.
  int64_t peak_step = 0;
  int64_t peak_bytes = 0;
};

struct Timeline {
  std::string method;
  /// What each step does: "inputs", "aten::add.out Add_3", …, "outputs".
  std::vector<std::string> steps;
  std::vector<TimelineArena> arenas;
};

/// REQUIRES: the file was verified.
Timeline timeline_of(const format::ProgramView& program, size_t method);

/// One arena of a method as a planner's problem with all places taken, for packing::picture().
struct ArenaPicture {
  packing::Problem problem;
  packing::Plan plan;
};
ArenaPicture arena_picture(const TimelineArena& arena);

}  // namespace berth::tool
