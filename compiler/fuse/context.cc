#include "compiler/fuse/context.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/half.h"
#include "compiler/ir/delegate.h"

namespace berth::fuse {

using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

const char* to_string(Reason reason) {
  switch (reason) {
    case Reason::kFused: return "fused";
    case Reason::kReadElsewhere: return "result-read-elsewhere";
    case Reason::kNotConstant: return "not-constant";
    case Reason::kDType: return "dtype";
    case Reason::kShape: return "shape-differs";
    case Reason::kScaled: return "scaled";
    case Reason::kFinished: return "activation-before";
    case Reason::kHasResidual: return "residual-already";
    case Reason::kNotFinite: return "not-finite";
    case Reason::kMask: return "mask-not-a-length";
    case Reason::kScale: return "scale";
    case Reason::kSmall: return "small";
    case Reason::kRowsDiffer: return "rows-differ";
    case Reason::kOrder: return "order";
  }
  return "?";
}

NodeTargets targets_of_nodes(const Module& module, const Method& method, const Targets& targets) {
  NodeTargets result(method.nodes.size(), nullptr);
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (NodeId id : graph.nodes) {
      const Node& call = method.node(id);
      if (!call.is(ir::OpId::delegate) || call.regions.empty()) continue;
      const ir::Delegate& delegate = module.delegates[call.delegate];
      const auto device = ir::delegate_device(delegate);
      for (const targets::Target& target : targets) {
        if (!device.ok() || target.backend != delegate.backend || target.device != *device) continue;
        ir::for_each_graph(method, call.regions[0], [&](const ir::Graph& region) {
          for (NodeId inner : region.nodes) result[inner] = &target;
        });
      }
    }
  });
  return result;
}

bool takes_bytes(const targets::Target& target) {
  return target.fuses && (target.backend == "berth.cpu" || target.backend == "berth.sim");
}

Targets targets_of_bytes(const Targets& targets) {
  Targets own;
  std::copy_if(targets.begin(), targets.end(), std::back_inserter(own), takes_bytes);
  return own;
}

bool multiplies_bytes(const targets::Target& target) {
  return takes_bytes(target) || (target.fuses && target.backend == "berth.vulkan");
}

Targets targets_of_byte_products(const Targets& targets) {
  Targets own;
  std::copy_if(targets.begin(), targets.end(), std::back_inserter(own), multiplies_bytes);
  return own;
}

// What a delegate makes lives on its device; shape rules know the first argument's alone, which may be a constant.
static void settle(const Module& module, Method& method, const Targets& targets) {
  const NodeTargets of = targets_of_nodes(module, method, targets);
  for (NodeId id : of.ids()) {
    if (of[id] == nullptr || !of[id]->fuses) continue;
    for (ValueId result : method.nodes[id].results) {
      if (ir::TensorType* type = method.value(result).tensor()) type->device = of[id]->device;
    }
  }
}

Context::Context(Module& module, Method& method, const passes::Options& options, NodeTargets targets)
    : module_(module),
      method_(method),
      options_(options),
      targets_(std::move(targets)),
      uses_(ir::count_uses(method)) {}

int Context::uses(ValueId value) const { return uses_.contains(value) ? uses_[value] : 0; }

void Context::replaced(ValueId old, ValueId with) {
  if (uses_.size() < method_.values.size()) uses_.resize(method_.values.size());
  uses_[with] += uses_[old];
}

passes::Action Context::replace(NodeId old, ValueId with) {
  replaced(node(old).results[0], with);
  return passes::Action::replace(with);
}

void Context::remark(const Node& node, Reason reason, const char* into) const {
  if (!passes::wants_why(options_, "fusion")) return;
  std::string text = to_string(reason);
  if (into[0] != '\0') text += std::string(reason == Reason::kFused ? " into " : ": ") + into;
  passes::remark(options_, "fusion", method_, node, text);
}

