#include "compiler/memory/region_module.h"

#include "format/nested.h"

namespace berth::memory {
namespace {

using ir::Graph;
using ir::Node;
using ir::OpId;
using ir::ValueId;

class RegionExtractor {
 public:
  RegionExtractor(const ir::Module& module, const ir::Method& method) : module_(module), method_(method) {
    out_.module.symbols = module.symbols;
    out_.module.methods.emplace_back();
    inner().name = format::kNestedMethodName;
    values_.resize(method.values.size());
    constants_.resize(module.constants.size());
  }

  Expected<RegionModule> run(const Graph& region) {
    for (const ValueId input : region.inputs) {
      values_[input] = inner().add_input(local(method_.value(input).type), method_.value(input).name);
    }
    Graph body;
    body.inputs = inner().body.inputs;
    BERTH_TRY(copy_nodes(region, &body));
    inner().body = std::move(body);
    return std::move(out_);
  }

 private:
  ir::Method& inner() { return out_.module.methods.front(); }

  static ir::Type local(ir::Type type) {
    if (auto* tensor = std::get_if<ir::TensorType>(&type)) tensor->device = Device();
    return type;
  }

  Status copy_graph(const Graph& from, Graph* to) {
    for (const ValueId input : from.inputs) to->inputs.push_back(make(input));
    return copy_nodes(from, to);
  }

  Status copy_nodes(const Graph& from, Graph* to) {
    for (const ir::NodeId id : from.nodes) BERTH_TRY(copy_node(method_.node(id), to));
    to->outputs = from.outputs;
    for (ir::Argument& output : to->outputs) BERTH_TRY(translate(&output, "an output"));
    return Done{};
  }

  ValueId make(ValueId value) {
    return values_[value] = inner().add_value(local(method_.value(value).type), method_.value(value).name);
  }

  Status copy_node(const Node& node, Graph* to) {
    const std::string name = node.op->functional_name + (node.source.empty() ? "" : " of " + node.source);
    const bool foreign = node.state.valid() || node.delegate.valid() || node.is(OpId::delegate);
    if (foreign || node.op->is_device_copy()) {
      return Failure{Error::kNotSupported, name,
                     "a nested program holds neither state nor delegates nor copies between devices; leave the node "
                     "out of the delegate"};
    }
    Node copy = node;
    copy.results.clear();
    copy.regions.assign(node.regions.size(), {});
    for (ir::Argument& argument : copy.args) BERTH_TRY(translate(&argument, name));
    for (size_t r = 0; r < node.regions.size(); ++r) BERTH_TRY(copy_graph(node.regions[r], &copy.regions[r]));
    for (const ValueId result : node.results) copy.results.push_back(make(result));
    const ir::NodeId id{static_cast<int32_t>(inner().nodes.size())};
    for (size_t k = 0; k < copy.results.size(); ++k) {
      ir::Value& value = inner().value(copy.results[k]);
      value.kind = ir::ValueKind::kNode;
      value.node = id;
      value.result = static_cast<int>(k);
    }
    inner().nodes.push_back(std::move(copy));
    to->nodes.push_back(id);
    return Done{};
  }

  Status translate(ir::Argument* argument, const std::string& where) {
    ValueId stranger;
    ir::for_each_value(*argument, [&](ValueId& value) {
      const ValueId inner = inner_value(value);
      if (!inner.valid()) stranger = value;
      value = inner;
    });
    if (!stranger.valid()) return Done{};
    return Failure{Error::kInvalidArgument, where,
                   "%" + method_.value(stranger).name +
                       " is from outside of the region, which may mention its inputs and constants only"};
  }

  ValueId inner_value(ValueId outer) {
    const ir::Value& value = method_.value(outer);
    if (value.kind != ir::ValueKind::kConstant) return values_[outer];
    ir::ConstantId& id = constants_[value.constant];
    if (!id.valid()) {
      const ir::Constant& constant = module_.constants[value.constant];
      id = out_.module.add_constant(constant.name, constant.type, constant.blob);
      out_.constants.push_back(value.constant);
    }
    return inner().constant_value(out_.module, id);
  }

  const ir::Module& module_;
  const ir::Method& method_;
  RegionModule out_;
  IdVector<ValueId, ValueId> values_;                   // by those of the method around: the copies
  IdVector<ir::ConstantId, ir::ConstantId> constants_;  // by those of the module around: the copies
};

}  // namespace

Expected<RegionModule> region_module(const ir::Module& module, const ir::Method& method, const Node& call) {
  if (call.regions.size() != 1) {
    return Failure{Error::kInvalidArgument, "", "the delegate has neither a payload nor a region to compile"};
  }
  return RegionExtractor(module, method).run(call.regions[0]);
}

}  // namespace berth::memory
