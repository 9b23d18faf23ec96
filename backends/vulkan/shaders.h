// The compiled kernels (shaders.def), as the tool holds them. Private to backends/vulkan/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
  const char* kinds;  // of what it sees beside its numbers (shaders.def)

  int tensors() const { return static_cast<int>(std::strlen(kinds)); }
};

const Shader& shader(ShaderId id);

}  // namespace berth::vulkan
