#include "compiler/fuse/order_weights.h"

#include <cstring>
#include <map>

namespace berth::fuse {
namespace {

using ir::Node;
using ir::OpId;
using ir::ValueId;

using Order = std::vector<uint8_t>;

/// Constants in an order by the row-major one: of all methods, so that what they share stays shared.
using Ordered = std::map<std::pair<ir::ConstantId, Order>, ir::ConstantId>;

// The bytes of a row-major tensor, with its dimensions in `order`, outermost first.
std::vector<uint8_t> in_order(const std::vector<uint8_t>& from, const std::vector<int64_t>& sizes, const Order& order,
                              size_t element) {
  const size_t rank = sizes.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t d = rank - 1; d > 0; --d) strides[d - 1] = strides[d] * sizes[d];
  std::vector<uint8_t> to(from.size());
  std::vector<int64_t> index(rank, 0);  // by place in `order`
  for (size_t at = 0; at < to.size(); at += element) {
    int64_t source = 0;
    for (size_t k = 0; k < rank; ++k) source += index[k] * strides[order[k]];
    std::memcpy(&to[at], &from[source * element], element);
    for (size_t k = rank; k-- > 0 && ++index[k] == sizes[order[k]];) index[k] = 0;
  }
  return to;
}

Order order_of_convolution(const Node& node, const ir::TensorType& weight, size_t groups_at, bool transposed) {
  if (weight.rank() != 4) return {};
  const auto groups = std::get<ir::Dim>(node.args[groups_at]);
  const bool alone = weight.shape[0] == groups && weight.shape[1] == ir::Dim(1);
  if (alone) return {1, 2, 3, 0};
  if (!transposed) return {0, 2, 3, 1};
  return groups == ir::Dim(1) ? Order{1, 2, 3, 0} : Order();
}

bool is_quantized(const Node& node) { return node.is(OpId::quantized_linear_out) || node.is(OpId::quantized_conv_out); }

size_t weight_of(const Node& node) {
  constexpr size_t kWeight = arg::fused_conv_out::weight;
  static_assert(kWeight == size_t{arg::fused_linear_out::weight} && kWeight == size_t{arg::convolution_out::weight});
  constexpr size_t kQuantized = arg::quantized_conv_out::weight;
  static_assert(kQuantized == size_t{arg::quantized_linear_out::weight});
  return is_quantized(node) ? kQuantized : kWeight;
}

// Empty where the weight stays as it is.
Order order_of(const Node& node, const ir::TensorType& weight) {
  switch (node.op->id) {
    case OpId::fused_linear_out:
    case OpId::quantized_linear_out: return weight.rank() == 2 ? Order{1, 0} : Order();
    case OpId::fused_conv_out:
      return order_of_convolution(node, weight, arg::fused_conv_out::groups,
                                  std::get<bool>(node.args[arg::fused_conv_out::transposed]));
    case OpId::convolution_out:
      return order_of_convolution(node, weight, arg::convolution_out::groups,
                                  std::get<bool>(node.args[arg::convolution_out::transposed]));
    case OpId::quantized_conv_out: return order_of_convolution(node, weight, arg::quantized_conv_out::groups, false);
    default: return {};
  }
}

class Orderer {
 public:
  Orderer(ir::Module& module, ir::Method& method, Ordered* made) : module_(module), method_(method), made_(*made) {}

  bool visit(ir::NodeId id) {
    const Node& node = method_.node(id);
    const size_t weight = weight_of(node);
    if (weight >= node.args.size()) return false;
    const ir::Constant* constant = ir::constant_of(module_, method_, node.args[weight]);
    if (constant == nullptr || !constant->type.is_contiguous()) return false;
    const Order order = order_of(node, constant->type);
    if (order.empty()) return false;
    const ValueId dense = std::get<ValueId>(node.args[weight]);
    const auto key = std::make_pair(method_.value(dense).constant, order);
    auto made = made_.find(key);
    if (made == made_.end()) made = made_.emplace(key, add(*constant, order)).first;
    method_.node(id).args[weight] = method_.constant_value(module_, made->second);
    return true;
  }

 private:
  ir::ConstantId add(const ir::Constant& constant, const Order& order) {
    ir::TensorType type = constant.type;
    type.dim_order = order;
    ir::Blob blob = constant.blob;
    if (!blob.is_splat()) {
      std::vector<int64_t> sizes;
      for (const ir::Dim size : type.shape) sizes.push_back(size.value);
      blob = ir::Blob::owned(in_order(constant.blob.to_vector(), sizes, order, element_size(type.dtype)));
      constant.blob.release();
    }
    const std::string name = constant.name + "_ordered";
    return module_.add_constant(name, std::move(type), std::move(blob));
  }

  ir::Module& module_;
  ir::Method& method_;
  Ordered& made_;
};

}  // namespace

Expected<passes::Changed> order_weights(ir::Module& module, const Targets& targets, const passes::Options&) {
  Ordered made;
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    bool changed = false;
    if (!target.depth_last) return Expected<bool>(false);
    Orderer orderer(module, method, &made);
    for (ir::NodeId id : region.nodes) changed = orderer.visit(id) || changed;
    return Expected<bool>(changed);
  });
}

}  // namespace berth::fuse
