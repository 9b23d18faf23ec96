#include "tools/plan_changes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tools/names.h"

namespace berth::tool {
namespace {

// A name, and which of the arenas or values of that name.
using Key = std::pair<std::string, int>;

// An arena as both programs know it: its number may differ, where one of them has another device as well.
std::vector<Key> keys_of(const Timeline& timeline) {
  std::map<std::string, int> met;
  std::vector<Key> keys;
  for (const TimelineArena& arena : timeline.arenas) {
    const std::string place = device_name(arena.device) + " " + arena.bank;
    keys.emplace_back(place, ++met[place]);
  }
  return keys;
}

std::vector<ArenaChange> match_arenas(const Timeline& before, const Timeline& after) {
  const std::vector<Key> first = keys_of(before);
  const std::vector<Key> second = keys_of(after);
  std::vector<ArenaChange> arenas;
  for (size_t i = 0; i < first.size(); ++i) {
    const auto found = std::find(second.begin(), second.end(), first[i]);
    arenas.push_back({&before.arenas[i], found == second.end() ? nullptr : &after.arenas[found - second.begin()]});
  }
  for (size_t i = 0; i < second.size(); ++i) {
    const bool both = std::find(first.begin(), first.end(), second[i]) != first.end();
    if (!both) arenas.push_back({nullptr, &after.arenas[i]});
  }
  return arenas;
}

std::map<Key, PlacedValue> values_of(const Timeline& timeline, int64_t* unnamed) {
  std::vector<PlacedValue> values;
  for (const TimelineArena& arena : timeline.arenas) {
    for (const TimelineValue& value : arena.values) values.push_back({&arena, &value});
  }
  std::sort(values.begin(), values.end(), [](auto& a, auto& b) { return a.value->index < b.value->index; });
  std::map<std::string, int> met;
  std::map<Key, PlacedValue> keyed;
  for (const PlacedValue& placed : values) {
    const TimelineValue& value = *placed.value;
    *unnamed += value.named ? 0 : 1;
    const std::string key = value.named ? value.name : value.name + " " + value.type;
    keyed.emplace(Key(key, ++met[key]), placed);
  }
  return keyed;
}

bool is_moved(const PlacedValue& before, const PlacedValue& after, const std::vector<ArenaChange>& arenas) {
  if (!before.placed() || !after.placed()) return false;
  const auto same = [&](const ArenaChange& arena) {
    return arena.before == before.arena && arena.after == after.arena;
  };
  return before.value->offset != after.value->offset || std::none_of(arenas.begin(), arenas.end(), same);
}

int64_t gain(const ValueChange& change) { return std::abs(change.after.bytes() - change.before.bytes()); }
int64_t most(const ValueChange& change) { return std::max(change.after.bytes(), change.before.bytes()); }

bool comes_first(const ValueChange& a, const ValueChange& b) {
  if (gain(a) != gain(b)) return gain(a) > gain(b);
  if (most(a) != most(b)) return most(a) > most(b);
  return std::tie(a.name, a.occurrence) < std::tie(b.name, b.occurrence);
}

}  // namespace

std::vector<std::string> ValueChange::words() const {
  if (!after.placed()) return {"vanished"};
  if (!before.placed()) return {"new"};
  std::vector<std::string> words;
  if (before.bytes() != after.bytes()) words.emplace_back(before.bytes() < after.bytes() ? "grew" : "shrank");
  if (moved) words.emplace_back("moved");
  if (before.steps() != after.steps()) {
    words.emplace_back(before.steps() < after.steps() ? "lives longer" : "lives shorter");
  }
  return words;
}

int64_t MethodChanges::bytes_before() const {
  int64_t bytes = 0;
  for (const ArenaChange& arena : arenas) bytes += arena.before == nullptr ? 0 : arena.before->bytes;
  return bytes;
}

int64_t MethodChanges::bytes_after() const {
  int64_t bytes = 0;
  for (const ArenaChange& arena : arenas) bytes += arena.after == nullptr ? 0 : arena.after->bytes;
  return bytes;
}

bool MethodChanges::same() const {
  const auto same_arena = [](const ArenaChange& arena) {
    return arena.before != nullptr && arena.after != nullptr && arena.before->bytes == arena.after->bytes;
  };
  return changed.empty() && instructions_before == instructions_after &&
         std::all_of(arenas.begin(), arenas.end(), same_arena);
}

MethodChanges changes_between(const Timeline& before, const Timeline& after) {
  MethodChanges changes;
  changes.method = before.method;
  // Of the steps, the first sets the inputs and the last reads the outputs.
  changes.instructions_before = static_cast<int64_t>(before.steps.size()) - 2;
  changes.instructions_after = static_cast<int64_t>(after.steps.size()) - 2;
  changes.arenas = match_arenas(before, after);
  std::map<Key, std::pair<PlacedValue, PlacedValue>> both;
  for (const auto& [key, placed] : values_of(before, &changes.unnamed)) both[key].first = placed;
  for (const auto& [key, placed] : values_of(after, &changes.unnamed)) both[key].second = placed;
  for (const auto& [key, pair] : both) {
    ValueChange change;
    change.name = pair.first.placed() ? pair.first.value->name : pair.second.value->name;
    change.occurrence = key.second;
    change.before = pair.first;
    change.after = pair.second;
    change.moved = is_moved(pair.first, pair.second, changes.arenas);
    if (change.words().empty()) {
      ++changes.unchanged;
    } else {
      changes.changed.push_back(std::move(change));
    }
  }
  std::stable_sort(changes.changed.begin(), changes.changed.end(), comes_first);
  return changes;
}

}  // namespace berth::tool
