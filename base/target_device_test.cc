#include "base/target_device.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace {

using Specs = std::vector<std::pair<std::string, std::string>>;

TargetDevice read(const Specs& specs) {
  TargetDevice target;
  for (const auto& [key, value] : specs) target.read(key.c_str(), value.data(), value.size());
  return target;
}

std::string refusal(const Specs& specs) {
  const TargetDevice target = read(specs);
  EXPECT_FALSE(target.ok());
  return target.message();
}

TEST(TargetDevice, DefaultsToTheHost) {
  EXPECT_EQ(read({}).device(), Device());
  EXPECT_EQ(read({{"level", "cuda:1"}, {"target_devices", "x"}}).device(), Device());
  EXPECT_TRUE(read({{"level", "3"}}).ok());
}

TEST(TargetDevice, IsTheOneInTheSpecs) {
  EXPECT_EQ(read({{"target_device", "sim:1"}}).device(), Device(DeviceType::kSim, 1));
  EXPECT_EQ(read({{"a", "1"}, {"target_device", "CUDA"}, {"b", ""}}).device(), Device(DeviceType::kCuda, 0));
  EXPECT_EQ(read({{"target_device", "cpu:0"}}).device(), Device());
}

TEST(TargetDevice, MayBeRepeated) {
  const TargetDevice target = read({{"target_device", "cuda"}, {"target_device", "cuda:0"}});
  EXPECT_TRUE(target.ok());
  EXPECT_EQ(target.device(), Device(DeviceType::kCuda, 0));
}

TEST(TargetDevice, TwoThatDifferAreRefused) {
  EXPECT_EQ(refusal({{"target_device", "sim:1"}, {"target_device", "sim:0"}}),
            "target_device is both sim:1 and sim:0; expected one device");
  EXPECT_EQ(refusal({{"target_device", "cpu"}, {"target_device", "sim:0"}}),
            "target_device is both cpu and sim:0; expected one device");
  // What follows does not mend it.
  refusal({{"target_device", "sim:1"}, {"target_device", "sim:0"}, {"target_device", "sim:1"}});
}

// Holds row 91.
TEST(TargetDevice, IsParsedStrictly) {
  EXPECT_EQ(refusal({{"target_device", "tpu:0"}}),
            std::string("target_device \"tpu:0\" is not a device; expected one of the types ") + device_type_names() +
                ", all but cpu with an index from 0 to 127 as in cuda:0");
  std::string types;
  for (const DeviceType type : kBuiltInDeviceTypes) types += std::string(types.empty() ? "" : ", ") + to_string(type);
  EXPECT_EQ(types, device_type_names());
  for (const char* bad : {"cuda:-1", "cuda:300", "cuda:128", "cuda:", "cuda:01", "cuda: 1", "cuda:1 ", "", "cpu:1"}) {
    refusal({{"target_device", bad}});
    refusal({{"target_device", "sim:0"}, {"target_device", bad}});
  }
  TargetDevice absent;
  EXPECT_FALSE(absent.read("target_device", nullptr, 0));
}

TEST(TargetDevice, PrintsValuesOfAnyLengthAndKind) {
  EXPECT_NE(refusal({{"target_device", std::string(1000, 'x')}}).find("\"" + std::string(32, 'x') + "...\""),
            std::string::npos);
  EXPECT_NE(refusal({{"target_device", std::string("a\0\n\xff", 4)}}).find("\"a...\""), std::string::npos);
}

}  // namespace
}  // namespace berth
