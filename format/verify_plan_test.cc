// Plans that overwrite what is still read, each kind by hand, beside the nearest plan that does not.
//
// Tensors are of four floats, 16 bytes. Pictures: time to the right, addresses upward, one letter a value.
#include "format/verify_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "format/verify.h"
#include "format/write/test_programs.h"

namespace berth::format {
namespace {

using testing::bytes_of;
using testing::constant;
using testing::tensor;

/// A method in the making. Values are tensors of 16 bytes at the given offsets; the first is the input.
struct Method {
  MethodDesc desc;
  std::vector<fb::Relation> relations;
  bool has_meta = false;

  explicit Method(const std::vector<int64_t>& offsets) {
    desc.name = "forward";
    for (const int64_t offset : offsets) desc.values.emplace_back(tensor({4}, offset));
    desc.inputs = {0};
    desc.operators = {{"test::op", "out"},    {"aten::relu", "out"},
                      {"aten::copy_", ""},    {"test::op_", ""},
                      {"aten::clone", "out"}, {"executorch_prim::et_view", "default"},
                      {"aten::cat", "out"},   {"executorch_prim::et_copy_index", "tensor"}};
    desc.arenas = {{256, Device()}};
  }
  Method& op(int32_t out, std::vector<int32_t> in) { return call(0, std::move(in), out); }
  Method& relu(int32_t out, int32_t in) { return call(1, {in}, out); }
  Method& copy_(int32_t self, int32_t source) {
    desc.instructions.push_back(KernelCallDesc{2, {self, source, truth(), self}});
    return *this;
  }
  Method& in_place(int32_t self, int32_t other) {
    desc.instructions.push_back(KernelCallDesc{3, {self, other, self}});
    return *this;
  }
  Method& et_view(int32_t out, int32_t self) {
    desc.values.emplace_back(IntListDesc{{}});
    desc.instructions.push_back(KernelCallDesc{5, {self, static_cast<int32_t>(desc.values.size()) - 1, out}});
    return *this;
  }
  Method& move(int32_t to, int32_t from) {
    desc.instructions.push_back(MoveDesc{from, to});
    return *this;
  }
  /// To `destination` unless a condition that is only known at run time holds.
  Method& jump(int32_t destination) {
    if (condition_ < 0) {
      condition_ = truth();
      desc.inputs.push_back(condition_);
    }
    desc.instructions.push_back(JumpFalseDesc{condition_, destination});
    return *this;
  }
  /// Always.
  Method& jump_always(int32_t destination) {
    desc.values.emplace_back(false);
    desc.instructions.push_back(JumpFalseDesc{static_cast<int32_t>(desc.values.size()) - 1, destination});
    return *this;
  }
  Method& outputs(std::vector<int32_t> list) {
    desc.outputs = std::move(list);
    return *this;
  }
  Method& relation(int32_t value, int32_t base, fb::RelationKind kind) {
    has_meta = true;
    relations.emplace_back(value, base, kind);
    return *this;
  }
  Method& recorded() {
    has_meta = true;
    return *this;
  }
  TensorDesc& value(int32_t v) { return std::get<TensorDesc>(desc.values[static_cast<size_t>(v)]); }

