#include "compiler/fuse/channels_last.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/fuse/image_places.h"
#include "compiler/fuse/replacements.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

using Order = std::vector<uint8_t>;

const Order kLast = {0, 2, 3, 1};

bool is_last(const ir::TensorType& type) { return type.dim_order == kLast; }

// Convolutions want the order, the others take it up from what they read.
bool wants_last(const Node& node) {
  return node.is(OpId::fused_conv_out) || node.is(OpId::quantized_conv_out) || node.is(OpId::convolution_out);
}

class RegionLayout {
 public:
  RegionLayout(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : module_(module),
        method_(method),
        graph_(graph),
        build_(module, method, graph),
        context_(module, method, options),
        why_(passes::wants_why(options, "fusion")),
        options_(options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    find_readers(old);
    // Who calls the region has its results in the order that they have now.
    std::vector<Order> orders;
    for (const Argument& output : graph_.outputs) {
      const ValueId* value = std::get_if<ValueId>(&output);
      orders.push_back(value != nullptr && is_image(*value) ? order_of(*value) : Order());
    }
    for (NodeId id : old) BERTH_TRY(visit(id));
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      ValueId* value = std::get_if<ValueId>(&graph_.outputs[i]);
      if (value == nullptr) continue;
      *value = replaced_.now(*value);
      if (is_image(*value)) {
        BERTH_ASSIGN_OR_RETURN(*value, in_order(*value, orders[i], nullptr));
      }
    }
    return changed_;
  }

 private:
  bool is_image(ValueId value) const {
    const ir::TensorType* type = method_.value(value).tensor();
    return type != nullptr && type->rank() == 4;
  }
  bool has_last(ValueId value) const { return is_image(value) && is_last(method_.tensor(value)); }
  // Of an image; empty is row-major.
  Order order_of(ValueId value) const {
    const ir::TensorType& type = method_.tensor(value);
    return has_last(value) ? kLast : type.is_contiguous() ? Order() : type.dim_order;
  }

  void find_readers(const std::vector<NodeId>& nodes) {
    reader_.assign(method_.values.size(), NodeId{});
    for (NodeId id : nodes) {
      for (const Argument& argument : method_.node(id).args) {
        ir::for_each_value(argument, [&](const ValueId& value) { reader_[value] = id; });
      }
    }
  }

  // The one node that reads `value`; invalid when there are none or several.
  NodeId only_reader(ValueId value) const { return context_.uses(value) == 1 ? reader_[value] : NodeId{}; }

  Status visit(NodeId id) {
    replaced_.apply(&method_.node(id).args);
    if (std::find(gone_.begin(), gone_.end(), id) != gone_.end()) return Done{};
    const Node& node = method_.node(id);
    // A permutation names dimensions, so that its result is in the order that it asks for.
    const bool names_dims = node.is(OpId::permute_copy_out);
    const bool follows_input = node.op->layout_agnostic && !names_dims && reads_last(node);
    if (cuts_images(node)) return cut(id);
    if (wants_last(node) && is_image(node.results[0])) return arrange(id, kLast);
    if (follows_input) return arrange(id, kLast);
    if (same_bytes(id)) return Done{};
    BERTH_ASSIGN_OR_RETURN(const bool done, views(id));
    return done ? Status(Done{}) : arrange(id, {});
  }

  // A permutation that only says by another name where the channels are: they are innermost before and after it.
  bool same_bytes(NodeId id) {
    const Node& node = method_.node(id);
    if (!node.is(OpId::permute_copy_out)) return false;
    const ValueId input = std::get<ValueId>(node.args[arg::permute_copy_out::self]);
    const bool to_rows = is_permutation(node, {0, 2, 3, 1}) && has_last(input);
    const bool to_image = is_permutation(node, {0, 3, 1, 2}) && method_.tensor(input).is_contiguous();
    if (!to_rows && !to_image) return false;
    if (to_image) {
      method_.value(node.results[0]).tensor()->dim_order = kLast;
      changed_ = true;
    }
    graph_.nodes.push_back(id);
    return true;
  }

