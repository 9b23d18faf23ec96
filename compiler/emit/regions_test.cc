// Branches and loops: what runs, and who shares bytes with whom across their borders.
#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/make_model.h"

namespace berth::emit {
namespace {

using testing::listing;
using testing::module_of;
using testing::only_method;
using testing::program_of;
using testing::refusal_of;
using testing::value_text;

memory::MemoryOptions plain() {
  memory::MemoryOptions options = testing::as_written();
  options.in_place = false;
  return options;
}

// Holds row 161. Both branches stand in line; each makes the result where it belongs, so nothing is copied.
TEST(EmitRegions, BranchesAreInLineAndJumpsSkipTheOther) {
  const std::string text = R"(
    method forward(%c: bool[], %x: f32[4,4], %y: f32[4,4]) {
      %r: f32[4,4] = berth::if(%c) {
        ()
        %a: f32[4,4] = aten::mm(%x, %y)
        yield %a
      } {
        ()
        %b: f32[4,4] = aten::mm(%y, %x)
        %d: f32[4,4] = aten::add.Tensor(%b, %x)
        yield %d
      }
      %z: f32[4,4] = aten::relu(%r)
      return %z
    })";
  EXPECT_EQ(listing(only_method(program_of(text, plain()))), dedent(R"(
    jump 3 unless v0
    aten::mm.out(v1, v2, v3, v3)
    jump 5 unless false
    aten::mm.out(v2, v1, v5, v5)
    aten::add.out(v5, v1, 1, v3, v3)
    aten::relu.out(v3, v7, v7)
  )"));
  program_of(text);
}

TEST(EmitRegions, AForwardedValueIsCopied) {
  const EmittedProgram emitted = program_of(R"(
    const @w: f32[4] = splat<1>
    method forward(%c: bool[], %x: f32[4]) {
      %w: f32[4] = const @w
      %r: f32[4], %s: f32[4] = berth::if(%c) {
        ()
        yield %x, %w
      } {
        ()
        %b: f32[4] = aten::exp(%x)
        yield %b, %b
      }
      return %r, %s
    })",
                                            plain());
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    jump 4 unless v0
    aten::clone.out(v1, none, v2, v2)
    aten::clone.out(v4, none, v3, v3)
    jump 7 unless false
    aten::exp.out(v1, v7, v7)
    aten::clone.out(v7, none, v2, v2)
    aten::clone.out(v7, none, v3, v3)
  )"));
}

// Limits 1.6. Holds row 166. The first result is read after the second branch: no other value has any of its bytes
// until then.
TEST(EmitRegions, ABranchsResultIsNotOverwrittenByLaterBranches) {
  const std::string text = R"(
    method forward(%c: bool[], %x: f32[64]) {
      %r: f32[64] = berth::if(%c) {
        ()
        %a: f32[64] = aten::exp(%x)
        yield %a
      } {
        ()
        yield %x
      }
      %s: f32[64] = berth::if(%c) {
        ()
        %d: f32[64] = aten::sin(%x)
        %e: f32[64] = aten::cos(%d)
        yield %e
      } {
        ()
        %f: f32[64] = aten::neg(%x)
        yield %f
      }
      %z: f32[64] = aten::add.Tensor(%r, %s)
      return %z
    })";
  for (const bool in_place : {false, true}) {
    memory::MemoryOptions options = testing::as_written();
    options.in_place = in_place;
    const EmittedProgram emitted = program_of(text, options);
    const format::MethodDesc& method = only_method(emitted);
    const auto place = [&](int32_t v) { return std::get<format::TensorDesc>(method.values[v]).planned->offset; };
    const auto& add = std::get<format::KernelCallDesc>(method.instructions.back());
    EXPECT_NE(place(add.args[0]), place(add.args[1]));
    // All are of 256 bytes: from the second `if` on, nothing writes where the first result is.
    int writes = 0;
    bool second = false;
    for (const format::InstructionDesc& instruction : method.instructions) {
      const auto* call = std::get_if<format::KernelCallDesc>(&instruction);
      if (call == nullptr) continue;
      second = second || method.operators[call->op_index].name == "aten::sin";
      if (!second) continue;
      const int64_t apart = static_cast<int64_t>(place(call->args.back())) - static_cast<int64_t>(place(add.args[0]));
      const bool last = call->args == add.args;
      EXPECT_TRUE(apart >= 256 || apart <= -256 || (last && in_place)) << apart;
      ++writes;
    }
    EXPECT_EQ(writes, 4) << "sin, cos, neg and the sum";
  }
}