Expected<passes::Changed> rewrite_regions(Module& module, const Targets& targets, const passes::Options& options,
                                          const std::function<Visit()>& visit_of) {
  passes::Changed changed = passes::Changed::kNo;
  for (Method& method : module.methods) {
    IdVector<NodeId, bool> fuses;
    NodeTargets of = targets_of_nodes(module, method, targets);
    for (const targets::Target* target : of) fuses.push_back(target != nullptr && target->fuses);
    if (std::find(fuses.begin(), fuses.end(), true) == fuses.end()) continue;
    Context context(module, method, options, std::move(of));
    const Visit visit = visit_of();
    const passes::Visitor visitor = [&](ir::Builder& build, NodeId id, bool*) -> Expected<passes::Action> {
      if (!fuses[id] || !method.node(id).regions.empty()) return passes::Action::keep();
      return visit(context, build, id);
    };
    BERTH_ASSIGN_OR_RETURN(const passes::Changed one, passes::rewrite(module, method, visitor));
    settle(module, method, targets);
    changed = changed | one;
  }
  return changed;
}

Expected<passes::Changed> for_each_region(
    Module& module, const Targets& targets,
    const std::function<Expected<bool>(Method& method, const targets::Target& target, ir::Graph& region)>& f) {
  passes::Changed changed = passes::Changed::kNo;
  for (Method& method : module.methods) {
    const NodeTargets of = targets_of_nodes(module, method, targets);
    std::vector<std::pair<NodeId, const targets::Target*>> calls;
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (NodeId id : graph.nodes) {
        const Node& node = method.node(id);
        if (!node.is(ir::OpId::delegate) || node.regions.empty() || node.regions[0].nodes.empty()) continue;
        const targets::Target* target = of[node.regions[0].nodes[0]];
        if (target != nullptr) calls.emplace_back(id, target);
      }
    });
    for (const auto& [call, target] : calls) {
      // Nodes move when the list grows; their regions stay where they are.
      BERTH_ASSIGN_OR_RETURN(const bool one, f(method, *target, method.node(call).regions[0]));
      changed = changed | passes::changed_if(one);
    }
    settle(module, method, targets);
  }
  return changed;
}

const Node* made_by(const Context& context, ValueId value, ir::OpId op) {
  const Node* node = value.valid() ? context.maker(value) : nullptr;
  return node != nullptr && node->is(op) ? node : nullptr;
}

namespace {

// What `value` is a view of that only regroups dimensions; invalid when it is none.
ValueId viewed(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  if (node == nullptr || !node->op->is_reshape()) return {};
  const ValueId base = std::get<ValueId>(node->args.front());
  const ir::TensorType& type = context.type(base);
  return type.is_contiguous() && type.dtype == context.type(value).dtype ? base : ValueId{};
}

}  // namespace

ValueId through_views(const Context& context, ValueId value) {
  while (context.uses(value) == 1) {
    const ValueId base = viewed(context, value);
    if (!base.valid()) break;
    value = base;
  }
  return value;
}

ValueId behind_views(const Context& context, ValueId value) {
  for (ValueId base = value; base.valid(); base = viewed(context, value)) value = base;
  return value;
}

Expected<ValueId> with_shape(Context& context, ir::Builder& build, ValueId value, const std::vector<ir::Dim>& shape,
                             const std::string& source) {
  if (context.type(value).shape == shape) return value;
  return build.one(ir::OpId::view_copy_out, {value, ir::DimList(shape)}, source);
}

const ir::Constant* known_constant(const Context& context, ValueId value) {
  const ir::Constant* constant = value.valid() ? context.constant(ir::Argument(value)) : nullptr;
  return constant != nullptr && constant->type.is_contiguous() && constant->blob.size() > 0 ? constant : nullptr;
}

std::vector<float> floats_of(const ir::Constant& constant) {
  const DType type = constant.type.dtype;
  std::vector<float> result(constant.blob.size() / element_size(type));
  if (type == DType::kF32) {
    constant.blob.read(0, Span<uint8_t>(reinterpret_cast<uint8_t*>(result.data()), result.size() * sizeof(float)));
    return result;
  }
  std::vector<uint16_t> narrow(result.size());
  constant.blob.read(0, Span<uint8_t>(reinterpret_cast<uint8_t*>(narrow.data()), narrow.size() * sizeof(uint16_t)));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = type == DType::kF16 ? internal::half_to_float(narrow[i])
                                    : internal::float_of(static_cast<uint32_t>(narrow[i]) << 16);
  }
  return result;
}

ValueId float_constant(ir::Builder& build, const std::vector<int64_t>& sizes, const std::vector<float>& elements,
                       const std::string& name) {
  ir::TensorType type;
  type.shape = ir::dims(sizes);
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return build.constant(type, ir::Blob::owned(std::move(bytes)), name);
}

}  // namespace berth::fuse