  bool reads_last(const Node& node) const {
    bool found = false;
    for (const Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) { found = found || has_last(value); });
    }
    return found;
  }

  // Whether argument `k` of a convolution is its weight, which is not an image.
  static bool is_weight(const Node& node, size_t k) {
    return wants_last(node) && k == (node.is(OpId::quantized_conv_out) ? size_t{arg::quantized_conv_out::weight} : 1);
  }

  // Brings the images that the node reads, and those it gives, in `order`; nodes that take none are left alone.
  Status arrange(NodeId id, const Order& order) {
    std::vector<Argument> args = method_.node(id).args;
    std::optional<Failure> failed;
    for (size_t k = 0; k < args.size(); ++k) {
      if (is_weight(method_.node(id), k)) continue;
      ir::for_each_value(args[k], [&](ValueId& value) {
        if (failed || !is_image(value)) return;
        auto moved = in_order(value, order, &method_.node(id));
        if (moved.ok()) {
          value = *moved;
        } else {
          failed = moved.error();
        }
      });
    }
    if (failed) return *failed;
    method_.node(id).args = std::move(args);
    for (ValueId result : method_.node(id).results) {
      if (!order.empty() && is_image(result) && method_.tensor(result).dim_order != order) {
        method_.value(result).tensor()->dim_order = order;
        changed_ = true;
      }
    }
    graph_.nodes.push_back(id);
    return Done{};
  }

  // `value` in `order`; empty is row-major. A copy is made once a value. `reader` is for the log alone.
  Expected<ValueId> in_order(ValueId value, const Order& order, const Node* reader) {
    const ir::TensorType& type = method_.tensor(value);
    const bool row_major = order.empty();
    if (row_major ? type.is_contiguous() : type.dim_order == order) return value;
    const auto key = std::make_pair(value, order);
    const auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    if (method_.value(value).kind == ir::ValueKind::kConstant && order == kLast) {
      return copies_[key] = constant_last(value);
    }
    DimList wanted;
    for (int d = 0; d < 4; ++d) wanted.push_back(Dim(row_major ? d : order[d]));
    if (why_ && reader != nullptr) {
      passes::remark(options_, "fusion", method_, *reader,
                     "order: %" + method_.value(value).name +
                         (row_major ? " is copied to row-major order" : " is copied to channels-last order"));
    }
    const std::string name = method_.value(value).name;
    BERTH_ASSIGN_OR_RETURN(const ValueId copy, build_.one(OpId::clone_dim_order_out, {value, false, wanted}, ""));
    copies_[key] = copy;
    changed_ = true;
    return copy;
  }

  // A constant with its channels innermost. REQUIRES: it is row-major, of four dimensions.
  ValueId constant_last(ValueId value) {
    const ir::Constant& constant = module_.constants[method_.value(value).constant];
    ir::TensorType type = constant.type;
    type.dim_order = kLast;
    const std::string name = constant.name + "_last";
    ir::Blob blob = constant.blob;
    const int64_t channels = type.shape[1].value;
    const int64_t places = type.shape[2].value * type.shape[3].value;
    if (!blob.is_splat() && channels != 1 && places != 1) {
      const std::vector<uint8_t> from = blob.to_vector();
      std::vector<uint8_t> to(from.size());
      const size_t element = element_size(type.dtype);
      for (int64_t n = 0; n < type.shape[0].value; ++n) {
        for (int64_t i = 0; i < channels * places; ++i) {
          const int64_t source = (n * channels + i % channels) * places + i / channels;
          std::memcpy(&to[(n * channels * places + i) * element], &from[source * element], element);
        }
      }
      blob = ir::Blob::owned(std::move(to));
    }
    changed_ = true;
    return method_.constant_value(module_, module_.add_constant(name, std::move(type), std::move(blob)));
  }

  bool is_permutation(const Node& node, const std::vector<int64_t>& dims) const {
    return node.is(OpId::permute_copy_out) && passes::permutation(method_, node) == dims;
  }

  // The chains of views of the header. Whether the node began one.
  Expected<bool> views(NodeId id) {
    const Node& node = method_.node(id);
    if (is_permutation(node, {0, 2, 1})) return token_image(id);
    if (node.is(OpId::constant_pad_nd_out)) return padding(id);
    if (!node.is(OpId::view_copy_out)) return false;
    const ValueId image = std::get<ValueId>(node.args[arg::view_copy_out::self]);
    if (!has_last(image)) return false;
    BERTH_ASSIGN_OR_RETURN(const bool done, tokens_or_groups(id, image));
    return done ? true : moved_image(id, image);
  }

  Expected<bool> tokens_or_groups(NodeId id, ValueId image) {
    const Node& node = method_.node(id);
    const NodeId second = only_reader(node.results[0]);
    if (!second.valid()) return false;
    const std::vector<Dim> sizes = method_.tensor(image).shape;
    const std::vector<Dim> cut = method_.tensor(node.results[0]).shape;
    const std::vector<Dim> tokens = {sizes[0], sizes[1], module_.symbols.mul(sizes[2], sizes[3])};
    if (cut == tokens && is_permutation(method_.node(second), {0, 2, 1})) return token_rows(image, id, second);
    const bool groups = cut.size() == 5 && cut[0] == sizes[0] && cut[3] == sizes[2] && cut[4] == sizes[3];
    if (!groups || !is_permutation(method_.node(second), {0, 2, 1, 3, 4})) return false;
    const NodeId third = only_reader(method_.node(second).results[0]);
    if (!third.valid() || !method_.node(third).is(OpId::view_copy_out)) return false;
    if (method_.tensor(method_.node(third).results[0]).shape != sizes) return false;
    return shuffle(image, cut, {id, second, third});
  }

  // Views and permutations from one image to another whose bytes are the same.
  Expected<bool> moved_image(NodeId first, ValueId image) {
    constexpr int kMostSteps = 8;
    const std::vector<Dim> sizes = method_.tensor(image).shape;
    ir::Symbols& symbols = module_.symbols;
    Strided moved = whole_image(symbols, image, sizes);
    std::vector<NodeId> nodes;
    for (NodeId at = first; at.valid() && static_cast<int>(nodes.size()) < kMostSteps;) {
      const Node& node = method_.node(at);
      if (!node.is(OpId::view_copy_out) && !node.is(OpId::permute_copy_out)) return false;
      const ValueId result = node.results[0];
      const bool known = node.is(OpId::view_copy_out) ? regroup(symbols, method_.tensor(result).shape, &moved)
                                                      : permute(passes::permutation(method_, node), &moved);
      if (!known) return false;
      nodes.push_back(at);
      if (is_image(result) && reaches_convolution(result) && keeps_places(symbols, sizes, moved)) {
        const std::string source = node.source;
        const std::vector<Dim> to = method_.tensor(result).shape;
        BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of(image, source));
        const DimList shape = {to[0], to[2], to[3], to[1]};
        BERTH_ASSIGN_OR_RETURN(const ValueId places, build_.one(OpId::view_copy_out, {rows, shape}, source));
        BERTH_ASSIGN_OR_RETURN(const ValueId made, image_of(places, source));
        return finish(nodes, result, made);
      }
      at = only_reader(result);
    }
    return false;
  }

  // Whether convolutions are among what reads `image`.
  bool reaches_convolution(ValueId image) const {
    if (context_.uses(image) == 1) return comes_to_convolution(image);
    return reader_[image].valid() && wants_last(method_.node(reader_[image]));
  }

  // The image's bytes as rows of channels.
  Expected<ValueId> rows_of(ValueId image, const std::string& source) {
    return build_.one(OpId::permute_copy_out, {image, ir::dims({0, 2, 3, 1})}, source);
  }

  // Rows of channels as an image.
  Expected<ValueId> image_of(ValueId rows, const std::string& source) {
    BERTH_ASSIGN_OR_RETURN(const ValueId image,
                           build_.one(OpId::permute_copy_out, {rows, ir::dims({0, 3, 1, 2})}, source));
    method_.value(image).tensor()->dim_order = kLast;
    return image;
  }

  Expected<bool> token_rows(ValueId image, NodeId first, NodeId second) {
    const ValueId result = method_.node(second).results[0];
    const std::string source = method_.node(first).source;
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of(image, source));
    const DimList shape = method_.tensor(result).shape;
    BERTH_ASSIGN_OR_RETURN(const ValueId made, build_.one(OpId::view_copy_out, {rows, shape}, source));
    return finish({first, second}, result, made);
  }

  // Whether the node takes some images of several, one after the other.
  bool cuts_images(const Node& node) const {
    if (!node.is(OpId::slice_copy_Tensor_out)) return false;
    const ValueId images = std::get<ValueId>(node.args[arg::slice_copy_Tensor_out::self]);
    return has_last(images) && node.args[arg::slice_copy_Tensor_out::dim] == Argument(Dim(0)) &&
           node.args[arg::slice_copy_Tensor_out::step] == Argument(Dim(1));
  }

  // As rows of channels, whose bytes lie side by side: memory planning has no other order.
  Status cut(NodeId id) {
    std::vector<Argument> args = method_.node(id).args;
    const ValueId images = std::get<ValueId>(args[arg::slice_copy_Tensor_out::self]);
    const ValueId result = method_.node(id).results[0];
    const std::string source = method_.node(id).source;
    BERTH_ASSIGN_OR_RETURN(args[arg::slice_copy_Tensor_out::self], rows_of(images, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, build_.one(OpId::slice_copy_Tensor_out, std::move(args), source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, image_of(rows, source));
    finish({id}, result, made);
    return Done{};
  }

  // An image is padded as rows of channels. Pairs begin with the last dimension's.
  Expected<bool> padding(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId image = std::get<ValueId>(node.args[arg::constant_pad_nd_out::self]);
    const auto* given = std::get_if<DimList>(&node.args[arg::constant_pad_nd_out::pad]);
    if (!has_last(image) || given == nullptr) return false;
    DimList pad = *given;
    pad.resize(8, Dim(0));
    const Argument value = node.args[arg::constant_pad_nd_out::value];
    const ValueId result = node.results[0];
    const std::string source = node.source;
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of(image, source));
    const DimList of_rows = {pad[4], pad[5], pad[0], pad[1], pad[2], pad[3], pad[6], pad[7]};
    BERTH_ASSIGN_OR_RETURN(const ValueId padded, build_.one(OpId::constant_pad_nd_out, {rows, of_rows, value}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, image_of(padded, source));
    return finish({id}, result, made);
  }

  // Whether a convolution reads `image`, or alone what is made of it in any order.
  bool comes_to_convolution(ValueId image) const {
    constexpr int kMostSteps = 16;
    for (int step = 0; step < kMostSteps && is_image(image); ++step) {
      const NodeId reader = only_reader(image);
      if (!reader.valid()) return false;
      const Node& node = method_.node(reader);
      if (wants_last(node)) return true;
      if (!node.op->layout_agnostic || node.is(OpId::permute_copy_out) || node.results.size() != 1) return false;
      image = node.results[0];
    }
    return false;
  }

  // Rows of channels as an image's bytes. Not where what reads the image wants it row-major.
  Expected<bool> token_image(NodeId first) {
    const Node& node = method_.node(first);
    const ValueId rows = std::get<ValueId>(node.args[arg::permute_copy_out::self]);
    const NodeId second = only_reader(node.results[0]);
    if (!second.valid() || !method_.node(second).is(OpId::view_copy_out)) return false;
    const ValueId result = method_.node(second).results[0];
    if (!is_image(result) || !comes_to_convolution(result)) return false;
    if (!method_.tensor(rows).is_contiguous()) return false;
    const std::vector<Dim> tokens = method_.tensor(rows).shape;
    const std::vector<Dim> sizes = method_.tensor(result).shape;
    if (sizes[0] != tokens[0] || sizes[1] != tokens[2]) return false;
    const std::string source = node.source;
    const DimList shape = {sizes[0], sizes[2], sizes[3], sizes[1]};
    BERTH_ASSIGN_OR_RETURN(const ValueId places, build_.one(OpId::view_copy_out, {rows, shape}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, image_of(places, source));
    return finish({first, second}, result, made);
  }

  Expected<bool> shuffle(ValueId image, const std::vector<Dim>& cut, const std::vector<NodeId>& nodes) {
    const std::vector<Dim> sizes = method_.tensor(image).shape;
    const ValueId result = method_.node(nodes[2]).results[0];
    const std::string source = method_.node(nodes[1]).source;
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of(image, source));
    const DimList grouped = {sizes[0], sizes[2], sizes[3], cut[1], cut[2]};
    BERTH_ASSIGN_OR_RETURN(const ValueId groups, build_.one(OpId::view_copy_out, {rows, grouped}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId turned,
                           build_.one(OpId::permute_copy_out, {groups, ir::dims({0, 1, 2, 4, 3})}, source));
    const DimList whole = {sizes[0], sizes[2], sizes[3], sizes[1]};
    BERTH_ASSIGN_OR_RETURN(const ValueId joined, build_.one(OpId::view_copy_out, {turned, whole}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, image_of(joined, source));
    return finish(nodes, result, made);
  }

  bool finish(const std::vector<NodeId>& nodes, ValueId result, ValueId made) {
    gone_.insert(gone_.end(), nodes.begin(), nodes.end());
    replaced_.add(result, made);
    changed_ = true;
    return true;
  }

  ir::Module& module_;
  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  const bool why_;
  const passes::Options& options_;
  IdVector<ValueId, NodeId> reader_;                     // of each value: one of those that read it
  std::vector<NodeId> gone_;                             // done in another way
  Replacements replaced_;                                // what gives the same instead
  std::map<std::pair<ValueId, Order>, ValueId> copies_;  // of a value in an order
  bool changed_ = false;
};

}  // namespace

Expected<passes::Changed> channels_last(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, Graph& region) {
    return target.channels_last ? RegionLayout(module, method, options, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