// Holds row 159, row 160: what is alive around a loop shares no byte with what the loop makes, loop after loop.
TEST(EmitRegions, LoopsShareNoBytesWithWhatIsLiveAroundThem) {
  std::string text = R"(
    method forward(%x: f32[5,8], %k: f32[8]) {
  )";
  for (int i = 0; i < 3; ++i) {
    text += filled(R"(
      %y$n: f32[5,8] = berth::scan(5, [], [%x]) { (%s$n: f32[8])
        %a$n: f32[8] = aten::mul.Tensor(%s$n, %k)
        %b$n: f32[8] = aten::exp(%a$n)
        yield %b$n
      }
    )",
                   {{"n", std::to_string(i)}});
  }
  text += R"(
    %p: f32[5,8] = aten::add.Tensor(%y0, %y1)
    %q: f32[5,8] = aten::add.Tensor(%p, %y2)
    return %q
    })";
  const EmittedProgram emitted = program_of(text, plain());
  EXPECT_EQ(std::get<format::TensorDesc>(only_method(emitted).values[0]).planned->memory_id, 1u);
  // 160 bytes each for x, three results and, in the end, two sums; k of 32 and two of the body's values.
  EXPECT_EQ(only_method(emitted).arenas[0].bytes, 160u * 4 + 32u * 3);
}

// Holds row 162.
TEST(EmitRegions, AMapCountsSlicesAndStacksAndResetsItsCounter) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[3,4]) {
      %y: f32[3,4] = berth::scan(3, [], [%x]) { (%s: f32[4])
        %a: f32[4] = aten::exp(%s)
        yield %a
      }
      return %y
    })",
                                            plain());
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    executorch_prim::sub.Scalar(0, 0, v3)
    executorch_prim::lt.Scalar(0, 3, v4)
    jump 8 unless false
    aten::select_copy.int_out(v0, 0, 0, v5, v5)
    aten::exp.out(v5, v7, v7)
    executorch_prim::et_copy_index.tensor(v1, v7, v3)
    executorch_prim::add.Scalar(0, 1, v3)
    jump 1 unless false
  )"));
  EXPECT_EQ(value_text(only_method(emitted), 1).substr(0, 10), "f32[<=3,4]") << "it grows row by row";
}

// Holds row 163.
TEST(EmitRegions, AScanCarriesAndItsLengthMayBeASymbol) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 6]
    method forward(%h: f32[4], %x: f32[n,4]) {
      %last: f32[4], %all: f32[n,4] = berth::scan(n, [%h], [%x]) { (%c: f32[4], %s: f32[4])
        %a: f32[4] = aten::add.Tensor(%c, %s)
        yield %a, %a
      }
      return %last, %all
    })",
                                            plain());
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::sym_size.int(v1, 0, v3)
    aten::clone.out(v0, none, v4, v4)
    executorch_prim::sub.Scalar(0, 0, v7)
    executorch_prim::lt.Scalar(0, 0, v8)
    jump 11 unless false
    aten::select_copy.int_out(v1, 0, 0, v9, v9)
    aten::add.out(v4, v9, 1, v10, v10)
    executorch_prim::et_copy_index.tensor(v5, v10, v7)
    aten::clone.out(v10, none, v4, v4)
    executorch_prim::add.Scalar(0, 1, v7)
    jump 3 unless false
  )"));
  EXPECT_EQ(value_text(only_method(emitted), only_method(emitted).outputs[1]).substr(0, 10), "f32[<=6,4]");
}

