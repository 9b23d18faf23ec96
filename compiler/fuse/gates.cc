#include "compiler/fuse/gates.h"

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

// Whole registers of any instruction set, and few units beyond the last.
int64_t block_width(int64_t size) {
  int64_t best = size;
  int64_t waste = size < 16 ? 0 : size;
  for (const int64_t width : {64, 32, 16}) {
    const int64_t wasted = (size + width - 1) / width * width - size;
    if (wasted >= waste) continue;
    waste = wasted;
    best = width;
  }
  return best;
}

}  // namespace

bool is_turned_round(const Node& node) {
  return node.is(OpId::flip_out) && std::get<ir::DimList>(node.args[arg::flip_out::dims]) == ir::dims({0});
}

Gate gate_of(const Context& context, ValueId value) {
  Gate gate;
  for (int depth = 0; depth < 8; ++depth) {
    const Node* node = value.valid() ? context.maker(value) : nullptr;
    gate.base = value;
    if (node == nullptr) return gate;
    const ValueId input = value_argument(*node, 0);
    if (!input.valid() || !is_plain(context, input) || !is_plain(context, value)) return gate;
    const auto& shape = context.type(value).shape;
    const auto& from = context.type(input).shape;
    const auto is_last = [&](const Argument& dim) {
      return dim == Argument(Dim(-1)) || dim == Argument(Dim(static_cast<int64_t>(from.size()) - 1));
    };
    if (node->is(OpId::sigmoid_out) || node->is(OpId::tanh_out)) {
      if (gate.function != OpId::kCount) return gate;
      gate.function = node->op->id;
    } else if (node->is(OpId::split_with_sizes_copy_out) && is_last(node->args[arg::split_with_sizes_copy_out::dim])) {
      for (int i = 0; i < context.method().value(value).result; ++i) {
        gate.column += std::get<DimList>(node->args[arg::split_with_sizes_copy_out::split_sizes])[i].value;
      }
    } else if (node->is(OpId::slice_copy_Tensor_out) && is_last(node->args[arg::slice_copy_Tensor_out::dim]) &&
               node->args[arg::slice_copy_Tensor_out::step] == Argument(Dim(1))) {
      const Dim* start = std::get_if<Dim>(&node->args[arg::slice_copy_Tensor_out::start]);
      if (start != nullptr && start->value < 0) return gate;
      gate.column += start == nullptr ? 0 : start->value;
    } else if (!node->op->is_reshape() || shape.empty() || from.empty() || shape.back() != from.back() ||
               gate.function == OpId::kCount) {
      return gate;
    }
    value = input;
  }
  return {};
}

ValueId in_blocks(ir::Builder& build, const std::vector<float>& dense, int64_t size, int64_t gates,
                  const std::string& name) {
  const int64_t width = block_width(size);
  const int64_t blocks = (size + width - 1) / width;
  std::vector<float> turned(blocks * size * gates * width);
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t column = 0; column < gates * size; ++column) {
      const int64_t unit = column % size;
      const int64_t row = (unit / width * size + k) * gates + column / size;
      turned[row * width + unit % width] = dense[k * gates * size + column];
    }
  }
  return float_constant(build, {blocks, size, gates, width}, turned, name);
}

}  // namespace berth::fuse
