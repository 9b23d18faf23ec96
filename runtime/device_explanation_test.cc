#include "runtime/device_explanation.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace berth {
namespace {

TEST(DeviceExplanation, IsToldOnceToTheThreadThatCalled) {
  EXPECT_EQ(take_explanation(), nullptr);
  explain_error("an older reason");
  explain_error("the reason");
  std::thread([] { EXPECT_EQ(take_explanation(), nullptr); }).join();
  EXPECT_STREQ(take_explanation(), "the reason");
  EXPECT_EQ(take_explanation(), nullptr);
}

TEST(DeviceExplanation, OfAnyLengthIsCut) {
  explain_error(std::string(1000, 'x').c_str());
  EXPECT_EQ(std::string(take_explanation()), std::string(191, 'x'));
}

}  // namespace
}  // namespace berth
