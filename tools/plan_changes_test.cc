#include "tools/plan_changes.h"

#include <gtest/gtest.h>

#include <random>

#include "base/seeds_testing.h"
#include "tools/plan_changes_report.h"

namespace berth::tool {
namespace {

TimelineValue value(int32_t index, const char* name, int64_t offset, int64_t bytes, int64_t first, int64_t last) {
  TimelineValue value;
  value.index = index;
  value.name = name;
  value.named = name[0] != '%';
  value.type = "u8[" + std::to_string(bytes) + "]";
  value.role = "value";
  value.offset = offset;
  value.bytes = bytes;
  value.first = first;
  value.last = last;
  return value;
}

Timeline timeline(std::vector<TimelineValue> values, int64_t bytes = 1000) {
  Timeline timeline;
  timeline.method = "forward";
  timeline.steps.resize(12);
  TimelineArena arena;
  arena.bytes = bytes;
  arena.values = std::move(values);
  timeline.arenas.push_back(std::move(arena));
  return timeline;
}

// "name: word, word".
std::vector<std::string> lines(const MethodChanges& changes) {
  std::vector<std::string> lines;
  for (const ValueChange& change : changes.changed) {
    std::string line = change.name + ":";
    for (const std::string& word : change.words()) line += " " + word;
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(PlanChanges, AProgramIsTheSameAsItself) {
  const Timeline plan = timeline({value(0, "x", 0, 8, 0, 3), value(1, "y", 8, 8, 1, 3), value(2, "%2", 16, 8, 2, 2)});
  const MethodChanges changes = changes_between(plan, plan);
  EXPECT_TRUE(changes.same());
  EXPECT_EQ(changes.unchanged, 3);
  EXPECT_EQ(changes.bytes_before(), changes.bytes_after());
}

TEST(PlanChanges, EachWayToChangeHasItsWord) {
  const Timeline before =
      timeline({value(0, "gone", 0, 8, 0, 1), value(1, "grows", 8, 8, 1, 3), value(2, "shrinks", 16, 64, 1, 3),
                value(3, "moves", 80, 8, 1, 3), value(4, "longer", 88, 8, 1, 3), value(5, "shorter", 96, 8, 1, 3),
                value(6, "stays", 104, 8, 1, 3)});
  const Timeline after =
      timeline({value(0, "comes", 0, 4, 0, 1), value(1, "grows", 8, 24, 1, 3), value(2, "shrinks", 16, 32, 1, 3),
                value(3, "moves", 84, 8, 1, 3), value(4, "longer", 88, 8, 1, 5), value(5, "shorter", 96, 8, 1, 2),
                value(6, "stays", 104, 8, 1, 3)});
  const MethodChanges changes = changes_between(before, after);
  EXPECT_FALSE(changes.same());
  EXPECT_EQ(changes.unchanged, 1);
  // By how many bytes were gained or lost, then by size, then by name.
  EXPECT_EQ(lines(changes), (Lines{"shrinks: shrank", "grows: grew", "gone: vanished", "comes: new",
                                   "longer: lives longer", "moves: moved", "shorter: lives shorter"}));
}

TEST(PlanChanges, AValueIsFoundByNameWhereverItsNumberIs) {
  const Timeline before = timeline({value(0, "a", 0, 8, 0, 1), value(1, "b", 8, 8, 1, 2)});
  const Timeline after = timeline({value(40, "b", 8, 8, 1, 2), value(41, "a", 0, 8, 0, 1)});
  EXPECT_TRUE(changes_between(before, after).same());
}

TEST(PlanChanges, ValuesOfOneNameAreNotTakenForEachOther) {
  const Timeline before = timeline({value(3, "x", 0, 8, 0, 1), value(5, "x", 8, 16, 1, 2)});
  const Timeline after = timeline({value(3, "x", 0, 8, 0, 1), value(6, "x", 24, 16, 1, 2)});
  const MethodChanges changes = changes_between(before, after);
  EXPECT_EQ(lines(changes), Lines{"x: moved"});
  ASSERT_EQ(changes.changed.size(), 1u);
  EXPECT_EQ(changes.changed[0].occurrence, 2);
  EXPECT_EQ(changes.unchanged, 1);
}

TEST(PlanChanges, ValuesWithoutANameAreTheSameOnlyWithNumberAndType) {
  const Timeline before = timeline({value(3, "%3", 0, 8, 0, 1), value(5, "%5", 8, 16, 1, 2)});
  const Timeline after = timeline({value(3, "%3", 64, 8, 0, 1), value(5, "%5", 8, 32, 1, 2)});
  const MethodChanges changes = changes_between(before, after);
  EXPECT_EQ(lines(changes), (Lines{"%5: new", "%5: vanished", "%3: moved"}));
  EXPECT_EQ(changes.unnamed, 4);
}

TEST(PlanChanges, AnotherNumberOfTheSameArenaIsNotAMove) {
  Timeline before = timeline({value(0, "x", 0, 8, 0, 1)});
  before.arenas[0].device = Device(DeviceType::kCuda, 0);
  Timeline after = before;
  after.arenas.insert(after.arenas.begin(), TimelineArena());
  after.arenas[0].bytes = 512;
  after.arenas[1].id = 2;
  const MethodChanges changes = changes_between(before, after);
  EXPECT_TRUE(changes.changed.empty());
  ASSERT_EQ(changes.arenas.size(), 2u);
  EXPECT_EQ(changes.arenas[0].before, &before.arenas[0]);
  EXPECT_EQ(changes.arenas[0].after, &after.arenas[1]);
  EXPECT_EQ(changes.arenas[1].before, nullptr);
  EXPECT_EQ(changes.bytes_after() - changes.bytes_before(), 512);
  EXPECT_FALSE(changes.same());
}

TEST(PlanChanges, TheSameOffsetInAnotherBankIsAMove) {
  Timeline before = timeline({value(0, "x", 0, 8, 0, 1)});
  before.arenas[0].bank = "slow";
  Timeline after = before;
  after.arenas[0].bank = "fast";
  EXPECT_EQ(lines(changes_between(before, after)), Lines{"x: moved"});
}

// Both directions say the same, and what is listed and what is not add up to all values.
TEST(PlanChanges, RandomPlansAddUpInBothDirections) {
  testing::for_each_seed(500, [](unsigned seed) {
    std::mt19937 random(seed);
    const auto any = [&] {
      std::vector<TimelineValue> values;
      const int32_t count = static_cast<int32_t>(random() % 9);
      for (int32_t i = 0; i < count; ++i) {
        const char letter = static_cast<char>('a' + random() % 4);
        const std::string name = random() % 3 == 0 ? "%" + std::to_string(i) : std::string(1, letter);
        const int64_t offset = random() % 3 * 8;
        const int64_t bytes = (1 + random() % 3) * 8;
        values.push_back(value(i, name.c_str(), offset, bytes, random() % 3, 3 + random() % 2));
      }
      return timeline(std::move(values));
    };
    const Timeline a = any();
    const Timeline b = any();
    const MethodChanges forth = changes_between(a, b);
    const MethodChanges back = changes_between(b, a);
    EXPECT_EQ(forth.changed.size(), back.changed.size());
    EXPECT_EQ(forth.unchanged, back.unchanged);
    size_t in_a = forth.unchanged;
    size_t in_b = forth.unchanged;
    int64_t gained = 0;
    for (const ValueChange& change : forth.changed) {
      in_a += change.before.placed() ? 1 : 0;
      in_b += change.after.placed() ? 1 : 0;
      gained += change.after.bytes() - change.before.bytes();
    }
    EXPECT_EQ(in_a, a.arenas[0].values.size());
    EXPECT_EQ(in_b, b.arenas[0].values.size());
    int64_t expected = 0;
    for (const TimelineValue& value : a.arenas[0].values) expected -= value.bytes;
    for (const TimelineValue& value : b.arenas[0].values) expected += value.bytes;
    EXPECT_EQ(gained, expected);
  });
}

TEST(PlanChangesText, TotalsComeFirstAndTheRestIsCounted) {
  const Timeline before = timeline({value(0, "a", 0, 8, 0, 1), value(1, "b", 8, 8, 0, 1), value(2, "c", 16, 8, 0, 1)});
  const Timeline after = timeline({value(0, "a", 0, 24, 0, 1)}, 2000);
  ProgramChanges changes;
  changes.first = "old.pte";
  changes.second = "new.pte";
  changes.only_second = {"extra"};
  changes.methods.push_back(changes_between(before, after));
  EXPECT_EQ(changes_text(changes, 2),
            "old.pte, then new.pte: arenas of 1000 B, then 1.95 KiB (1000 bytes more)\n"
            "only the second has method extra\n"
            "method forward: 10 instructions\n"
            "  arena 1 on cpu: 1000 B, then 1.95 KiB (1000 bytes more)\n"
            "  2 vanished, 1 grew; 0 values as before\n"
            "    a: grew by 16 bytes to 24\n"
            "    b: vanished, 8 bytes at 1:8..16\n"
            "    and 1 smaller change; --all lists them\n");
}

TEST(PlanChangesText, ANameWithALineBreakStaysOnItsLine) {
  const Timeline before = timeline({value(0, "a\nb: grew", 0, 8, 0, 1)});
  const Timeline after = timeline({});
  ProgramChanges changes;
  changes.methods.push_back(changes_between(before, after));
  const std::string text = changes_text(changes, 20);
  EXPECT_EQ(text.find("\nb: grew"), std::string::npos) << text;
}

TEST(PlanChangesJson, HasEveryChangeWithBothPlaces) {
  ProgramChanges changes;
  const Timeline before = timeline({value(0, "a", 0, 8, 0, 1), value(1, "b", 8, 8, 0, 1)});
  const Timeline after = timeline({value(0, "a", 64, 8, 0, 1)});
  changes.methods.push_back(changes_between(before, after));
  const Json json = changes_json(changes);
  const Json& values = json["methods"][0]["values"];
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0]["name"], "b");
  EXPECT_EQ(values[0]["changes"], Json::array({"vanished"}));
  EXPECT_EQ(values[0]["before"]["offset"], 8);
  EXPECT_TRUE(values[0]["after"].is_null());
  EXPECT_EQ(values[1]["before"]["offset"], 0);
  EXPECT_EQ(values[1]["after"]["offset"], 64);
  EXPECT_EQ(json["same"], false);
}

}  // namespace
}  // namespace berth::tool
