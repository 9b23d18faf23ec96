#include "tools/inspect_sizes.h"

#include <fmt/format.h>

#include "format/tensor_facts.h"

namespace berth::tool {

std::string shape_text(const flatbuffers::Vector<int32_t>* sizes) {
  std::string shape;
  for (uint32_t i = 0; i < format::length(sizes); ++i) {
    shape += (shape.empty() ? "" : "x") + std::to_string(sizes->Get(i));
  }
  return "[" + shape + "]";
}

std::vector<int32_t> list_of(const flatbuffers::Vector<int32_t>* sizes) {
  return sizes == nullptr ? std::vector<int32_t>() : std::vector<int32_t>(sizes->begin(), sizes->end());
}

void add_size(const std::string& name, int64_t min, int64_t max, int64_t step, Json& method) {
  if (!method.contains("sizes")) method["sizes"] = Json::array();
  method["sizes"].push_back({{"name", name}, {"min", min}, {"max", max}});
  if (step > 1) method["sizes"].back()["step"] = step;
}

void add_relation(const std::string& text, Json& method) {
  if (!method.contains("relations")) method["relations"] = Json::array();
  method["relations"].push_back(text);
}

void print_sizes(const Json& method, std::string& text) {
  if (method.contains("sizes")) {
    for (const auto& size : method["sizes"]) {
      const std::string step =
          size.contains("step") ? fmt::format(" in steps of {}", size["step"].get<int64_t>()) : std::string();
      text += fmt::format("  size    {}: {} to {}{}\n", size["name"].get<std::string>(), size["min"].get<int64_t>(),
                          size["max"].get<int64_t>(), step);
    }
  }
  if (!method.contains("relations")) return;
  for (const auto& relation : method["relations"]) text += fmt::format("  where   {}\n", relation.get<std::string>());
}

}  // namespace berth::tool