 private:
  Method& call(int32_t op, std::vector<int32_t> in, int32_t out) {
    in.push_back(out);
    in.push_back(out);
    desc.instructions.push_back(KernelCallDesc{op, std::move(in)});
    return *this;
  }
  int32_t truth() {
    desc.values.emplace_back(true);
    return static_cast<int32_t>(desc.values.size()) - 1;
  }
  int32_t condition_ = -1;
};

/// "sound", or the place and what verify_plan() says.
std::string judge(const Method& method, PlanFacts* facts = nullptr) {
  ProgramDesc program;
  program.methods = {method.desc};
  program.constants = {Bytes::of(std::vector<uint8_t>(16))};
  program.initial_values = {Bytes::of(std::vector<uint8_t>(16))};
  if (method.has_meta) {
    MethodMetaDesc meta;
    meta.name = "forward";
    meta.values = {{0, "image", "input"}};
    meta.relations = method.relations;
    program.named_data = {meta_blob({"berth test", {meta}})};
  }
  const auto bytes = bytes_of(program);
  ProgramView view;
  Report report;
  EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk);
  EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.place << ": " << report.message;
  std::vector<uint8_t> scratch(plan_scratch_bytes(view, 0));
  const Error error = verify_plan(view, 0, {scratch.data(), scratch.size()}, facts, &report);
  if (error == Error::kOk) return "sound";
  EXPECT_EQ(error, Error::kInvalidProgram);
  return std::string(report.place) + ": " + report.message;
}

/// The rest of `text` after "methods[0].", without what is said about inference.
std::string gist(const std::string& text) {
  const size_t note = text.find(" (views");
  const std::string all = note == std::string::npos ? text : text.substr(0, note);
  return all.rfind("methods[0].", 0) == 0 ? all.substr(11) : all;
}

//   48 |      ddd
//   32 |   bbbbbb        d reads b and c
//   16 |      ccc        c must not lie on b
//    0 |aaaaaa
TEST(VerifyPlan, ValueThatIsStillReadIsNotOverwritten) {
  EXPECT_EQ(judge(Method({0, 32, 16, 48}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3})), "sound");
  EXPECT_EQ(gist(judge(Method({0, 32, 32, 48}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3}))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
  EXPECT_EQ(gist(judge(Method({0, 32, 44, 64}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3}))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads")
      << "one shared float is enough";
}

TEST(VerifyPlan, MemoryOfTheDeadIsReused) {
  EXPECT_EQ(judge(Method({0, 16, 32, 0, 16}).op(1, {0}).op(2, {1}).op(3, {2}).op(4, {3}).outputs({4})), "sound");
}

TEST(VerifyPlan, OutputsLiveToTheEnd) {
  EXPECT_EQ(gist(judge(Method({0, 16, 16}).op(1, {0}).op(2, {0}).outputs({1}))),
            "instructions[1]: it writes value 2 over bytes of value 1, which is an output");
}

TEST(VerifyPlan, InputsMayBeOverwrittenAfterTheirLastRead) {
  EXPECT_EQ(judge(Method({0, 16, 0}).op(1, {0}).op(2, {1}).outputs({2})), "sound");
  EXPECT_EQ(gist(judge(Method({0, 16, 0, 32}).op(1, {0}).op(2, {1}).op(3, {0}).outputs({3}))),
            "instructions[1]: it writes value 2 over bytes of value 0, which instruction 2 still reads");
}

TEST(VerifyPlan, InputsDoNotOverwriteEachOther) {
  Method method({0, 8, 32});
  method.op(2, {0, 1}).outputs({2}).desc.inputs = {0, 1};
  EXPECT_EQ(gist(judge(method)), "inputs: it writes value 0 over bytes of value 1, which instruction 0 still reads");
}

TEST(VerifyPlan, ConstantsAreNotWritten) {
  Method method({0, 16});
  method.desc.values[1] = constant({4}, 1);
  EXPECT_EQ(gist(judge(method.op(1, {0}).outputs({0}))), "instructions[0]: the kernel writes to a constant");
}

TEST(VerifyPlan, InPlaceOnlyWhereTheOperatorAllowsIt) {
  EXPECT_EQ(judge(Method({0, 16, 16}).op(1, {0}).relu(2, 1).outputs({2})), "sound");
  EXPECT_EQ(
      gist(judge(Method({0, 16, 16}).op(1, {0}).op(2, {1}).outputs({2}))),
      "instructions[1]: it writes value 2 over bytes of value 1, which it reads; the operator does not allow that");
  EXPECT_NE(judge(Method({0, 16, 20}).op(1, {0}).relu(2, 1).outputs({2})), "sound") << "shifted by an element";
}

TEST(VerifyPlan, InPlaceNeedsTheSameSizesAndElements) {
  Method wider({0, 16, 16});
  wider.value(2) = tensor({2}, 16, DType::kF64);
  EXPECT_NE(judge(wider.op(1, {0}).relu(2, 1).outputs({2})), "sound");
  Method turned({0, 16, 16});
  turned.value(1) = tensor({2, 2}, 16);
  turned.value(2) = tensor({2, 2}, 16);
  turned.value(2).dim_order = {1, 0};
  EXPECT_NE(judge(turned.op(1, {0}).relu(2, 1).outputs({2})), "sound");
}

TEST(VerifyPlan, InPlaceIsRecordedInFilesThatRecord) {
  const auto method = [] { return Method({0, 16, 16}).op(1, {0}).relu(2, 1).outputs({2}).recorded(); };
  EXPECT_NE(judge(method()), "sound");
  EXPECT_EQ(judge(method().relation(2, 1, fb::RelationKind::IN_PLACE)), "sound");
}

TEST(VerifyPlan, InPlaceDoesNotExcuseALaterReadOfTheOld) {
  EXPECT_EQ(gist(judge(Method({0, 16, 16, 32})
                           .op(1, {0})
                           .relu(2, 1)
                           .op(3, {1, 2})
                           .outputs({3})
                           .relation(2, 1, fb::RelationKind::IN_PLACE))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
}

// %2 is a view of %1: reading it is reading %1's bytes.
TEST(VerifyPlan, ViewsKeepTheirBaseAlive) {
  const auto method = [](int64_t offset) {
    return Method({0, 16, 16, offset, 64}).op(1, {0}).op(3, {0}).op(4, {2, 3}).outputs({4});
  };
  EXPECT_EQ(judge(method(32)), "sound") << "inferred";
  EXPECT_EQ(judge(method(32).relation(2, 1, fb::RelationKind::VIEW)), "sound") << "recorded";
  EXPECT_EQ(judge(method(16)),
            "methods[0].instructions[1]: it writes value 3 over bytes of value 2, which instruction "
            "2 still reads (views were inferred)");
  EXPECT_EQ(judge(method(16).relation(2, 1, fb::RelationKind::VIEW)),
            "methods[0].instructions[1]: it writes value 3 over bytes of value 2, which instruction 2 still reads");
  EXPECT_NE(judge(method(32).recorded()), "sound") << "a file that records must record this view";
}

TEST(VerifyPlan, ReportSaysWhetherViewsWereInferred) {
  PlanFacts facts;
  judge(Method({0, 16}).op(1, {0}).outputs({1}), &facts);
  EXPECT_TRUE(facts.inferred);
  EXPECT_EQ(facts.planned_values, 2u);
  EXPECT_EQ(facts.unknown_operators, 2u) << "test::op and test::op_";
  judge(Method({0, 16}).op(1, {0}).outputs({1}).recorded(), &facts);
  EXPECT_FALSE(facts.inferred);
}

// A loader that reads segments one by one has the program without them.
TEST(VerifyPlan, RecordsThatCameSeparatelyCountToo) {
  Method method = Method({0, 16, 16, 32, 64}).op(1, {0}).op(3, {0}).op(4, {2, 3}).outputs({4});
  MethodMetaDesc meta;
  meta.name = "forward";
  ProgramDesc program;
  program.methods = {method.desc};
  program.named_data = {meta_blob({"berth test", {meta}})};
  const auto bytes = bytes_of(program);
  ProgramView view;
  ASSERT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, nullptr), Error::kOk);
  Span<const uint8_t> blob;
  ASSERT_EQ(view.meta_blob(&blob), Error::kOk);

  const Span<const uint8_t> head(bytes.data(), static_cast<size_t>(view.layout().program_size));
  ASSERT_EQ(ProgramView::open(head, bytes.size(), &view, nullptr), Error::kOk);
  ASSERT_EQ(verify_program(view, nullptr), Error::kOk);
  EXPECT_EQ(view.meta(), nullptr);
  std::vector<uint8_t> scratch(plan_scratch_bytes(view, 0));
  EXPECT_EQ(verify_plan(view, 0, {scratch.data(), scratch.size()}, nullptr, nullptr), Error::kOk) << "inferred";
  view.attach_meta(blob);
  ASSERT_EQ(verify_meta(view, nullptr), Error::kOk);
  EXPECT_EQ(verify_plan(view, 0, {scratch.data(), scratch.size()}, nullptr, nullptr), Error::kInvalidProgram)
      << "nothing was recorded: the value is of unknown origin and its bytes may not be reused";
}

TEST(VerifyPlan, NamesOfTheModelAreUsed) {
  EXPECT_EQ(gist(judge(Method({0, 0, 16}).op(1, {}).op(2, {0}).outputs({2}).recorded())),
            "instructions[0]: it writes value 1 over bytes of value 0 (image), which instruction 1 still reads");
}

//   16 |bb...            a concatenation that nothing computes: a and b lie in its slots
//    0 |aaaa
TEST(VerifyPlan, PartsOfAnElidedConcatenationLiveUntilItIsRead) {
  const auto method = [](int64_t scratch) {
    Method m({64, 0, 16, 0, scratch, 96});
    m.value(3) = tensor({8}, 0);
    m.op(1, {0}).op(4, {0}).op(2, {4}).op(5, {3}).outputs({5});
    m.relation(1, 3, fb::RelationKind::VIEW).relation(2, 3, fb::RelationKind::VIEW);
    return m;
  };
  EXPECT_EQ(judge(method(32)), "sound");
  EXPECT_EQ(judge(method(16)),
            "methods[0].instructions[2]: it writes value 2 over bytes of value 4, which it reads; the "
            "operator does not allow that");
  EXPECT_EQ(judge(method(0)),
            "methods[0].instructions[1]: it writes value 4 over bytes of value 1, which instruction 3 still reads");
}

// The second part lies behind the whole, of which nothing makes the last 16 bytes.
TEST(VerifyPlan, PartsMakeAllOfTheirWhole) {
  const auto method = [](int64_t second) {
    Method m({64, 0, second, 0, 96});
    m.value(3) = tensor({8}, 0);
    m.op(1, {0}).op(2, {0}).op(4, {3}).outputs({4});
    return m.relation(1, 3, fb::RelationKind::VIEW).relation(2, 3, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(method(16)), "sound");
  EXPECT_EQ(judge(method(32)), "methods[0].instructions[2]: it reads value 3, whose parts do not make all of it");
  EXPECT_EQ(judge(method(20)), "methods[0].instructions[2]: it reads value 3, whose parts do not make all of it");
}

//   16 |bbcc      a is a part of cat(a, b), which is read before c is made, and of cat(a, c)
//    0 |aaaa
TEST(VerifyPlan, APartOfTwoWholesBringsNoPartsOfTheOther) {
  const auto method = [](bool early) {
    Method m({64, 0, 16, 0, 16, 0, 96, 112});  // x, a, b, a with b, c, a with c, two results
    m.value(3) = m.value(5) = tensor({8}, 0);
    m.op(1, {0}).op(2, {0});
    if (early) m.op(4, {0}).op(6, {3});
    if (!early) m.op(6, {3}).op(4, {0});
    m.op(7, {5}).outputs({6, 7});
    m.relation(1, 3, fb::RelationKind::VIEW).relation(2, 3, fb::RelationKind::VIEW);
    return m.relation(1, 5, fb::RelationKind::VIEW).relation(4, 5, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(method(false)), "sound");
  EXPECT_EQ(judge(method(true)),
            "methods[0].instructions[2]: it writes value 4 over bytes of value 2, which instruction 3 still reads");
}

TEST(VerifyPlan, PartsMayBeComputedInPlaceInTheirSlots) {
  Method m({64, 0, 0, 16, 0, 96});
  m.value(4) = tensor({8}, 0);
  m.op(1, {0}).relu(2, 1).op(3, {0}).op(5, {4}).outputs({5});
  m.relation(1, 4, fb::RelationKind::VIEW).relation(2, 4, fb::RelationKind::VIEW);
  m.relation(3, 4, fb::RelationKind::VIEW).relation(2, 1, fb::RelationKind::IN_PLACE);
  EXPECT_EQ(judge(m), "sound");
}

// Limits 1.6. The result (value 2) of an `if` is a piece of x (value 1) in one branch and is computed in the other,
// while x is read later. That it is recorded as a view of x excuses nothing: the branch writes into bytes of x.
TEST(VerifyPlan, WritesThroughARecordedViewAreSeen) {
  const auto copied = [](int64_t result) {
    Method m({0, 16, result, 96});
    m.value(1) = tensor({8}, 16);
    return m.op(1, {0}).jump(4).op(2, {1}).jump_always(5).op(2, {0}).op(3, {1, 2}).outputs({3}).recorded();
  };
  const auto elided = [](int64_t result) {
    Method m({0, 16, result, 96});
    m.value(1) = tensor({8}, 16);
    return m.op(1, {0}).jump(3).op(2, {0}).op(3, {1, 2}).outputs({3}).relation(2, 1, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(copied(64)), "sound");
  EXPECT_EQ(judge(copied(16)),
            "methods[0].instructions[4]: it writes value 2 over bytes of value 1, which instruction 5 still reads");
  EXPECT_EQ(judge(elided(16)),
            "methods[0].instructions[2]: it writes value 2 over bytes of value 1, which instruction 3 still reads");
}

// The same without branches: a part that is computed is not the whole that it is a part of.
TEST(VerifyPlan, APartIsWrittenBeforeItsWholeOrAfterItsLastRead) {
  const auto method = [](bool late) {
    Method m({0, 16, 16, 96, 112});
    m.value(1) = tensor({8}, 16);
    m.op(1, {0});
    if (late) m.op(3, {1});
    m.op(2, {0});
    if (!late) m.op(3, {1});
    return m.op(4, {2}).outputs({3, 4}).relation(2, 1, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(method(true)), "sound");
  EXPECT_EQ(judge(method(false)),
            "methods[0].instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
}

//   16 |bb...      a and b lie in the slots of c = cat(a, b), which is read at the end; d = relu(a) in a's bytes
//    0 |aadd
TEST(VerifyPlan, APartIsNotReplacedInPlaceWhileItsWholeIsWanted) {
  const auto method = [](int32_t order) {
    Method m({64, 0, 16, 0, 0, 96});
    m.value(3) = tensor({8}, 0);
    m.op(1, {0}).op(2, {0});
    if (order == 0) m.op(5, {3}).relu(4, 1);
    if (order == 1) m.relu(4, 1).op(5, {3});
    return m.outputs({4, 5})
        .relation(1, 3, fb::RelationKind::VIEW)
        .relation(2, 3, fb::RelationKind::VIEW)
        .relation(4, 1, fb::RelationKind::IN_PLACE);
  };
  EXPECT_EQ(judge(method(0)), "sound");
  EXPECT_EQ(judge(method(1)),
            "methods[0].instructions[2]: it writes value 4 over bytes of value 1, which instruction 3 still reads");
}

// A view of one part lies over another part, which is written while it is read.
TEST(VerifyPlan, OnlyTheBaseOfAViewMayBeWrittenUnderIt) {
  const auto method = [](int64_t other) {
    Method m({64, 0, 0, other, 96, 0});
    m.value(5) = tensor({12}, 0);
    m.op(1, {0}).op(3, {0}).op(4, {2}).outputs({4});
    for (const int32_t part : {1, 3}) m.relation(part, 5, fb::RelationKind::VIEW);
    return m.relation(2, 1, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(method(16)), "sound");
  EXPECT_EQ(judge(method(12)),
            "methods[0].instructions[1]: it writes value 3 over bytes of value 2, which instruction 2 still reads");
}

// The view (value 2) is of what the state was; the write-back comes before it is read.
TEST(VerifyPlan, AViewOfStateIsOfTheOldOne) {
  const auto method = [](bool late) {
    Method m({0, 16, 16, 48, 64});
    m.value(1).data_buffer_idx = 1;
    if (late) m.op(3, {2}).copy_(1, 0);
    if (!late) m.copy_(1, 0).op(3, {2});
    return m.outputs({3}).relation(2, 1, fb::RelationKind::VIEW);
  };
  EXPECT_EQ(judge(method(true)), "sound");
  EXPECT_EQ(judge(method(false)),
            "methods[0].instructions[0]: it writes value 1 over bytes of value 2, which instruction 1 still reads");
}

TEST(VerifyPlan, StateIsKeptFromRunToRun) {
  const auto method = [](int64_t scratch) {
    Method m({0, 16, scratch, 48});
    m.value(1).data_buffer_idx = 1;
    return m.op(2, {0, 1}).copy_(1, 2).op(3, {0}).outputs({3});
  };
  EXPECT_EQ(judge(method(32)), "sound");
  Method late = method(32);
  late.value(3).place->offset = 16;
  EXPECT_EQ(gist(judge(late)), "instructions[2]: it writes value 3 over bytes of value 1, which the next run reads");
}

TEST(VerifyPlan, StateWithoutInitialValueIsStateToo) {
  // %1 is read before anything writes it.
  EXPECT_EQ(judge(Method({0, 16, 32}).op(2, {0, 1}).in_place(1, 2).outputs({2})), "sound");
  EXPECT_EQ(gist(judge(Method({0, 16, 32, 16}).op(2, {0, 1}).in_place(1, 2).op(3, {0}).outputs({3}))),
            "instructions[2]: it writes value 3 over bytes of value 1, which the next run reads");
}

TEST(VerifyPlan, StateMayBeReplacedInPlace) {
  const auto method = [] {
    Method m({0, 16, 16});
    m.value(1).data_buffer_idx = 1;
    return m.relu(2, 1).outputs({0}).relation(2, 1, fb::RelationKind::IN_PLACE);
  };
  EXPECT_NE(judge(method()), "sound") << "the next run would read what nobody called its value";
  EXPECT_EQ(judge(method().relation(2, 1, fb::RelationKind::STATE)), "sound");
}

TEST(VerifyPlan, WhatAnEtViewNamesIsKept) {
  const auto method = [](int64_t scratch) {
    return Method({0, 16, 128, scratch, 64}).op(1, {0}).et_view(2, 1).op(3, {0}).op(4, {2, 3}).outputs({4});
  };
  EXPECT_EQ(judge(method(32)), "sound");
  EXPECT_EQ(gist(judge(method(16))),
            "instructions[2]: it writes value 3 over bytes of value 2, which instruction 3 still reads");
  EXPECT_EQ(judge(method(128)), "sound") << "the view's own place is never used";
}

// if: 1: a = …; out is a   else: 4: b = …; out is b   then 6: c = …, 7: d reads out and c.
Method branches(int64_t a, int64_t b, int64_t c) {
  Method m({0, a, b, 128, c, 64});
  m.jump(4).op(1, {0}).move(3, 1).jump_always(6).op(2, {0}).move(3, 2).op(4, {0}).op(5, {3, 4}).outputs({5});
  return m;
}

TEST(VerifyPlan, BranchesMayShareMemory) {
  EXPECT_EQ(judge(branches(16, 16, 32)), "sound");
  EXPECT_EQ(judge(branches(16, 20, 48)), "sound");
}

TEST(VerifyPlan, ResultOfEitherBranchIsKept) {
  EXPECT_EQ(gist(judge(branches(16, 32, 32))),
            "instructions[6]: it writes value 4 over bytes of value 3, which instruction 7 still reads");
  EXPECT_EQ(gist(judge(branches(32, 16, 32))),
            "instructions[6]: it writes value 4 over bytes of value 3, which instruction 7 still reads");
}

TEST(VerifyPlan, BranchThatIsSkippedStillCountsOnItsPath) {
  // 1: jump to 3 | 2: b over a | 3: c reads a.
  EXPECT_EQ(gist(judge(Method({0, 16, 16, 32}).op(1, {0}).jump(3).op(2, {0}).op(3, {1}).outputs({3}))),
            "instructions[2]: it writes value 2 over bytes of value 1, which instruction 3 still reads");
}

TEST(VerifyPlan, LoopsReadAgainWhatTheyReadBefore) {
  // 0: a | 1: b reads a | 2: c, over a | 3: back to 1 | 4: out reads c.
  const auto method = [](int64_t c) {
    return Method({0, 16, 32, c, 64}).op(1, {0}).op(2, {1}).op(3, {0}).jump(1).op(4, {3}).outputs({4});
  };
  EXPECT_EQ(judge(method(48)), "sound");
  EXPECT_EQ(gist(judge(method(16))),
            "instructions[2]: it writes value 3 over bytes of value 1, which instruction 1 still reads");
}

TEST(VerifyPlan, LoopsWithoutEndEndTheCheck) {
  EXPECT_EQ(judge(Method({0, 16}).op(1, {0}).jump_always(1).outputs({1})), "sound");
  EXPECT_EQ(judge(Method({0, 16}).jump(0).jump(2).jump_always(0).op(1, {0}).outputs({1})), "sound");
  Method crossing({0, 16, 32});
  for (int i = 0; i < 40; ++i) crossing.jump((i * 17) % 41).move(1 + i % 2, 2 - i % 2);
  EXPECT_EQ(judge(crossing.outputs({1})), "sound");
}

TEST(VerifyPlan, RowsThatALoopStacksAreNotOverwritten) {
  // 0: row | 1: rows[i] = row | 2: tmp | 3: back to 0 | 4: out reads rows.
  const auto method = [](int64_t tmp) {
    Method m({0, 16, 32, tmp, 96});
    m.desc.values.emplace_back(int64_t{0});
    m.op(1, {0}).desc.instructions.push_back(KernelCallDesc{7, {2, 1, 5}});
    return m.op(3, {0}).jump(0).op(4, {2, 3}).outputs({4});
  };
  EXPECT_EQ(judge(method(64)), "sound");
  EXPECT_EQ(gist(judge(method(36))),
            "instructions[2]: it writes value 3 over bytes of value 2, which instruction 4 still reads");
  // Before the loop the memory is free.
  Method before = method(64);
  before.desc.instructions.insert(before.desc.instructions.begin(), KernelCallDesc{0, {0, 3, 3}});
  before.desc.instructions[4] = JumpFalseDesc{std::get<JumpFalseDesc>(before.desc.instructions[4]).condition, 1};
  before.value(3).place->offset = 64;
  EXPECT_EQ(judge(before), "sound");
}

// As ExecuTorch writes a map within a scan: the inner loop's index is set back in each round of the outer one, so that
// bytes of its stack are free from the read of it to the next round. While the index is kept, they are not.
//
//     0: w = op(x)   1: r = op(w)   2: row i of s = r   3: i = i + 1   4: back to 1   5: i = i - i   6: t = op(s)
//     7: u = op(x)   8: back to 0
TEST(VerifyPlan, RowsBeginAgainWhereTheirIndexIsSetBack) {
  // `back` stands behind the inner loop and `behind` behind both, with the values index, 1, -1, another index and the
  // comparison's n and result.
  enum { kAdd = 8, kSub, kMul, kEq };
  using Write = std::function<void(Method&, int32_t)>;
  const Write nothing = [](Method&, int32_t) {};
  const auto nested = [&](const Write& back, const Write& behind) {
    Method m({0, 16, 32, 48, 32, 64});  // x, r, s, t, u at s's bytes, w
    m.value(2).bounded = true;
    const int32_t index = static_cast<int32_t>(m.desc.values.size());
    for (const int64_t number : {0, 1, -1, 0, 4}) m.desc.values.emplace_back(number);
    m.desc.values.emplace_back(false);
    for (const char* name : {"add", "sub", "mul", "eq"}) {
      m.desc.operators.push_back({std::string("executorch_prim::") + name, "Scalar"});
    }
    m.op(5, {0}).op(1, {5});
    m.desc.instructions.push_back(KernelCallDesc{7, {2, 1, index}});
    m.desc.instructions.push_back(KernelCallDesc{kAdd, {index, index + 1, index}});
    m.desc.instructions.push_back(KernelCallDesc{kEq, {index, index + 4, index + 5}});
    m.desc.instructions.push_back(JumpFalseDesc{index + 5, 1});
    back(m, index);
    m.op(3, {2}).op(4, {0}).jump(0).outputs({3});
    behind(m, index);
    return judge(m);
  };
  const auto with = [&](int32_t op, int32_t a, int32_t b, bool then_reset = false) {
    const Write write = [=](Method& m, int32_t index) {
      m.desc.instructions.push_back(KernelCallDesc{op, {index + a, index + b, index}});
      if (then_reset) m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index, index}});
    };
    return nested(write, nothing);
  };
  const Write moved = [](Method& m, int32_t index) {
    m.desc.instructions.push_back(MoveDesc{index + 4, index});
    m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index, index}});
  };
  EXPECT_EQ(with(kSub, 0, 0), "sound");  // index - index
  EXPECT_EQ(with(kSub, 0, 4), "sound");  // index - n, where index is n
  EXPECT_NE(with(kAdd, 0, 1), "sound");
  EXPECT_NE(with(kMul, 0, 1), "sound");
  EXPECT_NE(with(kSub, 0, 3), "sound");  // index - 0
  EXPECT_NE(with(kSub, 0, 2), "sound");  // index + 1
  // Whoever sets the index to anything else anywhere may let rows stand that are not written again.
  EXPECT_EQ(with(kAdd, 0, 1, true), "sound");
  EXPECT_NE(with(kAdd, 0, 4, true), "sound");
  EXPECT_NE(with(kMul, 0, 1, true), "sound");
  EXPECT_NE(nested(moved, nothing), "sound");
  EXPECT_NE(nested(
                [](Method& m, int32_t index) {  // passed over
                  m.desc.instructions.push_back(JumpFalseDesc{index + 5, 8});
                  m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index, index}});
                },
                nothing),
            "sound");
  for (const int32_t to : {5, 6}) {  // index - n, where more than the comparison leads to it
    EXPECT_NE(nested(
                  [to](Method& m, int32_t index) {
                    m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index + 4, index}});
                    m.desc.instructions.push_back(JumpFalseDesc{index + 5, to});
                  },
                  nothing),
              "sound");
  }
  EXPECT_NE(nested(
                [](Method& m, int32_t index) {  // a second index, which is never set back
                  m.desc.instructions.push_back(KernelCallDesc{7, {2, 1, index + 3}});
                  m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index, index}});
                },
                nothing),
            "sound");
  EXPECT_NE(nested(nothing,
                   [](Method& m, int32_t index) {  // too late
                     m.desc.instructions.push_back(KernelCallDesc{kSub, {index, index, index}});
                   }),
            "sound");
}

