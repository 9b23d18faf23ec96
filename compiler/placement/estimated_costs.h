// What is known of the targets of a kind without a measurement, beside estimated_costs() (device_costs.h).
#pragma once

#include <string_view>

namespace berth::placement {

/// Whether a copy between two devices of this kind ("cuda", "vulkan", "sim") goes through the host, which waits for it.
/// False for a kind that has no estimate.
bool copies_through_host(std::string_view kind);
/// Whether the host goes on while a device of this kind copies to its memory, until it reads what was copied. False for
/// a kind that has no estimate, such as a plug-in's.
bool begins_copies_to_host(std::string_view kind);

}  // namespace berth::placement
