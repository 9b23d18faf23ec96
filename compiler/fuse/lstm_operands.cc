// The operands of LSTM steps: lstm_steps.h.
#include "compiler/fuse/lstm_steps.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

ValueId LstmOperands::columns_in_order(ValueId constant, const GateOrder& order) {
  if (order == kOwnOrder) return constant;
  const auto key = std::make_pair(constant, order);
  const auto memo = turned_.find(key);
  if (memo != turned_.end()) return memo->second;
  const ir::Constant& from = *context_.constant(Argument(constant));
  const std::vector<float> elements = floats_of(from);
  std::vector<float> turned(elements.size());
  const size_t row = from.type.shape.back().value;
  const size_t size = row / 4;
  for (size_t i = 0; i < turned.size(); ++i) {
    const size_t gate = i % row / size;
    turned[i] = elements[i / row * row + order[gate] * size + i % size];
  }
  std::vector<int64_t> sizes;
  for (Dim dim : from.type.shape) sizes.push_back(dim.value);
  return turned_[key] = float_constant(build_, sizes, turned, from.name + "_ifgo");
}

Expected<ValueId> LstmOperands::gates_in_order(const LstmStep& step) {
  if (step.order == kOwnOrder && !step.bias.valid()) return step.input;
  // Back to the product that serves all steps.
  std::vector<NodeId> chain;
  ValueId value = step.input;
  for (;;) {
    const Node* node = context_.maker(value);
    if (node == nullptr || chain.size() > 8) return ValueId{};
    if (node->is(OpId::addmm_out)) break;
    const bool moves = node->op->is_reshape() || is_turned_round(*node) ||
                       (node->op->view == ir::ViewKind::kPart && !node->op->output_is_list);
    const ValueId input = value_argument(*node, 0);
    if (!moves || !is_row_major(context_, value) || !is_row_major(context_, input)) return ValueId{};
    if (context_.type(value).shape.empty() || context_.type(value).shape.back() != context_.type(input).shape.back()) {
      return ValueId{};
    }
    chain.push_back(context_.method().value(value).node);
    value = input;
  }
  BERTH_ASSIGN_OR_RETURN(ValueId moved, shared_product(value, step));
  for (size_t i = chain.size(); i-- > 0 && moved.valid();) {
    const ValueId old = context_.node(chain[i]).results[0];
    const auto key = std::make_pair(moved, old);
    const auto memo = moved_.find(key);
    if (memo != moved_.end()) {
      moved = memo->second;
      continue;
    }
    std::vector<Argument> args = context_.node(chain[i]).args;
    args.front() = moved;
    const OpId op = context_.node(chain[i]).op->id;
    const std::string source = context_.node(chain[i]).source;
    BERTH_ASSIGN_OR_RETURN(moved, build_.one(op, std::move(args), source));
    moved_[key] = moved;
  }
  return moved;
}

Expected<ValueId> LstmOperands::shared_product(ValueId value, const LstmStep& step) {
  const auto key = std::make_tuple(value, step.bias, step.order);
  const auto memo = products_.find(key);
  if (memo != products_.end()) return memo->second;
  const Node& node = *context_.maker(value);
  const ir::Constant* bias = context_.constant(node.args[arg::addmm_out::self]);
  const ir::Constant* weight = context_.constant(node.args[arg::addmm_out::mat2]);
  if (bias == nullptr || weight == nullptr || bias->type.rank() != 1 || weight->type.dtype != DType::kF32 ||
      !weight->type.is_contiguous() || context_.number(node.args[arg::addmm_out::beta]) != 1.0 ||
      context_.number(node.args[arg::addmm_out::alpha]) != 1.0) {
    return ValueId{};
  }
  std::vector<float> sum = floats_of(*bias);
  if (step.bias.valid()) {
    const std::vector<float> more = floats_of(*context_.constant(Argument(step.bias)));
    if (more.size() != sum.size()) return ValueId{};
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  const ValueId input = value_argument(node, 1);
  const ValueId old_weight = value_argument(node, 2);
  const std::string source = node.source;
  const ValueId added = float_constant(build_, {static_cast<int64_t>(sum.size())}, sum, bias->name + "_sum");
  BERTH_ASSIGN_OR_RETURN(
      const ValueId made,
      build_.one(OpId::addmm_out,
                 {columns_in_order(added, step.order), input, columns_in_order(old_weight, step.order)}, source));
  products_[key] = made;
  return made;
}

ValueId LstmOperands::in_blocks(ValueId weight) {
  const auto memo = blocks_.find(weight);
  if (memo != blocks_.end()) return memo->second;
  const ir::Constant& from = *context_.constant(Argument(weight));
  return blocks_[weight] = fuse::in_blocks(build_, floats_of(from), from.type.shape[0].value, 4, from.name + "_blocks");
}

}  // namespace berth::fuse
