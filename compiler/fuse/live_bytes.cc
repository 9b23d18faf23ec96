#include "compiler/fuse/live_bytes.h"

#include <algorithm>
#include <map>

#include "compiler/fuse/image_block.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

bool has_dims(const Node& node, const std::vector<int64_t>& dims) {
  return std::get<ir::DimList>(node.args[arg::permute_copy_out::dims]) == ir::dims(dims);
}

// Whether `node` gives what it reads another name: other sizes, or an image's pixels for its planes.
bool is_other_name(const Context& context, const Node& node) {
  if (node.op->is_reshape()) return true;
  if (!node.is(OpId::permute_copy_out)) return false;
  const ir::TensorType& from = context.type(value_argument(node, arg::permute_copy_out::self));
  const ir::TensorType& to = context.type(node.results[0]);
  return (from.dim_order == kPixelOrder && to.is_contiguous() && has_dims(node, {0, 2, 3, 1})) ||
         (to.dim_order == kPixelOrder && from.is_contiguous() && has_dims(node, {0, 3, 1, 2}));
}

}  // namespace

LiveBytes::LiveBytes(const Context& context, const ir::Graph& region) {
  const size_t end = region.nodes.size();
  std::map<ValueId, size_t> life_of;
  const auto begin = [&](ValueId value, size_t first, size_t last) {
    if (context.method().value(value).tensor() == nullptr) return;
    life_of[value] = lives_.size();
    lives_.push_back({value, ir::max_bytes(context.type(value), context.symbols()), first, last});
  };
  for (const ValueId input : region.inputs) begin(input, 0, end);
  for (size_t i = 0; i < end; ++i) {
    const Node& node = context.node(region.nodes[i]);
    const bool name = is_other_name(context, node);
    for (const ValueId result : node.results) {
      const auto base = name ? life_of.find(value_argument(node, 0)) : life_of.end();
      if (base != life_of.end()) {
        life_of[result] = base->second;
      } else if (context.uses(result) > 0) {
        begin(result, i, i);
      }
    }
    ir::for_each_mention(context.method(), node, [&](const ValueId& read) {
      const auto found = life_of.find(read);
      if (found != life_of.end()) lives_[found->second].last = std::max(lives_[found->second].last, i);
    });
  }
  for (const ir::Argument& output : region.outputs) {
    ir::for_each_value(output, [&](const ValueId& value) {
      const auto found = life_of.find(value);
      if (found != life_of.end()) lives_[found->second].last = end;
    });
  }
  // In place: what dies here gives its bytes.
  for (size_t i = 0; i < end; ++i) {
    const Node& node = context.node(region.nodes[i]);
    if (node.op->in_place != ir::InPlaceClass::kElement || node.results.size() != 1) continue;
    const auto own = life_of.find(node.results[0]);
    if (own == life_of.end()) continue;
    for (size_t k = 0; k < node.args.size() && k < 32; ++k) {
      if ((node.op->in_place_arguments >> k & 1u) == 0) continue;
      ir::for_each_value(node.args[k], [&](const ValueId& read) {
        const auto found = life_of.find(read);
        if (found == life_of.end() || found->second == own->second) return;
        const Life& dying = lives_[found->second];
        if (dying.last == i && dying.bytes == lives_[own->second].bytes) lives_[own->second].first = i + 1;
      });
    }
  }
}

int64_t LiveBytes::at(size_t position, const IdVector<ValueId, bool>& without) const {
  return within(position, position, without);
}

int64_t LiveBytes::within(size_t first, size_t last, const IdVector<ValueId, bool>& without) const {
  int64_t bytes = 0;
  for (const Life& life : lives_) {
    if (life.first <= last && life.last >= first && !without[life.value]) bytes += life.bytes;
  }
  return bytes;
}

}  // namespace berth::fuse
