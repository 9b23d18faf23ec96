// Plans that overwrite what is still read, each kind by hand, beside the nearest plan that does not.
//
// Tensors are of four floats, 16 bytes. Pictures: time to the right, addresses upward, one letter a value.
#include "format/plan_check/verify_plan.h"

#include "format/plan_check/verify_plan_testing.h"

namespace berth::format {
namespace {

//   48 |      ddd
//   32 |   bbbbbb        d reads b and c
//   16 |      ccc        c must not lie on b
//    0 |aaaaaa
TEST(VerifyPlan, AValueThatIsStillReadIsNotOverwritten) {
  EXPECT_EQ(judge(Method({0, 32, 16, 48}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3})), "sound");
  EXPECT_EQ(gist(judge(Method({0, 32, 32, 48}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3}))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
  EXPECT_EQ(gist(judge(Method({0, 32, 44, 64}).op(1, {0}).op(2, {0}).op(3, {1, 2}).outputs({3}))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads")
      << "one shared float is enough";
}

TEST(VerifyPlan, DeadMemoryIsReused) {
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
TEST(VerifyPlan, RecordsLoadedSeparatelyCountToo) {
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
TEST(VerifyPlan, PartsCoverTheirWhole) {
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
TEST(VerifyPlan, WritesThroughARecordedViewAreFound) {
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
TEST(VerifyPlan, APartIsNotReplacedInPlaceWhileItsWholeIsLive) {
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
TEST(VerifyPlan, AViewOfStateIsOfItsOldValue) {
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
  late.value(3).planned->offset = 16;
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
  EXPECT_NE(judge(method()), "sound") << "the next run would read what nothing records as its value";
  EXPECT_EQ(judge(method().relation(2, 1, fb::RelationKind::STATE)), "sound");
}

TEST(VerifyPlan, AnEtViewKeepsItsBaseAlive) {
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

TEST(VerifyPlan, TheResultOfEitherBranchIsKept) {
  EXPECT_EQ(gist(judge(branches(16, 32, 32))),
            "instructions[6]: it writes value 4 over bytes of value 3, which instruction 7 still reads");
  EXPECT_EQ(gist(judge(branches(32, 16, 32))),
            "instructions[6]: it writes value 4 over bytes of value 3, which instruction 7 still reads");
}

TEST(VerifyPlan, ASkippedBranchStillCountsOnItsPath) {
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

TEST(VerifyPlan, EndlessLoopsEndTheCheck) {
  EXPECT_EQ(judge(Method({0, 16}).op(1, {0}).jump_always(1).outputs({1})), "sound");
  EXPECT_EQ(judge(Method({0, 16}).jump(0).jump(2).jump_always(0).op(1, {0}).outputs({1})), "sound");
  Method crossing({0, 16, 32});
  for (int i = 0; i < 40; ++i) crossing.jump((i * 17) % 41).move(1 + i % 2, 2 - i % 2);
  EXPECT_EQ(judge(crossing.outputs({1})), "sound");
}

TEST(VerifyPlan, DelegatesWriteOnlyNewValues) {
  const auto method = [](int64_t out) {
    Method m({0, 16, out, 64});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.op(1, {0}).desc.instructions.push_back(DelegateCallDesc{0, {0, 1, 2}});
    return m.op(3, {1, 2}).outputs({3});
  };
  EXPECT_EQ(judge(method(32)), "sound");
  EXPECT_EQ(gist(judge(method(16))),
            "instructions[1]: it writes value 2 over bytes of value 1, which instruction 2 still reads");
  EXPECT_EQ(
      gist(judge(method(0))),
      "instructions[1]: it writes value 2 over bytes of value 0, which it reads; the operator does not allow that");
}

// Value 1 is the scratch of 32 bytes, which the call writes over value 0, its input.
TEST(VerifyPlan, ADelegateMayHaveAnInputInItsScratchWhereTheFileSaysSo) {
  const auto method = [](const char* backend, int64_t at = 16, DType dtype = DType::kU8) {
    Method m({16, at, 64, 96});
    const int32_t bytes = dtype == DType::kU8 ? 32 : 8;
    m.value(1) = tensor({bytes}, at, dtype);
    m.desc.delegates = {{backend, 0, {}}};
    m.desc.instructions.push_back(DelegateCallDesc{0, {0, 2, 1}});
    return m.op(3, {2}).outputs({3});
  };
  const auto recorded = [](Method m) { return m.relation(1, 0, fb::RelationKind::IN_PLACE); };
  EXPECT_EQ(judge(recorded(method("berth.cpu"))), "sound");
  EXPECT_EQ(judge(recorded(method("berth.cpu", 0))), "sound") << "not at its front";
  const std::string refused =
      "instructions[0]: it writes value 1 over bytes of value 0 (image), which it reads; the operator does not allow "
      "that";
  EXPECT_EQ(gist(judge(method("berth.cpu").recorded())), refused) << "not recorded";
  EXPECT_EQ(gist(judge(recorded(method("Chip")))), refused) << "what it does is not known";
  EXPECT_EQ(gist(judge(recorded(method("berth.cpu", 24)))), refused) << "half of it";
  EXPECT_EQ(gist(judge(recorded(method("berth.cpu", 16, DType::kF32)))), refused) << "a result, and no scratch";
  Method read = recorded(method("berth.cpu"));
  EXPECT_EQ(gist(judge(read.op(3, {0, 2}))),
            "instructions[0]: it writes value 1 over bytes of value 0 (image), which instruction 2 still reads");
}

// Value 1 is the scratch of 48 bytes; value 0, its input, lies at its front, and value 2, its result, over a part of
// both.
TEST(VerifyPlan, ADelegateMayHaveAResultInItsScratchWhereTheFileSaysSo) {
  const auto method = [](const char* backend, int64_t result = 8) {
    Method m({0, 0, result, 96});
    m.value(1) = tensor({48}, 0, DType::kU8);
    m.desc.delegates = {{backend, 0, {}}};
    m.desc.instructions.push_back(DelegateCallDesc{0, {0, 2, 1}});
    return m.op(3, {2}).outputs({3});
  };
  const auto input = [](Method m) { return m.relation(1, 0, fb::RelationKind::IN_PLACE); };
  const auto both = [&](Method m) { return input(std::move(m)).relation(2, 1, fb::RelationKind::IN_PLACE); };
  EXPECT_EQ(judge(both(method("berth.cpu"))), "sound");
  EXPECT_EQ(judge(both(method("berth.cpu", 32))), "sound") << "behind the input";
  const std::string unknown = "instructions[0]: its result value 2 lies in value 1, its scratch, and no record says so";
  EXPECT_EQ(gist(judge(input(method("berth.cpu")))), unknown);
  EXPECT_EQ(gist(judge(both(method("berth.cpu", 40)))), unknown) << "half of it";
  EXPECT_NE(judge(both(method("Chip"))), "sound") << "what it does is not known";
  Method other = both(method("berth.cpu"));
  other.desc.instructions.insert(other.desc.instructions.begin() + 1, DelegateCallDesc{0, {0, 3, 1}});
  EXPECT_NE(judge(other), "sound") << "the next call overwrites it";
}

// Floats as bytes at their front: what the file records of Berth's own delegates, whose loader looks at the payload.
TEST(VerifyPlan, ADelegateMayNarrowItsInputWhereTheFileSaysSo) {
  const auto method = [](const char* backend, int64_t at, DType dtype = DType::kI8) {
    Method m({0, 16, 32});
    m.value(1) = tensor({4}, at, dtype);
    m.desc.delegates = {{backend, 0, {}}};
    m.desc.instructions.push_back(DelegateCallDesc{0, {0, 1}});
    return m.op(2, {1}).outputs({2});
  };
  const auto recorded = [](Method m) { return m.relation(1, 0, fb::RelationKind::IN_PLACE); };
  EXPECT_EQ(judge(recorded(method("berth.cpu", 0))), "sound");
  const std::string refused =
      "instructions[0]: it writes value 1 over bytes of value 0 (image), which it reads; the operator does not allow "
      "that";
  EXPECT_EQ(gist(judge(method("berth.cpu", 0).recorded())), refused) << "not recorded";
  EXPECT_EQ(gist(judge(recorded(method("Chip", 0)))), refused) << "what it does is not known";
  EXPECT_EQ(gist(judge(recorded(method("berth.cpu", 4)))), refused) << "not at the front";
  EXPECT_EQ(gist(judge(recorded(method("berth.cpu", 0, DType::kF64)))), refused) << "wider";
  Method read = recorded(method("berth.cpu", 0));
  read.desc.instructions.pop_back();
  EXPECT_EQ(gist(judge(read.op(2, {0, 1}))),
            "instructions[0]: it writes value 1 over bytes of value 0 (image), which instruction 1 still reads");
}

TEST(VerifyPlan, DelegatesOfBothBranchesWriteTheSameResult) {
  // 0: unless, to 3 | 1: delegate reads 0, scratch 2, writes 3 | 2: to 4 | 3: delegate reads 1, writes 3 | 4 reads 3.
  const auto method = [](int64_t scratch, int64_t result) {
    Method m({0, 16, scratch, result, 64});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.desc.inputs = {0, 1};
    m.jump(3);
    m.desc.instructions.push_back(DelegateCallDesc{0, {0, 3, 2}});
    m.jump_always(4);
    m.desc.instructions.push_back(DelegateCallDesc{0, {1, 3}});
    return m.op(4, {3}).outputs({4});
  };
  EXPECT_EQ(judge(method(48, 32)), "sound");
  EXPECT_EQ(gist(judge(method(32, 32))),
            "instructions[1]: it writes value 2 over bytes of value 3, which instruction 4 still reads");
  EXPECT_EQ(
      gist(judge(method(48, 16))),
      "instructions[3]: it writes value 3 over bytes of value 1, which it reads; the operator does not allow that");
  EXPECT_EQ(
      gist(judge(method(48, 0))),
      "instructions[1]: it writes value 3 over bytes of value 0, which it reads; the operator does not allow that");
}

TEST(VerifyPlan, ResultsOfOneCallDoNotOverlap) {
  const auto delegate = [](int64_t scratch) {
    Method m({0, 16, scratch});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.desc.instructions.push_back(DelegateCallDesc{0, {0, 1, 2}});
    return m.outputs({1});
  };
  EXPECT_EQ(judge(delegate(32)), "sound");
  EXPECT_EQ(gist(judge(delegate(16))), "instructions[0]: it writes value 2 over bytes of value 1, which is an output");
  const auto kernel = [](int64_t unread) {
    Method m({0, 16, unread});
    m.desc.values.emplace_back(TensorListDesc{{1, 2}});
    m.desc.instructions.push_back(KernelCallDesc{0, {0, 3, 3}});
    return m.outputs({1});
  };
  EXPECT_EQ(judge(kernel(32)), "sound");
  EXPECT_EQ(gist(judge(kernel(16))), "instructions[0]: it writes value 2 over bytes of value 1, which is an output");
}

TEST(VerifyPlan, DelegatesReadAliasesOfExistingValues) {
  // 1 | 2 is 1 under another name, by the file or by a move | delegate reads 2, writes 3 | 4 reads 1.
  const auto method = [](bool moved, int64_t late) {
    Method m({0, 16, moved ? 80 : 16, 32, late});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.op(1, {0});
    if (moved) m.move(2, 1);
    m.desc.instructions.push_back(DelegateCallDesc{0, {2, 3}});
    if (!moved) m.relation(2, 1, fb::RelationKind::VIEW);
    return m.op(4, {1}).outputs({3, 4});
  };
  EXPECT_EQ(judge(method(false, 48)), "sound");
  EXPECT_EQ(judge(method(true, 48)), "sound");
  // Only the delegate reads 1.
  const auto overwritten = [](bool moved) {
    Method m({0, 16, moved ? 80 : 16, 32, 16});
    m.desc.delegates = {{"Chip", 0, {}}};
    m.op(1, {0});
    if (moved) m.move(2, 1);
    m.op(4, {0});
    m.desc.instructions.push_back(DelegateCallDesc{0, {2, 3}});
    if (!moved) m.relation(2, 1, fb::RelationKind::VIEW);
    return m.outputs({3});
  };
  EXPECT_NE(judge(overwritten(false)).find(" still reads"), std::string::npos);
  EXPECT_NE(judge(overwritten(true)).find(" still reads"), std::string::npos);
}

TEST(VerifyPlan, DelegatesReadValuesThatReachThemOnSomePath) {
  // Value 1 is written before the branches, or in one of them when the other has no jump to leave it.
  const auto method = [](bool leaves, int32_t writer, int64_t late) {
    Method m({0, 16, 32, late, 64});
    m.desc.delegates = {{"Chip", 0, {}}};
    if (writer == 0) m.op(1, {0});
    m.jump(writer == 0 ? 4 : 3);
    if (writer == 0) {
      m.op(2, {0});
    } else {
      m.op(1, {0});
    }
    leaves ? m.jump_always(writer == 0 ? 6 : 5) : m.op(2, {0});
    m.op(3, {0});
    m.desc.instructions.push_back(DelegateCallDesc{0, {1, 4}});
    return m.outputs({4});
  };
  const char* over = " still reads";
  EXPECT_EQ(judge(method(true, 0, 48)), "sound");
  EXPECT_NE(judge(method(true, 0, 16)).find(over), std::string::npos) << "written before both branches";
  EXPECT_NE(judge(method(false, 1, 16)).find(over), std::string::npos) << "falls through to the call";
  EXPECT_EQ(judge(method(true, 1, 16)), "sound") << "what the first branch wrote never gets to the second";
}

TEST(VerifyPlan, TooSmallScratchIsRefusedWithTheNumber) {
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
