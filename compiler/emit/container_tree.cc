#include "compiler/emit/container_tree.h"

namespace berth::emit {
namespace {

// The number in front is the version of the text form, 1 in PyTorch 2.
constexpr const char* kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string tuple(const std::string& children) {
  return R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" + children + "]}";
}

std::string leaves(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::string(kLeaf);
  return text;
}

}  // namespace

std::string input_tree(size_t count) {
  const std::string named = R"({"type": "builtins.dict", "context": "[]", "children_spec": []})";
  return "[1, " + tuple(tuple(leaves(count)) + ", " + named) + "]";
}

std::string output_tree(size_t count) {
  return "[1, " + (count == 1 ? std::string(kLeaf) : tuple(leaves(count))) + "]";
}

}  // namespace berth::emit
