// Device types of applications. By itself, as what is registered stays until the process ends.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/device.h"
#include "base/target_device.h"

namespace berth {
namespace {

Result<Device> parse_type(const std::string& text) { return parse_device(text.data(), text.size()); }

class RegisterDeviceType : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(register_device_type("npu", 101), Error::kOk);
    ASSERT_EQ(register_device_type("dsp_2", 127), Error::kOk);
  }
};

TEST_F(RegisterDeviceType, NameAndNumberAreTakenForEachOther) {
  const Device device(static_cast<DeviceType>(101), 3);
  EXPECT_STREQ(to_string(device.type), "npu");
  EXPECT_STREQ(to_text(device).text, "npu:3");
  EXPECT_EQ(*parse_type("npu:3"), device);
  EXPECT_EQ(*parse_type("NPU:3"), device);
  EXPECT_EQ(*parse_type("npu"), Device(static_cast<DeviceType>(101)));
  EXPECT_EQ(parse_type("npu:128").error(), Error::kInvalidArgument);
  EXPECT_STREQ(to_text(Device(static_cast<DeviceType>(127), 127)).text, "dsp_2:127");
  EXPECT_STREQ(device_type_names(), "cpu, cuda, vulkan, sim, npu, dsp_2");
  ASSERT_EQ(count_device_types(), 6u);
  EXPECT_EQ(device_type_at(4), device.type);
}

TEST_F(RegisterDeviceType, AgainAsItIsChangesNothing) {
  EXPECT_EQ(register_device_type("npu", 101), Error::kOk);
  EXPECT_EQ(register_device_type("sim", 100), Error::kOk);
  EXPECT_EQ(count_device_types(), 6u);
}

TEST_F(RegisterDeviceType, ANameOrNumberOfAnotherTypeIsRefused) {
  EXPECT_EQ(register_device_type("npu", 102), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(register_device_type("tpu", 101), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(register_device_type("cuda", 103), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(register_device_type("cpu", 103), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(register_device_type("tpu", 100), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(count_device_types(), 6u);
}

TEST_F(RegisterDeviceType, OtherNamesAndNumbersAreRefused) {
  for (const int number : {-1, 0, 2, 99, 128, 1000}) {
    EXPECT_EQ(register_device_type("tpu", number), Error::kInvalidArgument) << number;
  }
  for (const char* name : {"", "Tpu", "1tpu", "t pu", "tpu:0", "twelve_chars", "t\xc3\xbc", "_t"}) {
    EXPECT_EQ(register_device_type(name, 102), Error::kInvalidArgument) << name;
  }
  EXPECT_EQ(register_device_type(nullptr, 102), Error::kInvalidArgument);
  EXPECT_EQ(count_device_types(), 6u);
}

TEST_F(RegisterDeviceType, ATargetDeviceOfAnUnregisteredTypeIsToldFromNonsense) {
  const auto unregistered = [](const std::string& text) {
    TargetDevice target;
    EXPECT_FALSE(target.read(kTargetDevice, text.data(), text.size())) << text;
    return std::string(target.unregistered());
  };
  EXPECT_EQ(unregistered("tpu:1"), "tpu:1");
  for (const char* wrong :
       {"npu:128", "tpu", "tpu:", "tpu:01", "tpu:300", "cpu:1", "TPU:0", ":0", "", "a_name_too_long:0"}) {
    EXPECT_EQ(unregistered(wrong), "") << wrong;
  }
  TargetDevice two;
  two.read(kTargetDevice, "npu:0", 5);
  two.read(kTargetDevice, "tpu:0", 5);
  EXPECT_STREQ(two.unregistered(), "") << "two devices are wrong wherever they are registered";
  TargetDevice other;
  other.read(kTargetDevice, "tpu:0", 5);
  other.read(kTargetDevice, "npu:0", 5);
  EXPECT_STREQ(other.unregistered(), "");
}

// Last, because it fills the table.
TEST_F(RegisterDeviceType, ReadersSeeWholeNamesWhileOthersRegister) {
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      for (int number = 102; number < 120; ++number) {
        const char* name = to_string(static_cast<DeviceType>(number));
        if (name == nullptr) continue;
        EXPECT_EQ(name, "type" + std::to_string(number));
      }
    }
  });
  std::atomic<int> full{0};
  const auto add = [&](int first) {
    for (int number = first; number < first + 4; ++number) {
      const Error error = register_device_type(("type" + std::to_string(number)).c_str(), number);
      if (error == Error::kOutOfResources) ++full;
    }
  };
  std::thread one(add, 102);
  std::thread two(add, 110);
  one.join();
  two.join();
  done = true;
  reader.join();
  EXPECT_EQ(count_device_types(), sizeof kBuiltInDeviceTypes + kMostRegisteredDeviceTypes);
  EXPECT_EQ(full, 2) << "six are left of eight";
  EXPECT_STREQ(to_string(static_cast<DeviceType>(101)), "npu") << "those before stay";
}

}  // namespace
}  // namespace berth
