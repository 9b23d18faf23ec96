#include "compiler/memory/copy_node.h"

namespace berth::memory {

ir::NodeId make_copy_node(ir::Method* method, ir::ValueId from, const std::string& name, const std::string& source,
                          ir::ValueId* made) {
  const bool host = method->tensor(from).device.is_cpu();
  ir::Node node;
  node.op = &ir::operator_of(host ? ir::OpId::clone_out : ir::OpId::d2d_copy_out);
  node.args = {ir::Argument(from)};
  if (host) node.args.emplace_back(ir::None{});
  node.source = source;
  *made = method->add_value(method->value(from).type, name);
  node.results = {*made};
  const ir::NodeId id = method->nodes.next_id();
  method->nodes.push_back(std::move(node));
  method->values[*made].kind = ir::ValueKind::kNode;
  method->values[*made].node = id;
  return id;
}

}  // namespace berth::memory
