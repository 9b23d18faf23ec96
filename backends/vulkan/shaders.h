// The compiled kernels (shaders.def), as the tool holds them. Private to backends/vulkan/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::vulkan {

enum class ShaderId : uint32_t {
#define SHADER(identifier, ...) identifier,
#include "backends/vulkan/shaders.def"
#undef SHADER
};

struct Shader {
  const char* name;
  const uint32_t* words;  // SPIR-V
  size_t bytes;
  int buffers;  // that it sees, without its numbers
};

const Shader& shader(ShaderId id);

}  // namespace berth::vulkan
