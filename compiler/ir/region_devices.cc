#include "compiler/ir/region_devices.h"

namespace berth::ir {
namespace {

/// Which argument is the list of what is carried.
size_t carried_argument(const Node& node) { return node.is(OpId::scan) ? 1 : 0; }

Device device_of(const Method& method, ValueId value) {
  const TensorType* type = method.value(value).tensor();
  return type == nullptr ? Device() : type->device;
}

}  // namespace

size_t carried_count(const Node& node) {
  return node.is(OpId::if_) ? 0 : std::get<ValueList>(node.args[carried_argument(node)]).size();
}

Device argument_device(const Method& method, const Node& node, size_t a, size_t i) {
  const bool carried = !node.is(OpId::if_) && a == carried_argument(node);
  return carried ? device_of(method, node.results[i]) : Device();
}

Device region_input_device(const Method& method, const Node& node, size_t i) {
  return i < carried_count(node) ? device_of(method, node.results[i]) : Device();
}

Device region_output_device(const Method& method, const Node& node, size_t r, size_t k) {
  const bool given = node.is(OpId::if_) || (node.is(OpId::while_) ? r == 1 : k < carried_count(node));
  return given ? device_of(method, node.results[k]) : Device();
}

}  // namespace berth::ir
