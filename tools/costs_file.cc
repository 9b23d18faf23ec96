#include "tools/costs_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/output_file.h"
#include "compiler/import/pt2/json.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

using placement::CopyCosts;
using placement::DeviceCosts;
using placement::RateAt;
using placement::WorkKind;

constexpr int kVersion = 1;
constexpr size_t kMostBytes = size_t{1} << 20;

Json copy_json(const CopyCosts& copy) { return {{"seconds", copy.seconds}, {"per_second", copy.bytes_per_second}}; }

Json rates_json(const std::vector<RateAt>& rates) {
  Json list = Json::array();
  for (const RateAt& rate : rates) list.push_back({{"work", rate.work}, {"per_second", rate.second}});
  return list;
}

/// One entry of a file; the first thing that is wrong is kept.
class EntryReader {
 public:
  EntryReader(const Json& entry, std::string place) : entry_(entry), place_(std::move(place)) {}

  Expected<TunedDevice> read() {
    TunedDevice device;
    DeviceCosts& costs = device.costs;
    costs.target = text("target", true);
    device.note = text("note", false);
    costs.measured = true;
    costs.call_seconds = number(entry_, "call");
    costs.operator_seconds = number(entry_, "operator");
    costs.to_device = copy("to_device");
    costs.from_device = copy("from_device");
    for (const WorkKind kind : placement::work_kinds()) costs.rates[kind] = rates(to_string(kind));
    if (failure_.has_value()) return *failure_;
    const Status sound = placement::check_costs(costs);
    if (!sound.ok()) return Failure{Error::kInvalidExternalData, place_, sound.error().text()};
    return device;
  }

 private:
  void fail(const std::string& message) {
    if (!failure_.has_value()) failure_ = Failure{Error::kInvalidExternalData, place_, message};
  }

  std::string text(const char* name, bool needed) {
    const std::string* found = entry_[name].get_if<std::string>();
    if (found != nullptr && (!found->empty() || !needed)) return *found;
    if (needed || entry_.contains(name)) fail(std::string(name) + ": expected a text");
    return "";
  }

  double number(const Json& of, const std::string& name) {
    const Json& value = of[name];
    const bool is_number =
        value.get_if<double>() != nullptr || value.get_if<int64_t>() != nullptr || value.get_if<uint64_t>() != nullptr;
    if (is_number) return value.get<double>();
    fail(name + ": expected a number");
    return 0;
  }

  CopyCosts copy(const char* name) {
    const Json& value = entry_[name];
    if (value.is_object()) return {number(value, "seconds"), number(value, "per_second")};
    fail(std::string(name) + ": expected an object of seconds and per_second");
    return {};
  }

  std::vector<RateAt> rates(const char* name) {
    std::vector<RateAt> list;
    const Json& value = entry_[name];
    if (!value.is_array()) fail(std::string(name) + ": expected a list of objects of work and per_second");
    for (const Json& item : value) list.push_back({number(item, "work"), number(item, "per_second")});
    return list;
  }

  const Json& entry_;
  std::string place_;
  std::optional<Failure> failure_;
};

}  // namespace

std::string default_costs_file() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (!variable("BERTH_COSTS").empty()) return variable("BERTH_COSTS");
  if (!variable("XDG_CONFIG_HOME").empty()) return variable("XDG_CONFIG_HOME") + "/berth/costs.json";
  return variable("HOME").empty() ? "" : variable("HOME") + "/.config/berth/costs.json";
}

Json costs_json(const std::vector<TunedDevice>& devices) {
  Json list = Json::array();
  for (const TunedDevice& device : devices) {
    const DeviceCosts& costs = device.costs;
    Json entry = {{"target", costs.target},
                  {"note", device.note},
                  {"call", costs.call_seconds},
                  {"operator", costs.operator_seconds},
                  {"to_device", copy_json(costs.to_device)},
                  {"from_device", copy_json(costs.from_device)}};
    for (const WorkKind kind : placement::work_kinds()) entry[to_string(kind)] = rates_json(costs.rates[kind]);
    list.push_back(std::move(entry));
  }
  Json whole = Json::object();
  whole["berth_costs"] = kVersion;
  whole["devices"] = std::move(list);
  return whole;
}

Expected<std::vector<TunedDevice>> parse_costs(const std::string& text, const std::string& place) {
  const auto damaged = [&](const std::string& message) {
    return Failure{Error::kInvalidExternalData, place,
                   message + "; it is not a file of costs as berth tune writes them: delete it and measure again"};
  };
  const auto whole = pt2::parse_json(text, place);
  if (!whole.ok()) return damaged(whole.error().message);
  const int64_t* const version = (*whole)["berth_costs"].get_if<int64_t>();
  if (version == nullptr || *version != kVersion) return damaged("berth_costs: expected " + std::to_string(kVersion));
  const Json& list = (*whole)["devices"];
  if (!list.is_array()) return damaged("devices: expected a list");
  std::vector<TunedDevice> devices;
  for (size_t i = 0; i < list.size(); ++i) {
    auto device = EntryReader(list[i], place + ": devices[" + std::to_string(i) + "]").read();
    if (!device.ok()) return damaged(device.error().text().substr(place.size() + 2));
    const auto same = [&](const TunedDevice& other) { return other.costs.target == device->costs.target; };
    if (std::any_of(devices.begin(), devices.end(), same)) return damaged(device->costs.target + " stands there twice");
    devices.push_back(std::move(*device));
  }
  return devices;
}

Expected<std::vector<TunedDevice>> read_costs(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) {
    return Failure{Error::kNotFound, path, "there is no such file of costs; berth tune --output " + path + " makes it"};
  }
  BERTH_ASSIGN_OR_RETURN(const std::string text, read_text(path, kMostBytes));
  return parse_costs(text, path);
}

Status write_costs(const std::vector<TunedDevice>& devices, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Failure{Error::kAccessFailed, folder.string(), "cannot be made: " + error.message()};
  const std::string text = costs_json(devices).text() + "\n";
  return write_whole_file(path, [&](OutputFile& file) { return file.write(text.data(), text.size()); });
}

void replace_costs(std::vector<TunedDevice> more, std::vector<TunedDevice>* devices) {
  for (TunedDevice& one : more) {
    const auto same = [&](const TunedDevice& other) { return other.costs.target == one.costs.target; };
    const auto found = std::find_if(devices->begin(), devices->end(), same);
    if (found == devices->end()) {
      devices->push_back(std::move(one));
    } else {
      *found = std::move(one);
    }
  }
}

}  // namespace berth::tool
