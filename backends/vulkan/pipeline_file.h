// PipelineFile: compiled kernels of devices, kept in a file from one process to the next. Private to backends/vulkan/.
//
// The file is "BerthVPC", then for each device: the size and the hash of its bytes, 64 bits each, and the bytes that
// vkGetPipelineCacheData gave. They begin with Vulkan's own header, which says of which device and driver they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/vulkan/api.h"
#include "base/span.h"

namespace berth::vulkan {

using PipelineBytes = std::vector<uint8_t>;

/// What the file at `path` has for a device with its present driver; empty without a file, and, with a line in the log,
/// for a file that is damaged, of another kind, not readable, or without kernels of this device.
PipelineBytes read_pipelines(const std::string& path, const VkPhysicalDeviceProperties& device);

/// Replaces what the file has for the device, and keeps that of others, at once or not at all. A damaged file is
/// replaced; one of another kind, or that cannot be read, is not touched. A failure is logged.
void write_pipelines(const std::string& path, const VkPhysicalDeviceProperties& device, Span<const uint8_t> bytes);

}  // namespace berth::vulkan
