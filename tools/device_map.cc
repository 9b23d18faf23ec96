#include "tools/device_map.h"

#include <algorithm>

namespace berth::tool {
namespace {

// Of TO: "gpu", or "gpu:1".
bool is_generic(const std::string& text) { return text == "gpu" || text.rfind("gpu:", 0) == 0; }

// "cuda:1", or "gpu" and "gpu:1" for whatever GPU is registered.
Expected<Device> parse_target(const std::string& option, const std::string& text,
                              const DeviceAllocatorRegistry& registry) {
  const auto device = parse_device(text.data(), text.size());
  if (device.ok()) return *device;
  // The index is read as that of another type.
  const bool generic = is_generic(text);
  const std::string indexed = generic ? "cuda" + text.substr(3) : "";
  const auto index = parse_device(indexed.data(), indexed.size());
  if (!generic || !index.ok()) {
    return Failure{Error::kInvalidArgument, option,
                   std::string("expected [METHOD:]FROM=TO, such as cuda:0=cuda:1; the types are ") +
                       device_type_names() + ", and gpu where TO is whatever GPU is there"};
  }
  format::Report report;
  const auto gpu = registry.find_gpu(index->index, &report);
  if (!gpu.ok()) return Failure{gpu.error(), option, report.message};
  return *gpu;
}

struct Mapping {
  std::string method;  // empty: every method
  Device from;
  Device to;
};

// "cuda:0=sim:0", or "decode:cuda:0=sim:0" for one method.
Expected<Mapping> parse_mapping(const std::string& text, const DeviceAllocatorRegistry& registry) {
  const std::string option = "--map-device " + text;
  const size_t equals = text.find('=');
  Mapping mapping;
  BERTH_ASSIGN_OR_RETURN(mapping.to,
                         parse_target(option, equals == std::string::npos ? "" : text.substr(equals + 1), registry));
  // Names of methods may contain ':'. What is a device as a whole is one.
  for (size_t start = 0; start < equals; ++start) {
    const auto from = parse_device(text.data() + start, equals - start);
    if (!from.ok()) {
      start = std::min(text.find(':', start), equals);
      continue;
    }
    mapping.method = start == 0 ? "" : text.substr(0, start - 1);
    mapping.from = *from;
    return mapping;
  }
  const std::string from = text.substr(0, equals);
  const size_t colon = from.find(":gpu");
  if (is_generic(from) || (colon != std::string::npos && is_generic(from.substr(colon + 1)))) {
    return Failure{
        Error::kInvalidArgument, option,
        "FROM is a device of the file, as berth inspect prints it; what runs there was compiled for one type, so "
        "gpu is for TO alone"};
  }
  return parse_target(option, "", registry).error();
}

}  // namespace

void add_device_map(CLI::App& command, std::vector<std::string>& texts) {
  command
      .add_option(
          "--map-device", texts,
          "[METHOD:]FROM=TO, such as cuda:0=cuda:1: use another device than the file, in this method or in all; "
          "TO may be gpu or gpu:1 for whatever type of GPU is there")
      ->allow_extra_args(false);
}

Expected<DeviceMappings> DeviceMappings::parse(const std::vector<std::string>& texts,
                                               const DeviceAllocatorRegistry& registry) {
  DeviceMappings parsed;
  parsed.methods_.reserve(texts.size());  // the mappings point into it
  for (const std::string& text : texts) {
    BERTH_ASSIGN_OR_RETURN(Mapping mapping, parse_mapping(text, registry));
    parsed.methods_.push_back(std::move(mapping.method));
    const std::string& method = parsed.methods_.back();
    parsed.mappings_.push_back({mapping.from, mapping.to, method.empty() ? nullptr : method.c_str()});
  }
  return parsed;
}

}  // namespace berth::tool