// Holds row 164: in the file each result has the rank of what its regions give, and the upper bounds as its sizes.
TEST(EmitRegions, ResultsOfBranchesAndLoopsHaveTheirRankAndBounds) {
  const EmittedProgram emitted = program_of(R"(
    symbol n in [1, 6]
    symbol m in [1, 3]
    method forward(%c: bool[], %x: f32[n,4], %h: i64[m]) {
      %r: f32[n,4], %s: f32[4,n] = berth::if(%c) {
        ()
        %a: f32[n,4] = aten::exp(%x)
        %t: f32[4,n] = aten::permute_copy(%a, [1, 0])
        yield %a, %t
      } {
        ()
        %b: f32[n,4] = aten::neg(%x)
        %u: f32[4,n] = aten::permute_copy(%b, [1, 0])
        yield %b, %u
      }
      %w: f32[n,4], %k: i64[m] = berth::while([%x, %h]) { (%d: f32[n,4], %e: i64[m])
        yield %c
      } { (%f: f32[n,4], %g: i64[m])
        %o: f32[n,4] = aten::sin(%f)
        yield %o, %g
      }
      %last: i64[m], %all: f32[n,2,2] = berth::scan(n, [%h], [%x]) { (%p: i64[m], %q: f32[4])
        %v: f32[2,2] = aten::view_copy(%q, [2, 2])
        yield %p, %v
      }
      return %r, %s, %w, %k, %last, %all
    })",
                                            plain());
  // Sizes at the upper ends; "<=" says that they may be smaller.
  const std::vector<std::string> expected = {"f32[<=6,4]", "f32[<=4,6]", "f32[<=6,4]",
                                             "i64[<=3]",   "i64[<=3]",   "f32[<=6,2,2]"};
  const std::vector<std::string> outputs = testing::outputs_of(only_method(emitted));
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(outputs[i].substr(0, outputs[i].find('+')), expected[i]) << i;
}

// Holds row 165. Two carried values change places: one of them is saved first.
TEST(EmitRegions, AWhileSwapsItsCarriedValuesWithoutLosingOne) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%a: f32[4], %b: f32[4], %go: bool[]) {
      %p: f32[4], %q: f32[4] = berth::while([%a, %b]) { (%c: f32[4], %d: f32[4])
        yield %go
      } { (%e: f32[4], %f: f32[4])
        yield %f, %e
      }
      return %p, %q
    })",
                                            plain());
  EXPECT_EQ(listing(only_method(emitted)), dedent(R"(
    aten::clone.out(v0, none, v3, v3)
    aten::clone.out(v1, none, v4, v4)
    jump 8 unless v2
    aten::clone.out(v4, none, v6, v6)
    aten::clone.out(v3, none, v7, v7)
    aten::clone.out(v6, none, v3, v3)
    aten::clone.out(v7, none, v4, v4)
    jump 2 unless false
  )"));
}

std::string loop(const std::string& body) {
  return R"(
    method forward(%h: f32[4], %k: f32[4], %x: f32[5,4]) {
      %last: f32[4], %other: f32[4], %all: f32[5,4] = berth::scan(5, [%h, %k], [%x]) { (%c: f32[4], %d: f32[4], %s: f32[4])
  )" + body +
         R"(
    }
    return %last, %other, %all
    })";
}

/// How many of the carried values are copied after each iteration.
size_t copies_of(const std::string& body) {
  const std::string text = listing(only_method(program_of(loop(body))));
  size_t count = 0;
  for (size_t at = text.find("et_copy_index"); at != std::string::npos; at = text.find("aten::clone", at + 1)) ++count;
  return count - 1;
}

