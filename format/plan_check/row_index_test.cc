// Rows that loops stack: written over while they are still read, and where they begin again.
#include <functional>

#include "format/plan_check/verify_plan_testing.h"

namespace berth::format {
namespace {

TEST(RowIndex, RowsThatALoopStacksAreNotOverwritten) {
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
  before.value(3).planned->offset = 64;
  EXPECT_EQ(judge(before), "sound");
}

// As ExecuTorch writes a map within a scan: the inner loop's index is set back in each round of the outer one, so that
// bytes of its stack are free from the read of it to the next round. While the index is kept, they are not.
//
//     0: w = op(x)   1: r = op(w)   2: row i of s = r   3: i = i + 1   4: back to 1   5: i = i - i   6: t = op(s)
//     7: u = op(x)   8: back to 0
TEST(RowIndex, RowsBeginAgainWhereTheirIndexIsReset) {
  // `back` stands behind the inner loop and `behind` behind both, with the values index, 1, -1, another index and the
  // comparison's n and result.
  enum { kAdd = 10, kSub, kMul, kEq };
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
  // An instruction that sets the index to anything else anywhere may let rows stand that are not written again.
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

// Rows that others write, where berth::row.write has found them: parts of the tensor that they are rows of.
TEST(RowIndex, WhatIsWrittenInARowKeepsTheOthers) {
  // 0, 1: row of rows, written | 2, 3: another | 4: tmp | 5: out reads rows.
  const auto method = [](int64_t tmp) {
    Method m({0, 16, 32, 32, 64, tmp});
    return m.row(true, 2, 1).op(2, {0}).row(true, 3, 1).op(3, {0}).op(5, {0}).op(4, {1}).outputs({4});
  };
  EXPECT_EQ(judge(method(32)), "sound");
  EXPECT_EQ(gist(judge(method(16))),
            "instructions[4]: it writes value 5 over bytes of value 1, which instruction 5 still reads");
  // A plain view is not to be written over its tensor.
  Method view({0, 16, 32, 64});
  view.op(1, {0}).et_view(2, 1).op(2, {0}).op(3, {1}).outputs({3}).value(2).planned.reset();
  EXPECT_EQ(gist(judge(view)),
            "instructions[2]: it writes value 2 over bytes of value 1, which instruction 3 still reads");
}

TEST(RowIndex, ARowIsNotWrittenWhileAnotherNameOfItsTensorIsRead) {
  // 0, 1: row of rows, written | 2: name = row | 3, 4: another row, written | 5: out reads name.
  const auto method = [](bool again) {
    Method m({0, 16, 32, 32, 64, 32});
    m.row(true, 2, 1).op(2, {0}).et_view(3, 2).row(true, 5, 1);
    m.op(5, again ? std::vector<int32_t>{0} : std::vector<int32_t>{0, 3});
    m.op(4, again ? std::vector<int32_t>{3, 5} : std::vector<int32_t>{5}).outputs({4}).value(3).planned.reset();
    return m;
  };
  EXPECT_EQ(judge(method(false)), "sound");
  EXPECT_EQ(gist(judge(method(true))),
            "instructions[4]: it writes value 5 over bytes of value 3, which instruction 5 still reads");
}

TEST(RowIndex, RowsThatBeginWhereAJumpLandsAreNotThereBefore) {
  // 0: tmp | 1: jump to 3 | 2: tmp2 reads tmp | 3, 4: row of rows, where tmp was | 5: out reads rows.
  Method m({0, 16, 32, 64, 16, 80});
  m.op(4, {0}).jump(3).op(5, {4}).row(true, 2, 1).op(2, {0}).op(3, {1}).outputs({3});
  EXPECT_EQ(judge(m), "sound");
}

TEST(RowIndex, ASliceThatIsReadKeepsItsTensor) {
  const auto method = [](int64_t tmp) {
    Method m({0, 16, 32, 64, tmp});
    return m.op(1, {0}).row(false, 2, 1).op(4, {0}).op(3, {2}).outputs({3});
  };
  EXPECT_EQ(judge(method(80)), "sound");
  EXPECT_EQ(gist(judge(method(28))),
            "instructions[2]: it writes value 4 over bytes of value 2, which instruction 3 still reads");
}

}  // namespace
}  // namespace berth::format
