// The fears: an observer that misses instructions, sees them in another order, or that a run goes on past.

#include "runtime/observer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::testing::add_relu;
using testing::floats;
using testing::ready;
using testing::Ready;
using testing::set_floats;

class Diary final : public InstructionObserver {
 public:
  Error before(const InstructionEvent& event) override {
    if (event.index == stop_at) return Error::kInvalidState;
    lines.push_back(std::string(event.method) + " " + std::to_string(event.index) + " " + event.name);
    return Error::kOk;
  }
  void after(const InstructionEvent& event, Error result) override {
    lines.push_back("done " + std::to_string(event.index));
    EXPECT_EQ(result, Error::kOk);
    last_out = event.args[event.args.size() - 1]->tensor().data<float>()[0];
  }

  size_t stop_at = SIZE_MAX;
  float last_out = 0;
  std::vector<std::string> lines;
};

TEST(Observer, SeesEveryInstructionBeforeAndAfter) {
  Ready r = ready(add_relu());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {8, 0, 4, 0}, {4}), Error::kOk);
  Diary diary;
  r.method->set_observer(&diary);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(diary.lines,
            (std::vector<std::string>{"forward 0 aten::add.out", "done 0", "forward 1 aten::relu.out", "done 1"}));
  EXPECT_EQ(diary.last_out, 7);  // 8 and the constant's -1: it was told after the kernel had run
  diary.lines.clear();
  r.method->set_observer(nullptr);
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_TRUE(diary.lines.empty());
}

TEST(Observer, ItsErrorEndsTheRun) {
  Ready r = ready(add_relu());
  ASSERT_EQ(r.error, Error::kOk) << r.report.message;
  ASSERT_EQ(set_floats(*r.method, 0, {0, 0, 4, 0}, {4}), Error::kOk);
  Diary diary;
  diary.stop_at = 1;
  r.method->set_observer(&diary);
  EXPECT_EQ(r.method->execute(), Error::kInvalidState);
  EXPECT_STREQ(r.method->last_report().place, "methods[forward].instructions[1] aten::relu.out");
  EXPECT_EQ(diary.lines.size(), 2U);
  diary.stop_at = SIZE_MAX;
  ASSERT_EQ(r.method->execute(), Error::kOk);
  EXPECT_EQ(floats(r.method->get_output(0)), (std::vector<float>{0, 2, 1, 4}));
}

}  // namespace
}  // namespace berth
