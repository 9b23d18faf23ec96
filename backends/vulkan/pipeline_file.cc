#include "backends/vulkan/pipeline_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/output_file.h"
#include "runtime/log.h"

namespace berth::vulkan {
namespace {

constexpr char kMagic[] = {'B', 'e', 'r', 't', 'h', 'V', 'P', 'C'};
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// FNV-1a.
uint64_t hash_of(Span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// Vulkan's header, if it is one.
std::optional<VkPipelineCacheHeaderVersionOne> header_of(Span<const uint8_t> bytes) {
  VkPipelineCacheHeaderVersionOne header = {};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool known = header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
                     header.headerSize >= sizeof header && header.headerSize <= bytes.size();
  return known ? std::make_optional(header) : std::nullopt;
}

bool is_of_device(const VkPipelineCacheHeaderVersionOne& header, const VkPhysicalDeviceProperties& device) {
  return header.vendorID == device.vendorID && header.deviceID == device.deviceID;
}

bool is_of_driver(const VkPipelineCacheHeaderVersionOne& header, const VkPhysicalDeviceProperties& device) {
  return std::memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

bool is_ours(const PipelineBytes& file) {
  return file.size() >= sizeof kMagic && std::memcmp(file.data(), kMagic, sizeof kMagic) == 0;
}

// The parts of a file of ours; nothing when it is not a whole one.
std::optional<std::vector<PipelineBytes>> parts_of(const PipelineBytes& file) {
  std::vector<PipelineBytes> parts;
  uint64_t at = sizeof kMagic;
  while (at < file.size()) {
    uint64_t numbers[2];  // size, hash
    if (file.size() - at < sizeof numbers) return std::nullopt;
    std::memcpy(numbers, file.data() + at, sizeof numbers);
    at += sizeof numbers;
    if (numbers[0] > file.size() - at) return std::nullopt;
    const uint8_t* const first = file.data() + at;
    parts.emplace_back(first, first + numbers[0]);
    if (hash_of(parts.back()) != numbers[1] || !header_of(parts.back())) return std::nullopt;
    at += numbers[0];
  }
  return parts;
}

// False when there is none, or, with a line in the log, when it cannot be read.
bool read_file(const std::string& path, PipelineBytes* bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return false;
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (size >= 0 && static_cast<uint64_t>(size) <= kMostBytes) {
    bytes->resize(static_cast<uint64_t>(size));
    file.seekg(0);
    if (file.read(reinterpret_cast<char*>(bytes->data()), size)) return true;
  }
  log_message(LogLevel::kWarning, "vulkan: %s cannot be read, so kernels are compiled anew", path.c_str());
  return false;
}

// `*foreign`: the file is of another kind. With a line in the log for a file that is ignored, where `says`.
std::vector<PipelineBytes> read_parts(const std::string& path, bool says, bool* foreign) {
  PipelineBytes file;
  *foreign = false;
  if (!read_file(path, &file) || file.empty()) return {};
  *foreign = !is_ours(file);
  std::optional<std::vector<PipelineBytes>> parts;
  if (!*foreign) parts = parts_of(file);
  if (parts) return *std::move(parts);
  const char* const what = *foreign ? "not a file of compiled kernels" : "damaged";
  if (says) log_message(LogLevel::kWarning, "vulkan: %s is %s and is ignored", path.c_str(), what);
  return {};
}

}  // namespace

PipelineBytes read_pipelines(const std::string& path, const VkPhysicalDeviceProperties& device) {
  bool foreign = false;
  const std::vector<PipelineBytes> parts = read_parts(path, true, &foreign);
  for (const PipelineBytes& part : parts) {
    const auto header = header_of(part);
    if (is_of_device(*header, device) && is_of_driver(*header, device)) return part;
  }
  if (!parts.empty()) {
    log_message(LogLevel::kWarning, "vulkan: %s has no kernels for %s and its driver", path.c_str(), device.deviceName);
  }
  return {};
}

void write_pipelines(const std::string& path, const VkPhysicalDeviceProperties& device, Span<const uint8_t> bytes) {
  bool foreign = false;
  std::vector<PipelineBytes> parts = read_parts(path, false, &foreign);  // said when it was read
  if (foreign) return;
  const auto is_replaced = [&](const PipelineBytes& part) { return is_of_device(*header_of(part), device); };
  parts.erase(std::remove_if(parts.begin(), parts.end(), is_replaced), parts.end());
  parts.emplace_back(bytes.begin(), bytes.end());
  const Status written = write_whole_file(path, [&](OutputFile& file) -> Status {
    BERTH_TRY(file.write(kMagic, sizeof kMagic));
    for (const PipelineBytes& part : parts) {
      const uint64_t numbers[] = {part.size(), hash_of(part)};
      BERTH_TRY(file.write(numbers, sizeof numbers));
      BERTH_TRY(file.write(part.data(), part.size()));
    }
    return Done{};
  });
  if (written.ok()) return;
  log_message(LogLevel::kWarning, "vulkan: kernels are not kept: %s", written.error().text().c_str());
}

}  // namespace berth::vulkan
