#include "base/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace berth {
namespace {

Result<Device> parse(const std::string& text) { return parse_device(text.data(), text.size()); }

// Holds row 12.
TEST(Device, NumbersInFilesNeverChange) {
  EXPECT_EQ(static_cast<int>(DeviceType::kCpu), 0);
  EXPECT_EQ(static_cast<int>(DeviceType::kCuda), 1);
  EXPECT_EQ(static_cast<int>(DeviceType::kVulkan), 99);
  EXPECT_EQ(static_cast<int>(DeviceType::kSim), 100);
  EXPECT_STREQ(device_type_names(), "cpu, cuda, vulkan, sim");
  // There is no count of types: a number is known when it has a name.
  EXPECT_STREQ(to_string(DeviceType::kCuda), "cuda");
  EXPECT_EQ(to_string(static_cast<DeviceType>(2)), nullptr);
  EXPECT_EQ(to_string(static_cast<DeviceType>(-1)), nullptr);
}

// Holds row 13.
TEST(Device, WithoutAnIndexIsTheFirstAndOnlyTheHostIsCpu) {
  EXPECT_EQ(Device(DeviceType::kCpu).index, 0);
  EXPECT_EQ(Device(DeviceType::kCuda).index, 0);
  EXPECT_EQ(Device(DeviceType::kCuda, 3).index, 3);
  EXPECT_TRUE(Device(DeviceType::kCpu).is_cpu());
  EXPECT_TRUE(Device(DeviceType::kCpu, 1).is_cpu());
  EXPECT_FALSE(Device(DeviceType::kCuda).is_cpu());
  EXPECT_FALSE(Device(DeviceType::kSim).is_cpu());
}

// Holds row 14.
TEST(Device, EqualWhenTypeAndIndexAre) {
  EXPECT_TRUE(Device(DeviceType::kCuda, 1) == Device(DeviceType::kCuda, 1));
  EXPECT_TRUE(Device(DeviceType::kCuda) == Device(DeviceType::kCuda, 0));
  EXPECT_TRUE(Device() == Device(DeviceType::kCpu));
  EXPECT_TRUE(Device(DeviceType::kCuda) != Device(DeviceType::kCpu));
  EXPECT_TRUE(Device(DeviceType::kCuda, 0) != Device(DeviceType::kCuda, 1));
  EXPECT_FALSE(Device(DeviceType::kCuda, 0) == Device(DeviceType::kSim, 0));
}

// Holds row 15.
TEST(Device, ATypeAloneHasIndexZero) {
  static_assert(std::is_convertible_v<DeviceType, Device>);
  const Device device = DeviceType::kCuda;
  EXPECT_EQ(device, Device(DeviceType::kCuda, 0));
  EXPECT_EQ(sizeof(Device), 2u);
}

// Limits 1.14.
TEST(Device, TextIsParsedStrictlyInAnyCase) {
  EXPECT_EQ(*parse("cuda:0"), Device(DeviceType::kCuda, 0));
  EXPECT_EQ(*parse("CUDA:127"), Device(DeviceType::kCuda, 127));
  EXPECT_EQ(*parse("Sim:2"), Device(DeviceType::kSim, 2));
  EXPECT_EQ(*parse("cpu"), Device());
  EXPECT_EQ(parse("tpu:0").error(), Error::kNotFound);
  EXPECT_EQ(parse("").error(), Error::kNotFound);
  EXPECT_EQ(parse("cud").error(), Error::kNotFound);
  EXPECT_EQ(parse("cudaa").error(), Error::kNotFound);
  for (const char* wrong : {"cuda:", "cuda:-1", "cuda:128", "cuda:300", "cuda:01", "cuda: 1", "cuda:1 ", "cuda:0x1"}) {
    EXPECT_EQ(parse(wrong).error(), Error::kInvalidArgument) << wrong;
  }
}

TEST(Device, PrintedTextParsesBackForEveryIndex) {
  for (const DeviceType type : kBuiltInDeviceTypes) {
    for (int index = 0; index <= (type == DeviceType::kCpu ? 0 : 127); ++index) {
      const Device device(type, static_cast<DeviceIndex>(index));
      EXPECT_EQ(*parse(to_text(device).text), device);
    }
  }
  EXPECT_STREQ(to_text(Device()).text, "cpu");
  EXPECT_STREQ(to_text(Device(static_cast<DeviceType>(-128), -128)).text, "type -128:-128");
}

}  // namespace
}  // namespace berth
