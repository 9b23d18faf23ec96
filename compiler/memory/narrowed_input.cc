#include "compiler/memory/narrowed_input.h"

#include "compiler/ir/arguments.h"
#include "compiler/memory/nested_payload.h"
#include "format/narrowing.h"
#include "format/verify_nested.h"

namespace berth::memory {
namespace {

using ir::Method;
using ir::Node;
using ir::TensorType;
using ir::ValueId;

bool has_same_order(const TensorType& a, const TensorType& b) {
  return a.dim_order == b.dim_order || (a.is_contiguous() && b.is_contiguous());
}

/// One element-wise chain of the region's one input, and nothing else.
bool is_one_chain(const Method& method, const ir::Graph& region) {
  if (region.inputs.size() != 1 || region.nodes.size() != 1) return false;
  const Node& node = method.node(region.nodes[0]);
  if (!node.is(ir::OpId::fused_elementwise_out)) return false;
  return region.outputs == std::vector<ir::Argument>{node.results[0]} &&
         std::get<ir::ValueList>(node.args[arg::fused_elementwise_out::inputs]) == region.inputs;
}

/// The same of a nested program that was compiled before.
bool is_one_chain(const ir::Delegate& delegate) {
  const auto nested = nested_payload(delegate);
  if (!nested.has_value()) return false;
  std::vector<uint8_t> ports(format::nested_port_bytes(nested->program), 0);
  return format::verify_nested(nested->program, nested->version, ports, nullptr) == Error::kOk &&
         format::narrows_in_place(nested->program);
}

}  // namespace

ValueId narrowed_input(const ir::Module& module, const Method& method, const Node& call) {
  if (!call.is(ir::OpId::delegate) || !module.delegates.contains(call.delegate) || call.results.size() != 1) return {};
  const ir::ValueList& inputs = std::get<ir::ValueList>(call.args[arg::delegate::inputs]);
  const ir::Delegate& delegate = module.delegates[call.delegate];
  if (delegate.backend != "berth.cpu" || inputs.size() != 1) return {};
  const TensorType& from = method.tensor(inputs[0]);
  const TensorType& to = method.tensor(call.results[0]);
  const bool narrower = from.is_static() && from.shape == to.shape && has_same_order(from, to) &&
                        element_size(to.dtype) < element_size(from.dtype);
  if (!narrower) return {};
  const bool only_that = delegate.payload.has_value()
                             ? is_one_chain(delegate)
                             : call.regions.size() == 1 && is_one_chain(method, call.regions[0]);
  return only_that ? inputs[0] : ValueId();
}

}  // namespace berth::memory
