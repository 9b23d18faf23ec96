// How torch.export functionalises operators that change their arguments, those on caches and one's own:
//
//     r = bump(x, 2)     →     r, new_x = auto_functionalized(bump, x, 2)                               first version
//                              r, new_x = auto_functionalized_v2(bump, 2, _x_base_index=0, _all_bases=[x])
//
// The results are the operator's own and then the new values of what it writes.
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

const Argument* argument_of(const Node& node, const std::string& name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

constexpr char kBases[] = "_all_bases";

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

/// The call that a functionalised node stands for, and the tensors that it writes, in the order of the node's results.
struct Call {
  Node node;
  std::vector<std::string> written;
  std::vector<size_t> bases;  // of the second version: for each written argument, which of `written` it is
};

// auto_functionalized has written arguments under their own names.
void add_written(const Node& from, const std::vector<std::string>& written, Call* call) {
  for (const std::string& name : written) {
    const Argument* a = argument_of(from, name);
    if (a != nullptr && a->kind == ArgumentKind::kTensor) call->written.push_back(a->names[0]);
  }
}

std::string index_name(std::string_view argument) { return "_" + std::string(argument) + "_base_index"; }

// auto_functionalized_v2 has them as indices into a list of bases, of which each may be a view.
Expected<size_t> base_of(const Node& from, const std::string& name, const std::vector<std::string>& bases) {
  const std::string prefix = "_" + name + "_";
  for (const NamedArgument& input : from.inputs) {
    const bool plain = input.name == index_name(name) || input.name == prefix + "alias";
    if (!starts_with(input.name, prefix) || plain) continue;
    return Failure{Error::kNotSupported, "", "writes a view as its argument '" + name + "'; give it the whole tensor"};
  }
  const Argument* index = argument_of(from, index_name(name));
  const bool known = index != nullptr && index->kind == ArgumentKind::kInt && index->ints[0] >= 0 &&
                     static_cast<uint64_t>(index->ints[0]) < bases.size();
  if (!known) return Failure{Error::kInvalidProgram, "", "does not say what its '" + name + "' is"};
  return index->ints[0];
}

Status add_bases(const Node& from, const std::vector<std::string>& written, Call* call) {
  const Argument* bases = argument_of(from, kBases);
  if (bases->kind != ArgumentKind::kTensors) {
    return Failure{Error::kInvalidProgram, "", "has no list of what it writes"};
  }
  call->written = bases->names;
  for (const std::string& name : written) {
    BERTH_ASSIGN_OR_RETURN(const size_t index, base_of(from, name, bases->names));
    Argument base;
    base.kind = ArgumentKind::kTensor;
    base.names = {bases->names[index]};
    call->node.inputs.push_back({name, base});
    call->bases.push_back(index);
  }
  return Done{};
}

Expected<Call> call_of(const Node& from, const std::string& target, const std::vector<std::string>& written) {
  Call call;
  call.node = from;
  call.node.target = target;
  call.node.inputs.clear();
  call.node.outputs.clear();
  for (const NamedArgument& input : from.inputs) {
    if (input.value.kind != ArgumentKind::kOperator && !starts_with(input.name, "_")) call.node.inputs.push_back(input);
  }
  if (argument_of(from, kBases) == nullptr) {
    add_written(from, written, &call);
  } else {
    BERTH_TRY(add_bases(from, written, &call));
  }
  return call;
}

// One's own gives its results and then the new values of what it writes, in the order of its schema. The first version
// does too; the second has the new values in the order of the bases.
Status add_results(const Node& from, Call* call) {
  const size_t bases = call->written.size();
  if (from.outputs.size() < bases) {
    return Failure{Error::kInvalidProgram, "", "has fewer results than it writes tensors"};
  }
  const size_t own = from.outputs.size() - bases;
  for (size_t i = 0; i < own; ++i) {
    if (from.outputs[i].kind != ArgumentKind::kNone) call->node.outputs.push_back(from.outputs[i]);
  }
  std::vector<bool> given(bases, false);
  for (const size_t base : call->bases) {
    if (given[base]) {
      return Failure{Error::kNotSupported, "",
                     "writes one tensor as two of its arguments; give it a copy (clone) as one of them"};
    }
    given[base] = true;
    call->node.outputs.push_back(from.outputs[own + base]);
  }
  if (call->bases.size() == bases) return Done{};
  return Failure{Error::kNotSupported, "", "writes tensors that the schema of the operator does not have one by one"};
}

void import_own(NodeContext& n, const std::string& target, const ir::Operator& op) {
  std::vector<std::string> written;
  for (const ir::Parameter& parameter : op.parameters) {
    if (argument_of(n.node(), index_name(parameter.name)) != nullptr) written.emplace_back(parameter.name);
  }
  Expected<Call> call = call_of(n.node(), target, written);
  if (!call.ok()) return n.fail(call.error().code, call.error().message);
  if (const Status added = add_results(n.node(), &*call); !added.ok()) {
    return n.fail(added.error().code, added.error().message);
  }
  NodeContext within(n.state(), n.builder(), n.scope(), n.graph(), call->node);
  import_generic(within, op);
  if (!within.ok()) n.fail_with(within.failure());
}

}  // namespace

const std::string* functionalized_target(const Node& node) {
  if (!starts_with(node.target, "torch.ops.higher_order.auto_functionalized")) return nullptr;
  for (const NamedArgument& input : node.inputs) {
    if (input.value.kind == ArgumentKind::kOperator) return &input.value.text;
  }
  return nullptr;
}

void import_functionalized(NodeContext& n) {
  const std::string* target = functionalized_target(n.node());
  if (target == nullptr) return n.invalid("names no operator");
  const Importer importer = find_importer(*target, n.state().module.operators.get());
  if (importer.row != nullptr && importer.row->own != nullptr) return import_own(n, *target, *importer.row);
  const Span<const char* const> written = written_arguments(*target);
  if (importer.import == nullptr || written.empty()) {
    return n.unsupported("Berth does not have the operator " + *target);
  }
  Expected<Call> call = call_of(n.node(), *target, {written.begin(), written.end()});
  if (!call.ok()) return n.fail(call.error().code, call.error().message);
  if (call->written.size() > n.output_count()) return n.invalid("has fewer results than it writes tensors");
  const size_t own = n.output_count() - call->written.size();
  for (size_t i = 0; i < own; ++i) {
    Argument result;
    result.kind = ArgumentKind::kTensor;
    result.names = {n.output_name(i)};
    call->node.outputs.push_back(std::move(result));
  }
  // What it writes keeps its value: the new one is a result.
  std::vector<Operand> before;
  for (const std::string& name : call->written) before.push_back(n.scope()[name]);
  NodeContext within(n.state(), n.builder(), n.scope(), n.graph(), call->node);
  importer.import(within);
  if (!within.ok()) return n.fail_with(within.failure());
  std::vector<IrArgument> after;
  for (size_t i = 0; i < before.size(); ++i) {
    Operand& operand = n.scope()[call->written[i]];
    after.push_back(operand.value);
    operand = before[i];
  }
  for (size_t i = 0; i < after.size(); ++i) n.output(own + i, after[i]);
}

}  // namespace berth::pt2