TEST(EmitRegions, TheNextIterationReusesTheLastOnesBytesWhenDead) {
  EXPECT_EQ(listing(only_method(program_of(R"(
    method forward(%h: f32[4], %x: f32[5,4]) {
      %last: f32[4], %all: f32[5,4] = berth::scan(5, [%h], [%x]) { (%c: f32[4], %s: f32[4])
        %a: f32[4] = aten::add.Tensor(%c, %s)
        yield %a, %a
      }
      return %last, %all
    })"))),
            dedent(R"(
        aten::clone.out(v0, none, v2, v2)
        executorch_prim::sub.Scalar(0, 0, v6)
        executorch_prim::lt.Scalar(0, 5, v7)
        jump 9 unless false
        aten::select_copy.int_out(v1, 0, 0, v8, v8)
        aten::add.out(v2, v8, 1, v2, v2)
        executorch_prim::et_copy_index.tensor(v3, v2, v6)
        executorch_prim::add.Scalar(0, 1, v6)
        jump 2 unless false
      )"));
  EXPECT_EQ(copies_of(R"(
    %a: f32[4] = aten::add.Tensor(%c, %d)
    %b: f32[4] = aten::exp(%d)
    yield %a, %b, %s)"),
            0u);
}

TEST(EmitRegions, TheNextIterationIsComputedElsewhereWhenTheLastOneIsLive) {
  // By a node after it.
  EXPECT_EQ(copies_of(R"(
    %b: f32[4] = aten::exp(%d)
    %a: f32[4] = aten::add.Tensor(%c, %d)
    yield %a, %b, %s)"),
            1u);
  // Through a view.
  EXPECT_EQ(copies_of(R"(
    %v: f32[2,2] = aten::view_copy(%d, [2, 2])
    %b: f32[4] = aten::exp(%d)
    %w: f32[2,2] = aten::exp(%v)
    %a: f32[4] = aten::view_copy(%w, [4])
    yield %c, %b, %a)"),
            1u);
  // As the other carried value, or a row of what is stacked.
  EXPECT_EQ(copies_of(R"(
    %a: f32[4] = aten::exp(%c)
    yield %a, %c, %s)"),
            3u);  // one of them saved first
  EXPECT_EQ(copies_of(R"(
    %a: f32[4] = aten::exp(%c)
    yield %a, %d, %c)"),
            1u);
  // By a kernel that reads elsewhere than it writes, or has it twice, once as something else.
  EXPECT_EQ(copies_of(R"(
    %a: f32[4] = aten::flip(%c, [0])
    yield %a, %d, %s)"),
            1u);
  EXPECT_EQ(copies_of(R"(
    %v: f32[4] = aten::view_copy(%c, [4])
    %a: f32[4] = aten::add.Tensor(%c, %v)
    yield %a, %d, %s)"),
            1u);
}

// What is made before a loop and read in it is read again by the next iteration, so nothing may take its bytes.
TEST(EmitRegions, AValueThatALoopReadsLivesToItsEnd) {
  const std::string text = R"(
    method forward(%x: f32[64], %go: bool[]) {
      %k: f32[64] = aten::exp(%x)
      %r: f32[64] = berth::while([%x]) { (%c: f32[64])
        yield %go
      } { (%d: f32[64])
        %m: f32[64] = aten::mul.Tensor(%d, %k)
        %n: f32[64] = aten::sin(%m)
        %o: f32[64] = aten::cos(%n)
        yield %o
      }
      return %r
    })";
  const ir::Module module = module_of(text);
  const auto model = memory::make_model(module, module.methods[0]);
  ASSERT_TRUE(model.ok()) << model.error().text();
  const auto& values = module.methods[0].values;
  for (const ir::ValueId v : values.ids()) {
    if (values[v].name != "k") continue;
    const packing::Buffer& k = model->buffers.all[model->aliases.homes[v].buffer];
    EXPECT_EQ(k.lower, 1);
    EXPECT_EQ(k.upper, 8) << "while is step 2, its condition 3, the body 4 to 6, the end of the iteration 7";
  }
  program_of(text);
}

TEST(EmitRegions, StateIsWrittenOutsideBranchesAndReadAnywhere) {
  const std::string begin = R"(
    state @s: f32[4]
    method forward(%c: bool[], %x: f32[4]) {
      %r: f32[4] = berth::if(%c) { ()
        %o: f32[4] = berth::state_read() @s
        %a: f32[4] = aten::exp(%o)
  )";
  const std::string end = R"(
    yield %a } { () yield %x }
    return %r
    })";
  EXPECT_EQ(refusal_of(begin + end), "it was emitted");
  EXPECT_NE(refusal_of(begin + "berth::state_write(%a) @s" + end).find("outside of branches and loops"),
            std::string::npos);
}

TEST(EmitRegions, DelegatesRunInBranchesAndLoopsWithTheirScratch) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.cpu"
    method forward(%c: bool[], %x: f32[4]) {
      %r: f32[4] = berth::if(%c) {
        ()
        %y: f32[4] = berth::delegate([%x]) @d0 { (%a: f32[4])
          %b: f32[4] = aten::exp(%a)
          %d: f32[4] = aten::relu(%b)
          yield %d
        }
        yield %y
      } {
        ()
        yield %x
      }
      return %r
    })");
  EXPECT_EQ(emitted.delegates.size(), 1u);
}

}  // namespace
}  // namespace berth::emit
