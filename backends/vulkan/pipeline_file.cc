#include "backends/vulkan/pipeline_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/mapped_file.h"
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

bool is_ours(Span<const uint8_t> file) {
  return file.size() >= sizeof kMagic && std::memcmp(file.data(), kMagic, sizeof kMagic) == 0;
}

// The parts of a file of ours; nothing when it is not a whole one.
std::optional<std::vector<PipelineBytes>> parts_of(Span<const uint8_t> file) {
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

// `*foreign`: the file is of another kind, or cannot be known to be of this one. With a line in the log for a file that
// is ignored, where `says`.
std::vector<PipelineBytes> read_parts(const std::string& path, bool says, bool* foreign) {
  std::error_code unknown;
  *foreign = false;
  if (std::filesystem::symlink_status(path, unknown).type() == std::filesystem::file_type::not_found) return {};
  const Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  const Span<const uint8_t> bytes = file.ok() ? (*file)->bytes() : Span<const uint8_t>();
  if (file.ok() && bytes.empty()) return {};
  std::optional<std::vector<PipelineBytes>> parts;
  std::string what = "damaged";
  if (!file.ok()) {
    what = file.error().message;
  } else if (!is_ours(bytes)) {
    what = "not a file of compiled kernels";
  } else if (bytes.size() > kMostBytes) {
    what = "larger than such files are";
  } else {
    parts = parts_of(bytes);
  }
  *foreign = what != "damaged";
  if (parts) return *std::move(parts);
  if (says) log_message(LogLevel::kWarning, "vulkan: %s: %s; it is ignored", path.c_str(), what.c_str());
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
