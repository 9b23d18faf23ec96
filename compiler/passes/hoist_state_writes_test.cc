// States that branches and loops write. The fears: a branch that does not run writes, a value of another iteration, a
// write that is lost, and results in another order.
#include "compiler/passes/hoist_state_writes.h"

#include "base/text_testing.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

TEST(HoistStateWrites, TheBranchThatDoesNotWriteKeepsTheOldValue) {
  EXPECT_EQ(after(hoist_state_writes, R"(
    state @s: f32[2]
    method f(%c: bool, %x: f32[2]) {
      %r: f32[2] = berth::if(%c) { ()
        %a: f32[2] = aten::relu(%x)
        berth::state_write(%a) @s
        %b: f32[2] = aten::neg(%a)
        yield %b
      } { ()
        yield %x
      }
      return %r
    })"),
            as_printed(R"(
    state @s: f32[2]
    method f(%c: bool, %x: f32[2]) {
      %s.old: f32[2] = berth::state_read() @s
      %r: f32[2], %s.new: f32[2] = berth::if(%c) { ()
        %a: f32[2] = aten::relu(%x)
        %b: f32[2] = aten::neg(%a)
        yield %b, %a
      } { ()
        yield %x, %s.old
      }
      berth::state_write(%s.new) @s
      return %r
    })"));
}

TEST(HoistStateWrites, ALoopCarriesItBeforeWhatItSlicesAndStacks) {
  EXPECT_EQ(after(hoist_state_writes, R"(
    state @s: f32[2]
    method f(%x: f32[2], %t: f32[3,2]) {
      %r: f32[2], %y: f32[3,2] = berth::scan(3, [%x], [%t]) { (%c: f32[2], %u: f32[2])
        berth::state_write(%c) @s
        berth::state_write(%u) @s
        yield %u, %c
      }
      return %r, %y
    })"),
            as_printed(R"(
    state @s: f32[2]
    method f(%x: f32[2], %t: f32[3,2]) {
      %s.old: f32[2] = berth::state_read() @s
      %r: f32[2], %s.new: f32[2], %y: f32[3,2] = berth::scan(3, [%x, %s.old], [%t]) { (%c: f32[2], %s: f32[2], %u: f32[2])
        yield %u, %u, %c
      }
      berth::state_write(%s.new) @s
      return %r, %y
    })"));
}

TEST(HoistStateWrites, WhatWasWrittenBeforeStaysWhereNothingIsWritten) {
  EXPECT_EQ(after(hoist_state_writes, R"(
    state @s: f32[2]
    method f(%c: bool, %x: f32[2]) {
      berth::state_write(%x) @s
      %r: f32[2] = berth::if(%c) { ()
        yield %x
      } { ()
        %a: f32[2] = aten::neg(%x)
        berth::state_write(%a) @s
        yield %a
      }
      return %r
    })"),
            as_printed(R"(
    state @s: f32[2]
    method f(%c: bool, %x: f32[2]) {
      %r: f32[2], %s.new: f32[2] = berth::if(%c) { ()
        yield %x, %x
      } { ()
        %a: f32[2] = aten::neg(%x)
        yield %a, %a
      }
      berth::state_write(%s.new) @s
      return %r
    })"));
}

TEST(HoistStateWrites, WithoutWritesInRegionsNothingChanges) {
  const std::string text = R"(
    state @s: f32[2]
    method f(%c: bool, %x: f32[2]) {
      berth::state_write(%x) @s
      %r: f32[2] = berth::if(%c) { ()
        %o: f32[2] = berth::state_read() @s
        yield %o
      } { ()
        yield %x
      }
      return %r
    })";
  EXPECT_EQ(after(hoist_state_writes, text), as_printed(text));
}

TEST(HoistStateWrites, AConditionThatWritesIsLeftAlone) {
  const std::string text = R"(
    state @s: f32[1]
    method f(%x: f32[1]) {
      %r: f32[1] = berth::while([%x]) { (%c: f32[1])
        berth::state_write(%c) @s
        %g: bool[1] = aten::lt.Scalar(%c, 4)
        yield %g
      } { (%d: f32[1])
        %e: f32[1] = aten::add.Scalar(%d, 1, 1)
        yield %e
      }
      return %r
    })";
  EXPECT_EQ(after(hoist_state_writes, text), as_printed(text));
}

int count_writes(const ir::Module& module, bool in_regions) {
  int count = 0;
  const ir::Method& method = module.methods[0];
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) {
      count += method.node(id).is(ir::OpId::state_write) && (&graph != &method.body) == in_regions ? 1 : 0;
    }
  });
  return count;
}

TEST(HoistStateWrites, RandomRegionsLeaveTheSameStates) {
  int within = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Module given = ir::testing::RandomModule(seed, ir::testing::loops_of_vectors(seed)).make();
    within += count_writes(given, true) > 0 ? 1 : 0;
    ir::Module module = parsed(ir::print(given));
    ASSERT_TRUE(hoist_state_writes(module, {}).ok());
    const Status sound = ir::verify(module);
    ASSERT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(given) << ir::print(module);
    EXPECT_EQ(count_writes(module, true), 0);
    std::map<ir::StateId, eval::Array> before, now;
    for (unsigned run = 0; run < 3; ++run) {
      const std::vector<eval::Item> inputs = random_inputs(given, given.methods[0], seed + run);
      eval::EvaluateOptions how;
      how.states = &before;
      const auto expected = eval::evaluate(given, given.methods[0], inputs, how);
      how.states = &now;
      const auto found = eval::evaluate(module, module.methods[0], inputs, how);
      ASSERT_TRUE(expected.ok() && found.ok());
      for (size_t k = 0; k < expected->size(); ++k) expect_close((*expected)[k], (*found)[k], 0);
      for (const auto& [state, value] : before) EXPECT_EQ(value.bytes, now[state].bytes);
    }
  }
  EXPECT_GT(within, 100);
}

}  // namespace
}  // namespace berth::passes
