// What `berth report FIRST SECOND` says about two memory plans, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/plan_changes.h"
#include "tools/tool.h"

namespace berth::tool {

/// A value in the JSON of the page and of the comparison.
Json value_json(const TimelineValue& value);

/// Two programs, by the paths that the user gave.
struct ProgramChanges {
  std::string first;
  std::string second;
  std::vector<MethodChanges> methods;   // those of both, in the order of the first
  std::vector<std::string> only_first;  // methods that the other does not have
  std::vector<std::string> only_second;

  bool same() const;
};

/// Totals first, then for each method its arenas, how many values changed in which way, and the `most` largest changes.
std::string changes_text(const ProgramChanges& changes, size_t most);

/// The same with all changes; the keys are in docs/command_line.md.
Json changes_json(const ProgramChanges& changes);

}  // namespace berth::tool
