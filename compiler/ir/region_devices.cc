#include "compiler/ir/region_devices.h"

#include "compiler/ir/arguments.h"

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
  if (node.is(OpId::if_)) return Device();
  if (a == carried_argument(node)) return device_of(method, node.results[i]);
  const bool scanned = node.is(OpId::scan) && a == arg::scan::scanned;
  return scanned ? device_of(method, node.regions[0].inputs[carried_count(node) + i]) : Device();
}

Device region_input_device(const Method& method, const Node& node, size_t i) {
  const bool carried = i < carried_count(node);
  return device_of(method, carried ? node.results[i] : node.regions[0].inputs[i]);
}

Device region_output_device(const Method& method, const Node& node, size_t r, size_t k) {
  const bool condition = node.is(OpId::while_) && r == 0;
  return condition ? Device() : device_of(method, node.results[k]);
}

}  // namespace berth::ir
