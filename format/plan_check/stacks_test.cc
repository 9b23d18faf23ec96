// Offsets that follow the sizes: the check's one answer for all sizes against its answers for the offsets of each.
#include "format/plan_check/stacks.h"

#include <cstdlib>
#include <random>

#include "base/seeds_testing.h"
#include "format/plan_check/verify_plan_testing.h"

namespace berth::format {
namespace {

/// v1 = op(v0), v2 = op(v1, v0), which is returned: all three are live at once.
Method three_together() {
  Method method({0, 16, 32});
  return method.op(1, {0}).op(2, {1, 0}).outputs({2});
}

/// v0 → v1 → v2: the first and the last never meet.
Method three_in_a_row() {
  Method method({0, 16, 0});
  return method.op(1, {0}).op(2, {1}).outputs({2});
}

TEST(Stacks, WhatIsAliveTogetherRestsOnEachOther) {
  EXPECT_EQ(judge(three_together().stack({{{0}, {}}, {{1}, {0}}, {{2}, {1}}})), "sound");
  EXPECT_EQ(
      gist(judge(three_together().stack({{{0}, {}}, {{1}, {0}}, {{2}, {0}}}))),
      "instructions[1]: it writes value 2 over bytes of value 1, which it reads; the operator does not allow that");
  EXPECT_EQ(
      gist(judge(three_together().stack({{{0}, {}}, {{1}, {}}, {{2}, {0, 1}}}))),
      "instructions[0]: it writes value 1 over bytes of value 0 (image), which instruction 1 still reads (at some "
      "sizes: neither block is below the other)");
}

TEST(Stacks, WhatNeverMeetsNeedsNoSupport) {
  EXPECT_EQ(judge(three_in_a_row().stack({{{0}, {}}, {{2}, {}}, {{1}, {0, 1}}})), "sound");
  EXPECT_NE(judge(three_in_a_row().stack({{{0}, {}}, {{2}, {}}, {{1}, {0}}})), "sound");
}

TEST(Stacks, ASupportOfASupportIsBelow) {
  // v0 is kept to the end; v3 rests on v2, v2 on v1, v1 on v0.
  Method method({0, 16, 32, 48});
  method.op(1, {0}).op(2, {1}).op(3, {2, 0}).outputs({3});
  EXPECT_EQ(judge(Method(method).stack({{{0}, {}}, {{1}, {0}}, {{2}, {1}}, {{3}, {2}}})), "sound");
}

TEST(Stacks, ATensorIsInOneBlock) {
  EXPECT_EQ(gist(judge(three_in_a_row().stack({{{0}, {}}, {{1}, {0}}}))), "stacks, arena 1: value 2 is in no block");
  EXPECT_EQ(gist(judge(three_in_a_row().stack({{{0}, {}}, {{2}, {}}, {{1, 2}, {0, 1}}}))),
            "stacks, arena 1: value 2 is in two blocks");
}

TEST(Stacks, AViewIsInTheBlockOfItsBase) {
  Method method({0, 16, 16});
  method.op(1, {0}).op(0, {2}).outputs({}).relation(2, 1, fb::RelationKind::VIEW);
  method.desc.instructions.pop_back();
  method.outputs({2});
  EXPECT_EQ(judge(Method(method).stack({{{0}, {}}, {{1, 2}, {0}}})), "sound");
  EXPECT_EQ(gist(judge(Method(method).stack({{{0}, {}}, {{1}, {0}}, {{2}, {0}}}))),
            "stacks, arena 1: value 2 shares bytes with value 1, in another block");
}

TEST(Stacks, InPlaceInABlockIsWhatItIsInTheFile) {
  Method method({0, 0});
  method.relu(1, 0).outputs({1}).relation(1, 0, fb::RelationKind::IN_PLACE);
  EXPECT_EQ(judge(Method(method).stack({{{0, 1}, {}}})), "sound");
  Method other({0, 0});
  other.op(1, {0}).outputs({1});
  EXPECT_NE(judge(other.stack({{{0, 1}, {}}})), "sound");
}

TEST(Stacks, WhatIsKeptFromRunToRunStaysWhereItIs) {
  // v1 is read before it is written.
  Method method({0, 16});
  method.op(0, {1, 0}).op(1, {0}).outputs({0});
  EXPECT_EQ(judge(Method(method).recorded()), "sound");
  EXPECT_EQ(gist(judge(Method(method).stack({{{0}, {}}, {{1}, {0}}}))),
            "stacks: value 1 keeps what it holds from run to run, so its place must not follow the sizes");
}

TEST(Stacks, ABlockIsAligned) {
  Method method({0, 24});
  method.op(1, {0}).outputs({1});
  EXPECT_EQ(gist(judge(method.stack({{{0}, {}}, {{1}, {0}}}))),
            "stacks, arena 1: the block of value 1 is not at a multiple of 16");
}

TEST(Stacks, MovesFollowTheBranchThatMadeTheValue) {
  // v1 or v2 becomes v3; v0 is read after that.
  const auto method = [] {
    Method made({0, 16, 32, 48, 64});
    made.jump(0).op(1, {0}).move(3, 1).jump_always(0).op(2, {0}).move(3, 2).op(4, {3, 0}).outputs({4});
    std::get<JumpFalseDesc>(made.desc.instructions[0]).destination = 4;
    std::get<JumpFalseDesc>(made.desc.instructions[3]).destination = 6;
    return made;
  };
  EXPECT_EQ(judge(method().stack({{{0}, {}}, {{1}, {0}}, {{2}, {0}}, {{3}, {}}, {{4}, {1, 2}}})), "sound");
  EXPECT_NE(judge(method().stack({{{0}, {}}, {{1}, {0}}, {{2}, {}}, {{3}, {}}, {{4}, {0, 1, 2}}})), "sound");
  EXPECT_NE(judge(method().stack({{{0}, {}}, {{1}, {0}}, {{2}, {0}}, {{3}, {}}, {{4}, {1}}})), "sound");
}

// A random program, each tensor of which is a block, or is computed in place of one.
class RandomStack {
 public:
  explicit RandomStack(uint32_t seed) : random_(seed), method_(std::vector<int64_t>(2, 0)) {
    method_.desc.inputs = {0, 1};
    block_of_ = {0, 1};
    std::vector<int32_t> defined = {0, 1};
    block(&defined, 4);
    if (below(2) == 0) branch(&defined);
    block(&defined, 1);
    method_.outputs({pick(defined)});
    make_stack();
  }

