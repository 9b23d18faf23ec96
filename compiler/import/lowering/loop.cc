#include "compiler/import/lowering/loop.h"

namespace berth::lowering {
namespace {

ir::TensorType type_of(const Lowering& n, ValueId v) {
  ir::TensorType type;
  type.dtype = n.dtype(v);
  type.shape = n.shape(v);
  return type;
}

}  // namespace

LoopResults loop_over(Lowering& n, Dim length, const ValueList& sliced, const ValueList& states, const StepBody& body) {
  if (!n.ok()) return {};
  std::vector<ir::Graph> regions(1);
  std::vector<ir::Type> types;
  ValueList inside;
  for (ValueId state : states) {
    types.emplace_back(type_of(n, state));
    inside.push_back(n.region_input(types.back()));
  }
  ValueList slices;
  for (ValueId whole : sliced) {
    ir::TensorType slice = type_of(n, whole);
    if (slice.shape.empty())
      return n.invalid("expected something to loop over, found " + n.type_text(whole)), LoopResults();
    slice.shape.erase(slice.shape.begin());
    slices.push_back(n.region_input(std::move(slice)));
  }
  regions[0].inputs = inside;
  regions[0].inputs.insert(regions[0].inputs.end(), slices.begin(), slices.end());
  ValueId shown;
  n.inside(regions[0], [&] { shown = body(slices, inside); });
  if (!n.ok()) return {};
  regions[0].outputs.assign(inside.begin(), inside.end());
  regions[0].outputs.emplace_back(shown);
  ir::TensorType stack = type_of(n, shown);
  stack.shape.insert(stack.shape.begin(), length);
  types.emplace_back(std::move(stack));
  std::vector<ValueId> results = n.control(OpId::scan, {length, states, sliced}, std::move(regions), std::move(types));
  if (!n.ok()) return {};
  LoopResults all;
  all.stacked = results.back();
  results.pop_back();
  all.states = std::move(results);
  return all;
}

}  // namespace berth::lowering
