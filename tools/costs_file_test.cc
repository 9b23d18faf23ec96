#include "tools/costs_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace berth::tool {
namespace {

using placement::DeviceCosts;
using placement::WorkKind;

TunedDevice tuned(const std::string& target, double call) {
  TunedDevice device;
  device.costs = *placement::estimated_costs("vulkan");
  device.costs.target = target;
  device.costs.measured = true;
  device.costs.call_seconds = call;
  device.costs.to_device.bytes_per_second = 1.0 / 3;
  device.costs.rates[WorkKind::kDepthwise] = {{1e5, 0.1}, {1e15, 1e17}};
  device.note = "a \"note\"";
  return device;
}

class CostsFileTest : public ::testing::Test {
 protected:
  CostsFileTest() : folder_(std::filesystem::temp_directory_path() / ("berth_costs_" + std::to_string(getpid()))) {}
  ~CostsFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  std::string written(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(path("damaged.json")) << text;
    return path("damaged.json");
  }

  std::filesystem::path folder_;
};

TEST_F(CostsFileTest, WhatIsReadIsWhatWasWritten) {
  const std::vector<TunedDevice> devices = {tuned("vulkan:0", 6.1e-5), tuned("cpu", 0)};
  ASSERT_TRUE(write_costs(devices, path("new/folder/costs.json")).ok());
  const auto read = read_costs(path("new/folder/costs.json"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  ASSERT_EQ(read->size(), 2u);
  // Every figure is in this text, with all of its digits.
  EXPECT_EQ(costs_json(*read).text(), costs_json(devices).text());
  EXPECT_EQ((*read)[0].costs.call_seconds, 6.1e-5);
  EXPECT_EQ((*read)[0].costs.to_device.bytes_per_second, 1.0 / 3);
  EXPECT_EQ((*read)[0].costs.rates[WorkKind::kDepthwise][1].second, 1e17);
  EXPECT_EQ((*read)[1].note, "a \"note\"");
  EXPECT_TRUE((*read)[1].costs.measured);
}

TEST_F(CostsFileTest, OneEntryADevice) {
  std::vector<TunedDevice> devices = {tuned("cpu", 1), tuned("vulkan:0", 2)};
  replace_costs({tuned("vulkan:0", 3), tuned("cuda:0", 4)}, &devices);
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].costs.call_seconds, 1);
  EXPECT_EQ(devices[1].costs.call_seconds, 3);
  EXPECT_EQ(devices[2].costs.target, "cuda:0");
}

TEST_F(CostsFileTest, AMissingFileIsAnErrorThatSaysWhatMakesIt) {
  const auto read = read_costs(path("none.json"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Error::kNotFound);
  EXPECT_NE(read.error().text().find("berth tune --output " + path("none.json")), std::string::npos);
}

// What happens when a part of a sound file is replaced by something else.
TEST_F(CostsFileTest, ADamagedFileIsAnErrorWithItsPlace) {
  const std::string sound = costs_json({tuned("vulkan:0", 0.5), tuned("cpu", 0.5)}).text();
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"\"berth_costs\":1", "\"berth_costs\":2"}, "berth_costs: expected 1"},
      {{"\"berth_costs\":1", "\"other\":1"}, "berth_costs: expected 1"},
      {{"\"devices\":[", "\"devices\":7,\"d\":["}, "devices: expected a list"},
      {{"{\"target\":\"vulkan:0\"", "3,{\"target\":\"vulkan:0\""}, "devices[0]: target: expected a text"},
      {{"\"target\":\"cpu\"", "\"target\":\"\""}, "devices[1]: target: expected a text"},
      {{"\"target\":\"cpu\"", "\"target\":\"vulkan:0\""}, "vulkan:0 stands there twice"},
      {{"\"call\":0.5", "\"call\":\"0.5\""}, "devices[0]: call: expected a number"},
      {{"\"call\":0.5", "\"call\":-0.5"}, "costs of vulkan:0: call"},
      {{"\"call\":0.5", "\"call\":1e999"}, ""},
      {{"\"to_device\":{", "\"to_device\":[],\"t\":{"}, "to_device: expected an object"},
      {{"\"product\":[", "\"product\":{},\"p\":["}, "product: expected a list"},
      {{"\"reduction\":[", "\"reduction\":[3,"}, "work: expected a number"},
      {{"\"convolution\":[", "\"convolution\":[],\"c\":["}, "convolution: expected a rate"},
      {{"}", "]"}, ""},
  };
  for (const auto& [change, words] : cases) {
    std::string text = sound;
    const size_t at = text.find(change.first);
    ASSERT_NE(at, std::string::npos) << change.first;
    text.replace(at, std::string(change.first).size(), change.second);
    const auto read = read_costs(written(text));
    ASSERT_FALSE(read.ok()) << change.second;
    EXPECT_EQ(read.error().code, Error::kInvalidExternalData) << read.error().text();
    EXPECT_EQ(read.error().text().rfind(path("damaged.json"), 0), 0u) << read.error().text();
    EXPECT_NE(read.error().text().find(words), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().text().find("berth tune"), std::string::npos) << read.error().text();
  }
  // Cut off anywhere.
  for (size_t size = 0; size < sound.size(); size += 13) {
    EXPECT_FALSE(parse_costs(sound.substr(0, size), "t").ok()) << size;
  }
}

TEST_F(CostsFileTest, TheDefaultPlaceFollowsTheEnvironment) {
  const auto set = [](const char* name, const char* value) {
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  };
  set("BERTH_COSTS", "/a/b.json");
  set("XDG_CONFIG_HOME", "/x");
  set("HOME", "/h");
  EXPECT_EQ(default_costs_file(), "/a/b.json");
  set("BERTH_COSTS", nullptr);
  EXPECT_EQ(default_costs_file(), "/x/berth/costs.json");
  set("XDG_CONFIG_HOME", "");
  EXPECT_EQ(default_costs_file(), "/h/.config/berth/costs.json");
  set("HOME", nullptr);
  EXPECT_EQ(default_costs_file(), "");
}

}  // namespace
}  // namespace berth::tool