TEST(VerifyPlan, DelegatesWriteOnlyWhatIsNew) {
  const auto method = [](int64_t out) {
    Method m({0, 16, out, 64});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.op(1, {0}).desc.instructions.push_back(DelegateCallDesc{0, {0, 1, 2}});
    return m.op(3, {1, 2}).outputs({3});
  };
  const auto judge_with_payload = [](const Method& m) {
    ProgramDesc program;
    program.methods = {m.desc};
    program.payloads = {Bytes::of({1})};
    const auto bytes = bytes_of(program);
    ProgramView view;
    Report report;
    EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, &report), Error::kOk);
    EXPECT_EQ(verify_program(view, &report), Error::kOk) << report.message;
    std::vector<uint8_t> scratch(plan_scratch_bytes(view, 0));
    const Error error = verify_plan(view, 0, {scratch.data(), scratch.size()}, nullptr, &report);
    return error == Error::kOk ? std::string("sound") : gist(std::string(report.place) + ": " + report.message);
  };
  EXPECT_EQ(judge_with_payload(method(32)), "sound");
  EXPECT_EQ(judge_with_payload(method(16)),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
  EXPECT_EQ(
      judge_with_payload(method(0)),
      "instructions[1]: it writes value 2 over bytes of value 0, which it reads; the operator does not allow that");
}

TEST(VerifyPlan, ScratchThatIsTooSmallIsRefusedWithTheNumber) {
  ProgramDesc program = testing::one_of_everything();
  const auto bytes = bytes_of(program);
  ProgramView view;
  ASSERT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, nullptr), Error::kOk);
  const size_t needed = plan_scratch_bytes(view, 1);
  std::vector<uint8_t> scratch(needed + 1);
  for (size_t size = 0; size < needed; ++size) {
    Report report;
    ASSERT_EQ(verify_plan(view, 1, {scratch.data(), size}, nullptr, &report), Error::kMemoryAllocationFailed) << size;
    ASSERT_NE(std::string(report.message).find(std::to_string(needed)), std::string::npos);
  }
  EXPECT_EQ(verify_plan(view, 1, {scratch.data(), needed}, nullptr, nullptr), Error::kOk);
  EXPECT_EQ(verify_plan(view, 1, {scratch.data() + 1, needed}, nullptr, nullptr), Error::kOk) << "at any address";
}

}  // namespace
}  // namespace berth::format
