// Gpu's kernels: SPIR-V modules, specialised; and the sets of what they see.

#include <cstring>

#include "backends/vulkan/first_runs.h"
#include "backends/vulkan/gpu.h"

namespace berth::vulkan {
namespace {

constexpr const char* kWhat = "making a kernel";
constexpr VkPushConstantRange kOrigin = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(int32_t)};

VkDescriptorType type_of(char kind) {
  switch (kind) {
    case 's':
    case 't':
    case 'u': return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    case 'x':
    case 'w':
    case 'y': return VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
    default: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
}

// Of binding `place`, where numbers are the first.
VkDescriptorType type_of(ShaderId id, size_t place) {
  return place == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : type_of(shader(id).kinds[place - 1]);
}

bool has_four(char kind) { return kind == 't' || kind == 'w'; }

bool is_words(char kind) { return kind == 'u' || kind == 'y'; }

VkFormat format_of(char kind, uint64_t element_bytes) {
  if (is_words(kind)) return VK_FORMAT_R32_UINT;
  if (element_bytes == 2) return has_four(kind) ? VK_FORMAT_R16G16B16A16_SFLOAT : VK_FORMAT_R16_SFLOAT;
  return has_four(kind) ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R32_SFLOAT;
}

}  // namespace

Error Gpu::layout(const char* kinds, Layout* layout) {
  const auto found = layouts_.find(kinds);
  if (found != layouts_.end()) {
    *layout = found->second;
    return Error::kOk;
  }
  std::vector<VkDescriptorSetLayoutBinding> all(1 + std::strlen(kinds));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].binding = static_cast<uint32_t>(i);
    all[i].descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : type_of(kinds[i - 1]);
    all[i].descriptorCount = 1;
    all[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set = {};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(all.size());
  set.pBindings = all.data();
  Layout made;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set), kWhat));
  VkPipelineLayoutCreateInfo pipeline = {};
  pipeline.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &made.set;
  pipeline.pushConstantRangeCount = 1;
  pipeline.pPushConstantRanges = &kOrigin;
  const VkResult result = api.vkCreatePipelineLayout(device_, &pipeline, nullptr, &made.pipeline);
  if (result != VK_SUCCESS) {
    api.vkDestroyDescriptorSetLayout(device_, made.set, nullptr);
    return check(result, kWhat);
  }
  layouts_.emplace(kinds, made);
  *layout = made;
  return Error::kOk;
}

Error Gpu::module(ShaderId id, VkShaderModule* made) {
  const auto found = modules_.find(id);
  if (found != modules_.end()) {
    *made = found->second;
    return Error::kOk;
  }
  VkShaderModuleCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = shader(id).bytes;
  info.pCode = shader(id).words;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateShaderModule(device_, &info, nullptr, made), kWhat));
  modules_.emplace(id, *made);
  return Error::kOk;
}

Error Gpu::compile(ShaderId id, Span<const uint32_t> constants, Span<const uint32_t> types, const Layout& layout,
                   VkPipeline* made) {
  constexpr uint32_t kFirstType = 64;  // as in shaders/narrow.glsl
  VkShaderModule code = VK_NULL_HANDLE;
  BERTH_RETURN_IF_ERROR(module(id, &code));
  std::vector<uint32_t> values(constants.begin(), constants.end());
  values.insert(values.end(), types.begin(), types.end());
  std::vector<VkSpecializationMapEntry> entries(values.size());
  const auto own = static_cast<uint32_t>(constants.size());
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i < own ? i : kFirstType + i - own, 4 * i, 4};
  VkSpecializationInfo special = {};
  special.mapEntryCount = static_cast<uint32_t>(entries.size());
  special.pMapEntries = entries.data();
  special.dataSize = 4 * values.size();
  special.pData = values.data();
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = code;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = values.empty() ? nullptr : &special;
  info.layout = layout.pipeline;
  info.basePipelineIndex = -1;
  return check(api.vkCreateComputePipelines(device_, cache_, 1, &info, nullptr, made), kWhat);
}

Result<Pipeline> Gpu::pipeline(ShaderId id, Span<const uint32_t> constants, Span<const uint32_t> types,
                               FirstRuns* runs) {
  Key key = {static_cast<uint32_t>(id)};
  key.insert(key.end(), constants.begin(), constants.end());
  key.insert(key.end(), types.begin(), types.end());
  const std::lock_guard<std::mutex> lock(pipeline_lock_);
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return found->second;
  Layout layout_of;
  BERTH_RETURN_IF_ERROR(layout(shader(id).kinds, &layout_of));
  Pipeline made = {VK_NULL_HANDLE, layout_of.pipeline, layout_of.set};
  BERTH_RETURN_IF_ERROR(compile(id, constants, types, layout_of, &made.pipeline));
  const Error error = runs->add(id, types, made);
  if (error != Error::kOk) {
    api.vkDestroyPipeline(device_, made.pipeline, nullptr);
    return error;
  }
  ++counts_.pipelines;
  pipelines_.emplace(std::move(key), made);
  return made;
}

void Gpu::push_origin(VkCommandBuffer commands, const Pipeline& pipeline) const {
  const int32_t origin = 0;
  api.vkCmdPushConstants(commands, pipeline.layout, kOrigin.stageFlags, kOrigin.offset, kOrigin.size, &origin);
}

Error Gpu::make_view(char kind, uint64_t element_bytes, const VkDescriptorBufferInfo& part, VkBufferView* view) {
  *view = VK_NULL_HANDLE;
  if (type_of(kind) == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) return Error::kOk;
  const uint64_t texel = is_words(kind) ? 4 : (has_four(kind) ? 4 : 1) * element_bytes;
  VkBufferViewCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  info.buffer = part.buffer;
  info.format = format_of(kind, element_bytes);
  info.offset = part.offset;
  // Buffers have a whole number of words, and what comes next begins with a new one.
  info.range = (is_words(kind) ? part.range + 3 : part.range) / texel * texel;
  // lavapipe takes the second byte of the range for a number of mipmaps, and compiles a kernel again for one of 0.
  if (widens_views_ && (info.range >> 8 & 255) == 0) info.range += kViewSlack;
  return check(api.vkCreateBufferView(device_, &info, nullptr, view), kWhat);
}

Error Gpu::make_pool(Span<const ShaderId> shaders, VkDescriptorPool* pool) {
  std::map<VkDescriptorType, uint32_t> counts;
  for (const ShaderId id : shaders) {
    for (int k = 0; k <= shader(id).tensors(); ++k) ++counts[type_of(id, k)];
  }
  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : counts) sizes.push_back({type, count});
  VkDescriptorPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = static_cast<uint32_t>(shaders.size());
  info.poolSizeCount = static_cast<uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  return check(api.vkCreateDescriptorPool(device_, &info, nullptr, pool), kWhat);
}

void Gpu::write_set(VkDescriptorSet set, ShaderId id, Span<const VkDescriptorBufferInfo> parts,
                    Span<const VkBufferView> views) {
  std::vector<VkWriteDescriptorSet> writes(parts.size());
  for (uint32_t i = 0; i < writes.size(); ++i) {
    VkWriteDescriptorSet& write = writes[i];
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = type_of(id, i);
    write.pBufferInfo = &parts[i];
    write.pTexelBufferView = &views[i];
  }
  api.vkUpdateDescriptorSets(device_, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
}

}  // namespace berth::vulkan
