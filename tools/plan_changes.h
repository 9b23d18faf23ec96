// How the memory plan of one program differs from that of another: which values are new, vanished, grew, shrank, moved,
// or live for more or fewer steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/timeline.h"

namespace berth::tool {

/// A value of one of the two programs, and the arena that it lies in.
struct PlacedValue {
  const TimelineArena* arena = nullptr;  // null: it has no place in that program's arenas
  const TimelineValue* value = nullptr;

  bool placed() const { return value != nullptr; }
  int64_t bytes() const { return placed() ? value->bytes : 0; }
  int64_t steps() const { return placed() ? value->last - value->first + 1 : 0; }
};

/// The same value in both programs: of the same name in the same method. Values that share a name are told apart by
/// their order in the file. Values without a name are the same if they have the same number and type, as they have in a
/// program and what `berth replan` makes of it.
struct ValueChange {
  std::string name;    // as TimelineValue::name
  int occurrence = 1;  // 2 for the second value of that name, and so on
  PlacedValue before;
  PlacedValue after;
  bool moved = false;  // other arena, or other offset in it

  /// What changed, each in a word: "vanished", "new"; or any of "grew", "shrank", "moved", "lives longer", "lives
  /// shorter". Empty: nothing.
  std::vector<std::string> words() const;
};

/// The same arena in both programs: of the same device and bank, and in the same place among several of these.
struct ArenaChange {
  const TimelineArena* before = nullptr;  // null: only the other program has it
  const TimelineArena* after = nullptr;
};

struct MethodChanges {
  std::string method;
  int64_t instructions_before = 0;
  int64_t instructions_after = 0;
  std::vector<ArenaChange> arenas;  // in the order of the first program, then those that only the second one has
  /// Those in which something changed: first by how many bytes the value gained or lost, then by its bytes, most first,
  /// then by name.
  std::vector<ValueChange> changed;
  int64_t unchanged = 0;  // values
  int64_t unnamed = 0;    // of all values of both programs

  int64_t bytes_before() const;  // of all arenas
  int64_t bytes_after() const;
  bool same() const;
};

/// REQUIRES: both outlive the result, which points into them.
MethodChanges changes_between(const Timeline& before, const Timeline& after);

}  // namespace berth::tool
