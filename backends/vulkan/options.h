// VulkanOptions: how devices are opened.
#pragma once

#include <string>

namespace berth::vulkan {

struct VulkanOptions {
  /// With Khronos' validation layer, synchronisation included. Without the layer there are no devices then.
  bool validation = false;
  /// Memory is not shared with the host even where it could be, as with cards of their own memory: for tests.
  bool staged = false;
  /// Kernels as cards have them even on devices that are processors: for tests.
  bool for_cards = false;
  /// Elements of 8 and 16 bits are not stored in buffers even where they could be: for tests.
  bool without_16_bits = false;
  /// The same for 8 bits alone.
  bool without_8_bits = false;
  /// Bytes are multiplied without the device's own dot product even where it has one: for tests.
  bool without_dot_products = false;
  /// The same kernels with it on devices that have one and say that it is not faster: for tests.
  bool with_dot_products = false;
  /// How often each device of the machine is opened, as a device with an index of its own: for tests.
  int times = 1;
  /// A file that keeps compiled kernels from one process to the next: read when devices are opened, written when they
  /// are closed and have compiled others. One that is damaged or of another device is ignored, with a line in the log.
  std::string pipeline_cache;

  /// What the environment asks for: validation where BERTH_VULKAN_VALIDATION is 1.
  static VulkanOptions of_environment();
};

}  // namespace berth::vulkan