  const Method& method() const { return method_; }
  size_t blocks() const { return method_.stacks[0].blocks.size(); }

  /// The program with the offsets that the stack gives when block k takes units[k] times 16 bytes.
  Method at(const std::vector<uint32_t>& units) const {
    Method fixed = method_;
    fixed.stacks.clear();
    std::vector<uint32_t> ends;
    for (const StackDesc::Block& block : method_.stacks[0].blocks) {
      uint32_t begin = 0;
      for (const uint32_t support : block.supports) begin = std::max(begin, ends[support]);
      ends.push_back(begin + units[ends.size()]);
      for (const int32_t v : block.values) {
        fixed.value(v) = tensor({static_cast<int32_t>(4 * units[ends.size() - 1])}, int64_t{16} * begin);
      }
    }
    return fixed;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  int32_t pick(const std::vector<int32_t>& from) { return from[below(static_cast<int>(from.size()))]; }

  int32_t add(int32_t block) {
    method_.desc.values.emplace_back(tensor({4}, int64_t{16} * block));
    const int32_t v = static_cast<int32_t>(method_.desc.values.size()) - 1;
    block_of_.resize(v + 1, -1);
    block_of_[v] = block;
    return v;
  }
  int32_t add() { return add(block_count_++); }

  void block(std::vector<int32_t>* defined, int steps) {
    for (int i = 0; i < steps; ++i) {
      const int32_t from = pick(*defined);
      if (below(4) == 0) {
        const int32_t v = add(block_of_[from]);
        method_.relu(v, from).relation(v, from, fb::RelationKind::IN_PLACE);
        defined->push_back(v);
      } else {
        const int32_t v = add();
        method_.op(v, {from, pick(*defined)});
        defined->push_back(v);
      }
    }
  }

  void branch(std::vector<int32_t>* defined) {
    const int32_t result = add();
    const size_t to_else = method_.desc.instructions.size();
    method_.jump(0);
    std::vector<int32_t> inside = *defined;
    block(&inside, 1);
    method_.move(result, pick(inside));
    const size_t to_end = method_.desc.instructions.size();
    method_.jump_always(0);
    const auto next = [&] { return static_cast<int32_t>(method_.desc.instructions.size()); };
    std::get<JumpFalseDesc>(method_.desc.instructions[to_else]).destination = next();
    inside = *defined;
    block(&inside, 1);
    method_.move(result, pick(inside));
    std::get<JumpFalseDesc>(method_.desc.instructions[to_end]).destination = next();
    defined->push_back(result);
  }

  /// Blocks in a random order, each on a few of those before.
  void make_stack() {
    method_.value(0).planned->offset = 0;
    method_.value(1).planned->offset = 16;
    method_.desc.arenas = {{65536, Device()}};
    std::vector<int32_t> order(block_count_);
    for (int32_t k = 0; k < block_count_; ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<StackDesc::Block> blocks(order.size());
    const int missing = 1 + below(12);  // of so many supports one is left out
    for (size_t k = 0; k < order.size(); ++k) {
      for (size_t v = 0; v < block_of_.size(); ++v) {
        if (block_of_[v] == order[k]) blocks[k].values.push_back(static_cast<int32_t>(v));
      }
      for (size_t j = 0; j < k; ++j) {
        if (below(missing + 1) != 0) blocks[k].supports.push_back(static_cast<uint32_t>(j));
      }
    }
    method_.stack(blocks);
  }

  std::mt19937 random_;
  Method method_;
  int32_t block_count_ = 2;
  std::vector<int32_t> block_of_;  // by value; -1: no tensor
};

/// Of two blocks that neither is below the other, one of 64 units reaches over the other, which lies on fewer of one.
bool sound_at_all_sizes(const RandomStack& stack) {
  const uint32_t count = static_cast<uint32_t>(stack.blocks());
  for (uint32_t large = 0; large < 1u << count; ++large) {
    std::vector<uint32_t> units;
    for (uint32_t k = 0; k < count; ++k) units.push_back((large >> k & 1) != 0 ? 64 : 1);
    if (judge(stack.at(units)) != "sound") return false;
  }
  return true;
}

TEST(RandomStacks, TheOneAnswerForAllSizesIsThatOfEachSize) {
  const uint32_t first = berth::testing::new_seed();
  int sound = 0;
  constexpr int kPrograms = 200;
  for (uint32_t seed = first; seed < first + kPrograms; ++seed) {
    const RandomStack stack(seed);
    const std::string said = judge(stack.method());
    const bool expected = sound_at_all_sizes(stack);
    ASSERT_EQ(said == "sound", expected) << "repeat with BERTH_SEED=" << seed << "; the check says: " << said;
    sound += expected ? 1 : 0;
  }
  EXPECT_GT(sound, kPrograms / 20) << "hardly any is sound: the test sees one side only";
  EXPECT_LT(sound, kPrograms - kPrograms / 20);
}

}  // namespace
}  // namespace berth::format
