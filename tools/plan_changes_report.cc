#include "tools/plan_changes_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/names.h"

namespace berth::tool {
namespace {

// "12.00 KiB, then 10.00 KiB (2048 bytes less)".
std::string bytes_change(int64_t before, int64_t after) {
  if (before == after) return fmt::format("{} in both", bytes_text(after));
  return fmt::format("{}, then {} ({} bytes {})", bytes_text(before), bytes_text(after), std::abs(after - before),
                     before < after ? "more" : "less");
}

std::string arena_text(const ArenaChange& change) {
  const TimelineArena& arena = change.before != nullptr ? *change.before : *change.after;
  std::string text = fmt::format("arena {} on {}", arena.id, device_name(arena.device));
  if (!arena.bank.empty()) text += ", bank " + arena.bank;
  if (change.before == nullptr) return fmt::format("{}: {}, only in the second", text, bytes_text(arena.bytes));
  if (change.after == nullptr) return fmt::format("{}: {}, only in the first", text, bytes_text(arena.bytes));
  if (change.before->id != change.after->id) text += fmt::format(", then {}", change.after->id);
  return text + ": " + bytes_change(change.before->bytes, change.after->bytes);
}

// "1:4096..8192", as `berth inspect --values` writes it.
std::string place_text(const PlacedValue& placed) {
  const int64_t offset = placed.value->offset;
  return fmt::format("{}:{}..{}", placed.arena->id, offset, offset + placed.value->bytes);
}

std::string steps_text(int64_t steps) { return counted(steps, "step"); }

std::string word_text(const ValueChange& change, const std::string& word) {
  const PlacedValue& before = change.before;
  const PlacedValue& after = change.after;
  if (word == "vanished") return fmt::format("vanished, {} bytes at {}", before.bytes(), place_text(before));
  if (word == "new") return fmt::format("new, {} bytes at {}", after.bytes(), place_text(after));
  if (word == "grew" || word == "shrank") {
    return fmt::format("{} by {} bytes to {}", word, std::abs(after.bytes() - before.bytes()), after.bytes());
  }
  if (word == "moved") return fmt::format("moved from {} to {}", place_text(before), place_text(after));
  return fmt::format("{}, {} instead of {}", word, steps_text(after.steps()), before.steps());
}

std::string value_text(const ValueChange& change) {
  std::string text = printable(change.name);
  if (change.occurrence > 1) text += fmt::format(" (the {}. of this name)", change.occurrence);
  const char* separator = ": ";
  for (const std::string& word : change.words()) {
    text += separator + word_text(change, word);
    separator = "; ";
  }
  return text;
}

// "2 vanished, 1 grew, 5 moved".
std::string counts_text(const MethodChanges& method) {
  const char* kOrder[] = {"vanished", "new", "grew", "shrank", "moved", "lives longer", "lives shorter"};
  std::map<std::string, int64_t> counts;
  for (const ValueChange& change : method.changed) {
    for (const std::string& word : change.words()) ++counts[word];
  }
  std::string text;
  for (const char* word : kOrder) {
    if (counts[word] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[word], word);
  }
  return text;
}

std::string method_text(const MethodChanges& method, size_t most) {
  const int64_t before = method.instructions_before;
  const int64_t after = method.instructions_after;
  std::string text = fmt::format("method {}: {}", printable(method.method), counted(before, "instruction"));
  text += before == after ? "" : fmt::format(", then {}", after);
  text += method.same() ? "; the same memory plan\n" : "\n";
  if (method.same()) return text;
  for (const ArenaChange& arena : method.arenas) text += "  " + arena_text(arena) + "\n";
  const std::string counts = counts_text(method);
  const std::string same = fmt::format("{} as before", counted(method.unchanged, "value"));
  text += fmt::format("  {}{}{}\n", counts, counts.empty() ? "" : "; ", same);
  if (method.unnamed > 0 && !method.changed.empty()) {
    text += "  values that the programs do not name are told by number and type\n";
  }
  for (size_t i = 0; i < method.changed.size() && i < most; ++i) {
    text += "    " + value_text(method.changed[i]) + "\n";
  }
  if (method.changed.size() > most) {
    text += fmt::format("    and {}; --all lists them\n",
                        counted(static_cast<int64_t>(method.changed.size() - most), "smaller change"));
  }
  return text;
}

Json placed_json(const PlacedValue& placed) {
  if (!placed.placed()) return nullptr;
  Json json = {{"arena", placed.arena->id}, {"device", device_name(placed.arena->device)}};
  json.update(value_json(*placed.value));
  json.erase("name");
  return json;
}

Json arena_json(const TimelineArena* arena) {
  if (arena == nullptr) return nullptr;
  Json json = {{"id", arena->id}, {"device", device_name(arena->device)}};
  if (!arena->bank.empty()) json["bank"] = arena->bank;
  json["bytes"] = arena->bytes;
  json["lower_bound"] = arena->lower_bound < 0 ? Json(nullptr) : Json(arena->lower_bound);
  return json;
}

Json method_json(const MethodChanges& method) {
  Json json = {{"name", method.method},
               {"same", method.same()},
               {"before", method.bytes_before()},
               {"after", method.bytes_after()},
               {"instructions_before", method.instructions_before},
               {"instructions_after", method.instructions_after},
               {"unchanged", method.unchanged},
               {"arenas", Json::array()},
               {"values", Json::array()}};
  for (const ArenaChange& arena : method.arenas) {
    json["arenas"].push_back({{"before", arena_json(arena.before)}, {"after", arena_json(arena.after)}});
  }
  for (const ValueChange& change : method.changed) {
    Json value = {{"name", change.name}, {"occurrence", change.occurrence}, {"changes", change.words()}};
    value["before"] = placed_json(change.before);
    value["after"] = placed_json(change.after);
    json["values"].push_back(std::move(value));
  }
  return json;
}

std::pair<int64_t, int64_t> bytes_of(const ProgramChanges& changes) {
  std::pair<int64_t, int64_t> bytes;
  for (const MethodChanges& method : changes.methods) {
    bytes.first += method.bytes_before();
    bytes.second += method.bytes_after();
  }
  return bytes;
}

}  // namespace

Json value_json(const TimelineValue& value) {
  return {{"index", value.index}, {"name", value.name},         {"node", value.node}, {"type", value.type},
          {"role", value.role},   {"relation", value.relation}, {"base", value.base}, {"offset", value.offset},
          {"bytes", value.bytes}, {"first", value.first},       {"last", value.last}};
}

bool ProgramChanges::same() const {
  return only_first.empty() && only_second.empty() &&
         std::all_of(methods.begin(), methods.end(), [](const MethodChanges& method) { return method.same(); });
}

std::string changes_text(const ProgramChanges& changes, size_t most) {
  if (changes.same()) return fmt::format("{} and {}: the same memory plan\n", changes.first, changes.second);
  const auto [before, after] = bytes_of(changes);
  std::string text =
      fmt::format("{}, then {}: arenas of {}\n", changes.first, changes.second, bytes_change(before, after));
  for (const std::string& name : changes.only_first) text += "only the first has method " + printable(name) + "\n";
  for (const std::string& name : changes.only_second) text += "only the second has method " + printable(name) + "\n";
  for (const MethodChanges& method : changes.methods) text += method_text(method, most);
  return text;
}

Json changes_json(const ProgramChanges& changes) {
  const auto [before, after] = bytes_of(changes);
  Json json = {{"first", changes.first},
               {"second", changes.second},
               {"same", changes.same()},
               {"before", before},
               {"after", after},
               {"methods", Json::array()},
               {"only_first", changes.only_first},
               {"only_second", changes.only_second}};
  for (const MethodChanges& method : changes.methods) json["methods"].push_back(method_json(method));
  return json;
}

}  // namespace berth::tool
