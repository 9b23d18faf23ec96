// What kernels find wrong: an index that is out of range, which only the device sees. Private to backends/vulkan/.
#pragma once

#include <cstdint>
#include <string>

namespace berth::vulkan {

/// The operators that look for indices out of range, by the numbers that kernels know them by.
enum class PickOp : uint32_t {
  kEmbedding = 1,
  kGather = 2,
  kIndex = 3,
  kIndexSelect = 4,
  kScatter = 5,
  kScatterAdd = 6
};

/// The bytes that kernels write one into (shaders/gather.comp): the first that is found since the host last looked.
struct Fault {
  uint32_t op = 0;  // a PickOp; 0: nothing was found
  uint32_t index[2] = {0, 0};
  int32_t size = 0;  // of the dimension
};

/// "aten::embedding: index 9 is outside the dimension of 6 that it selects from"
std::string to_text(const Fault& fault);

}  // namespace berth::vulkan
