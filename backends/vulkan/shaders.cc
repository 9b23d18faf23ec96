#include "backends/vulkan/shaders.h"

namespace berth::vulkan {
namespace {

// What glslc made of each file.
#define SHADER(identifier, ...) constexpr uint32_t k_##identifier[] =
#include "backends/vulkan/shaders_generated.h"
#undef SHADER

constexpr Shader kShaders[] = {
#define SHADER(identifier, file, kinds, ...) {#identifier, k_##identifier, sizeof k_##identifier, kinds},
#include "backends/vulkan/shaders.def"
#undef SHADER
};

}  // namespace

const Shader& shader(ShaderId id) { return kShaders[static_cast<size_t>(id)]; }

}  // namespace berth::vulkan
