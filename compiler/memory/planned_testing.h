// For tests of memory plans: the model of a method by names, and the tensors of its file that share bytes.
#pragma once

#include "compiler/emit/emit_testing.h"
#include "compiler/memory/make_model.h"

namespace berth::memory {

/// Options with this planner.
inline MemoryOptions with_planner(packing::Planner planner, bool in_place = false) {
  MemoryOptions options = emit::testing::as_written();
  options.planner = planner;
  options.in_place = in_place;
  return options;
}

inline uint64_t bytes_of(const format::TensorDesc& tensor) {
  uint64_t count = element_size(tensor.dtype);
  for (const int32_t size : tensor.sizes) count *= static_cast<uint64_t>(size);
  return count;
}

inline bool share_bytes(const format::TensorDesc& a, const format::TensorDesc& b) {
  return a.planned->memory_id == b.planned->memory_id && a.planned->offset < b.planned->offset + bytes_of(b) &&
         b.planned->offset < a.planned->offset + bytes_of(a);
}

/// The planned tensors of a method.
inline std::vector<format::TensorDesc> planned(const format::MethodDesc& method) {
  std::vector<format::TensorDesc> all;
  for (const format::ValueDesc& value : method.values) {
    const auto* tensor = std::get_if<format::TensorDesc>(&value);
    if (tensor != nullptr && tensor->planned.has_value()) all.push_back(*tensor);
  }
  return all;
}

/// Pairs of planned tensors that share bytes.
inline int pairs(const format::MethodDesc& method) {
  const std::vector<format::TensorDesc> all = planned(method);
  int count = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < i; ++k) count += share_bytes(all[i], all[k]) ? 1 : 0;
  }
  return count;
}

inline const format::TensorDesc& tensor(const format::MethodDesc& method, int32_t index) {
  return std::get<format::TensorDesc>(method.values.at(index));
}

/// The memory model of the first method of `text`, by the names of its values.
struct NamedModel {
  explicit NamedModel(const std::string& text, const MemoryOptions& options = {})
      : module(emit::testing::module_of(text)) {
    auto found = make_model(module, module.methods[0], options);
    EXPECT_TRUE(found.ok()) << found.error().text();
    if (found.ok()) model = std::move(found).value();
  }
  ir::ValueId value(const std::string& name) const {
    const auto& values = module.methods[0].values;
    for (ir::ValueId id : values.ids()) {
      if (values[id].name == name) return id;
    }
    ADD_FAILURE() << "no value " << name;
    return {0};
  }
  Home home(const std::string& name) const { return model.aliases.homes[value(name)].home; }
  const packing::Buffer& life(const std::string& name) const {
    const ValueHome& place = model.aliases.homes[value(name)];
    EXPECT_EQ(place.home, Home::kBuffer) << name;
    return model.buffers.all[place.buffer];
  }
  int64_t step_of(const std::string& result) const {
    const ir::NodeId node = module.methods[0].value(value(result)).node;
    return model.steps.nodes[node];
  }

  ir::Module module;
  MemoryModel model;
};

}  // namespace berth::memory
