// What kernels have made ready at load. The fears: a state that is made twice, lost, given to another instruction or
// leaked when the load fails; a constant that is none.

#include <gtest/gtest.h>

#include <vector>

#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::MethodDesc;
using format::MoveDesc;
using format::ProgramDesc;
using format::testing::constant;
using format::testing::tensor;

// What one prepare() saw.
struct Prepared {
  int number = 0;
  std::vector<bool> constant;
  std::vector<float> other;  // the second argument's elements, where they are constant
  int threads = 0;
};

struct Log {
  std::vector<Prepared*> live;
  int prepared = 0;
  int fail_at = 0;
  std::vector<int> called;  // numbers of the states in calls; 0 without one
  std::vector<int> released;
};
Log* log_ = nullptr;

Error prepare_add(PrepareContext& context, Span<EValue* const> args, void** state) {
  if (++log_->prepared == log_->fail_at) return context.fail(Error::kOutOfResources, "it is too much");
  auto* made = new Prepared();
  made->number = log_->prepared;
  made->threads = context.threads();
  for (size_t i = 0; i < args.size(); ++i) made->constant.push_back(context.is_constant(i));
  if (context.is_constant(1)) made->other = testing::floats(*args[1]);
  EXPECT_FALSE(context.is_constant(args.size()));
  log_->live.push_back(made);
  *state = made;
  return Error::kOk;
}

void release_add(void* state) {
  auto* made = static_cast<Prepared*>(state);
  log_->released.push_back(made->number);
  delete made;
}

Error noted_add(KernelContext& context, Span<EValue* const> args) {
  log_->called.push_back(context.state() == nullptr ? 0 : static_cast<const Prepared*>(context.state())->number);
  return untyped<testing::add>(context, args);
}

Error prepare_nothing(PrepareContext&, Span<EValue* const>, void**) { return Error::kOk; }

Error stateless_relu(KernelContext& context, Span<EValue* const> args) {
  EXPECT_EQ(context.state(), nullptr);
  return untyped<testing::relu>(context, args);
}

constexpr KernelEntry kTable[] = {
    {"aten::add.out", "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out", noted_add, nullptr, -1, false,
     prepare_add, release_add},
    {"aten::relu.out", "Tensor self -> Tensor out", stateless_relu, nullptr, -1, false, prepare_nothing, release_add},
};

class MethodPrepareTest : public ::testing::Test {
 protected:
  void SetUp() override { log_ = &log; }
  testing::Ready load(const ProgramDesc& desc) {
    return testing::ready(desc, Verification::kFull, "forward", nullptr, kTable);
  }
  Log log;
};

// x + w, the sum + w again, relu of that.
ProgramDesc two_adds() {
  ProgramDesc desc = format::testing::add_relu();
  desc.methods[0].instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}, KernelCallDesc{0, {3, 1, 2, 3, 3}},
                                  KernelCallDesc{1, {3, 4, 4}}};
  return desc;
}

TEST_F(MethodPrepareTest, HappensOncePerInstructionAndItsStateReachesTheCall) {
  {
    testing::Ready r = load(two_adds());
    ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
    EXPECT_EQ(log.prepared, 2);
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(testing::set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
      ASSERT_EQ(r.method->execute(), Error::kOk);
    }
    EXPECT_EQ(testing::floats(r.method->get_output(0)), (std::vector<float>{0, 4, 0, 8}));
    EXPECT_EQ(log.called, (std::vector<int>{1, 2, 1, 2}));
    EXPECT_EQ(log.prepared, 2);
    EXPECT_TRUE(log.released.empty());
  }
  EXPECT_EQ(log.released, (std::vector<int>{2, 1}));
}

TEST_F(MethodPrepareTest, SeesConstantsOnly) {
  testing::Ready r = load(two_adds());
  ASSERT_NE(r.method, nullptr);
  EXPECT_EQ(log.live[0]->constant, (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(log.live[0]->other, (std::vector<float>{-1, 2, -3, 4}));
  EXPECT_EQ(log.live[0]->threads, 1);
}

TEST_F(MethodPrepareTest, AFailureEndsTheLoadAndReleasesWhatWasMade) {
  for (int n = 1; n <= 2; ++n) {
    log = Log();
    log.fail_at = n;
    const testing::Ready r = load(two_adds());
    EXPECT_EQ(r.method, nullptr);
    EXPECT_EQ(r.error, Error::kOutOfResources);
    EXPECT_EQ(std::string(r.report.place), "methods[forward].instructions[" + std::to_string(n - 1) + "]");
    EXPECT_STREQ(r.report.message, "aten::add.out cannot be prepared: it is too much");
    EXPECT_EQ(log.released.size(), static_cast<size_t>(n - 1));
  }
}

TEST_F(MethodPrepareTest, DoesNotHappenWhenMemoryIsOnlyMeasured) {
  const testing::Ready r = load(two_adds());
  ASSERT_NE(r.program, nullptr);
  std::vector<uint8_t> scratch(65536);
  log.prepared = 0;
  EXPECT_TRUE(r.program->memory_needed("forward", scratch, 2).ok());
  EXPECT_EQ(log.prepared, 0);
  EXPECT_TRUE(log.released.empty());
}

TEST_F(MethodPrepareTest, DoesNotHappenInALoadThatFailedBefore) {
  ProgramDesc desc = two_adds();
  desc.methods[0].instructions.emplace_back(KernelCallDesc{0, {0, 1, 2, 3}});
  EXPECT_EQ(load(desc).method, nullptr);
  EXPECT_EQ(log.prepared, 0);
  EXPECT_TRUE(log.released.empty());
}

// A value that a move replaces: what was a constant at load is another tensor when it is read.
TEST_F(MethodPrepareTest, AReplacedValueIsNotAConstant) {
  ProgramDesc desc = two_adds();
  MethodDesc& m = desc.methods[0];
  m.values.push_back(constant({4}, 1));
  m.instructions = {MoveDesc{0, 5}, KernelCallDesc{0, {0, 5, 2, 3, 3}}, KernelCallDesc{1, {3, 4, 4}}};
  testing::Ready r = load(desc);
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  ASSERT_EQ(log.prepared, 1);
  EXPECT_EQ(log.live[0]->constant, (std::vector<bool>{false, false, false, false}));
  ASSERT_EQ(testing::set_floats(*r.method, 0, {1, 2, 3, 4}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(r.method->get_output(0)), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(log.called, (std::vector<int>{1}));
}

// A number that is only known when the program runs.
TEST_F(MethodPrepareTest, SkipsCallsWithComputedNumbers) {
  ProgramDesc desc = two_adds();
  MethodDesc& m = desc.methods[0];
  m.values.emplace_back(int64_t{3});
  m.instructions.insert(m.instructions.begin(), MoveDesc{5, 2});
  testing::Ready r = load(desc);
  ASSERT_NE(r.method, nullptr) << r.report.place << r.report.message;
  EXPECT_EQ(log.prepared, 0);
  ASSERT_EQ(testing::set_floats(*r.method, 0, {1, 0, 4, 0}, {4}), Error::kOk);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(log.called, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace berth
