#include "compiler/fuse/fuse_elementwise.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "compiler/fuse/read_chain.h"
#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using elementwise::Op;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Whether `node` gives a tensor of 16 bits for which a chain is wanted.
bool rounds(const Context& context, const Node& node, ChainUse use) {
  if (!use.halves || node.results.size() != 1) return false;
  const ir::TensorType* type = context.method().value(node.results[0]).tensor();
  return type != nullptr && has_16_bits(type->dtype);
}

Expected<passes::Action> fuse_chain(Context& context, ir::Builder& build, NodeId id, ChainUse use,
                                    std::set<ValueId>* read_often) {
  const Node& node = context.node(id);
  ElementChain chain;
  ChainOperand last;
  const bool rounded = rounds(context, node, use);
  if (!read_chain(context, node, use, *read_often, rounded ? 1 : 0, &chain, &last)) return passes::Action::keep();
  // Alone, these have no fast kernel but this one.
  const bool alone = quantises(node) || dequantises(node) || (rounded && !node.is(OpId::fused_elementwise_out));
  if (chain.nodes < 2 && !alone) return passes::Action::keep();
  // Bytes that were made numbers again, and no more: the next step takes them.
  const bool whole = last.kind == ChainOperand::Kind::kStep && last.index + 1 == chain.steps.size();
  if (!whole) return passes::Action::keep();
  const ir::TensorType& type = context.type(node.results[0]);
  if (rounded) chain.step(to_half(type.dtype), last);
  // What was rounded on the way is f32 again: the last step says of which type the result is.
  const bool widened = type.dtype == DType::kF32 && has_16_bits(elementwise::result_type(chain.steps.back().op));
  if (widened) chain.step(Op::kMul, last, chain.constant(1));
  if (!chain.fits()) return passes::Action::keep();
  if (elementwise::result_type(chain.steps.back().op) != type.dtype) return passes::Action::keep();
  context.remark(node, Reason::kFused, "berth::elementwise");
  read_often->insert(chain.read_often.begin(), chain.read_often.end());
  const std::string source = node.source;
  const std::string name = context.method().value(node.results[0]).name;
  BERTH_ASSIGN_OR_RETURN(const ValueId made,
                         build.one(OpId::fused_elementwise_out,
                                   {chain.inputs, chain.code(), ir::FloatList(chain.constants)}, source, name));
  return context.replace(id, made);
}

ChainUse use_of(const targets::Target& target) {
  if (takes_bytes(target)) return {ByteUse::kWanted, widens_halves(target)};
  return {target.fuses && target.backend == "berth.vulkan" ? ByteUse::kRead : ByteUse::kNone, false};
}

constexpr ChainUse kUses[] = {
    {ByteUse::kWanted, true}, {ByteUse::kWanted, false}, {ByteUse::kRead, false}, {ByteUse::kNone, false}};

}  // namespace

Expected<passes::Changed> fuse_elementwise(ir::Module& module, const Targets& targets, const passes::Options& options) {
  passes::Changed changed = passes::Changed::kNo;
  for (const ChainUse use : kUses) {
    Targets own;
    std::copy_if(targets.begin(), targets.end(), std::back_inserter(own),
                 [&](const targets::Target& target) { return use_of(target) == use; });
    const auto visits = [use] {
      return Visit([use, read_often = std::set<ValueId>()](Context& context, ir::Builder& build, NodeId id) mutable {
        return fuse_chain(context, build, id, use, &read_often);
      });
    };
    BERTH_ASSIGN_OR_RETURN(const passes::Changed more, rewrite_regions(module, own, options, visits));
    changed = changed | more;
  }
  return changed;
}

}  // namespace berth::fuse
