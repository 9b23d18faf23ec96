#include "compiler/fuse/image_block.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

namespace conv = arg::quantized_conv_out;

constexpr int64_t kRowAlignment = 16;
// Each window more makes a strip read more rows that its neighbours read too.
constexpr int kMostRowWindows = 2;

int64_t list_number(const Argument& list, size_t i) {
  const auto& numbers = std::get<DimList>(list);
  return numbers[numbers.size() == 1 ? 0 : i].value;
}

bool is_byte_conv(const Node& node) { return node.is(OpId::quantized_conv_out); }

RowWindow row_window_of(const Context& context, const Node& node) {
  if (!is_byte_conv(node)) return {};
  const int64_t taps = context.type(value_argument(node, conv::weight)).shape[2].value;
  return {(taps - 1) * list_number(node.args[conv::dilation], 0) + 1, list_number(node.args[conv::stride], 0),
          list_number(node.args[conv::padding], 0)};
}

bool stretches_over_rows(const ir::TensorType& type, const ir::TensorType& over) {
  return type.rank() <= over.rank() && (type.rank() < 2 || type.shape[type.rank() - 2] == Dim(1));
}

// The images that `node` reads row by row; nothing where it is not an operator of this kind.
std::optional<std::vector<ValueId>> images_read_by(const Context& context, const Node& node) {
  std::vector<ValueId> images;
  const ir::TensorType& out = context.type(node.results[0]);
  if (is_byte_conv(node)) {
    const ir::Constant* weight = context.constant(node.args[conv::weight]);
    const bool dense = weight != nullptr && weight->type.rank() == 4 && weight->type.is_static();
    // A scale for each pixel would be cut, too.
    if (!dense || !ir::is_none(node.args[conv::input_scale])) return std::nullopt;
    images.push_back(value_argument(node, conv::input));
    if (const ValueId residual = value_argument(node, conv::residual); residual.valid()) images.push_back(residual);
  } else if (node.is(OpId::fused_elementwise_out)) {
    for (const ValueId value : std::get<ir::ValueList>(node.args[arg::fused_elementwise_out::inputs])) {
      const ir::TensorType& type = context.type(value);
      if (type.shape == out.shape) {
        images.push_back(value);
      } else if (!stretches_over_rows(type, out)) {
        return std::nullopt;
      }
    }
  } else if (node.is(OpId::cat_out)) {
    const Dim* dim = std::get_if<Dim>(&node.args[node.op->dim_argument]);
    if (dim == nullptr || (*dim != Dim(1) && *dim != Dim(-3))) return std::nullopt;
    images = std::get<ir::ValueList>(node.args[arg::concat::tensors]);
  } else {
    return std::nullopt;
  }
  const auto cuts = [&](ValueId value) {
    return context.constant(Argument(value)) == nullptr && is_image_of_rows(context.type(value));
  };
  return std::all_of(images.begin(), images.end(), cuts) ? std::optional(images) : std::nullopt;
}

bool may_be_cut_in_rows(const Context& context, const Node& node) {
  return node.results.size() == 1 && context.method().value(node.results[0]).tensor() != nullptr &&
         is_image_of_rows(context.type(node.results[0])) && images_read_by(context, node).has_value();
}

}  // namespace

RowReading reading_for(const RowWindow& window, ImageRows wanted, int64_t input_rows) {
  const int64_t first = wanted.begin * window.stride - window.padding;
  const int64_t end = (wanted.end - 1) * window.stride - window.padding + window.size;
  if (first >= 0 && end <= input_rows) return {{first, end}, wanted, false};
  RowReading reading;
  reading.padded = true;
  // From a row at which the windows of the whole image begin, but for the padding; at least one, where windows see
  // nothing but that.
  reading.read.begin = std::clamp<int64_t>(first, 0, input_rows - 1) / window.stride * window.stride;
  reading.read.end = std::clamp<int64_t>(end, 1, input_rows);
  reading.made.begin = reading.read.begin / window.stride;
  reading.made.end = reading.made.begin + (reading.read.count() + 2 * window.padding - window.size) / window.stride + 1;
  return reading;
}

bool is_image_of_rows(const ir::TensorType& type) {
  return type.rank() == 4 && type.dim_order == kPixelOrder && type.is_static() && type.shape[0] == Dim(1) &&
         rows_of_image(type) > 1 && row_bytes_of_image(type) > 0 && row_bytes_of_image(type) % kRowAlignment == 0;
}

int64_t rows_of_image(const ir::TensorType& type) { return type.shape[2].value; }

int64_t row_bytes_of_image(const ir::TensorType& type) {
  return type.shape[1].value * type.shape[3].value * static_cast<int64_t>(element_size(type.dtype));
}

Expected<ValueId> image_of_lines(ir::Builder& build, ValueId lines, const std::string& source) {
  BERTH_ASSIGN_OR_RETURN(const ValueId image,
                         build.one(OpId::permute_copy_out, {lines, ir::dims({0, 3, 1, 2})}, source));
  build.method().value(image).tensor()->dim_order = kPixelOrder;
  return image;
}

Expected<ValueId> lines_of_image(ir::Builder& build, ValueId image, const std::string& source) {
  return build.one(OpId::permute_copy_out, {image, ir::dims({0, 2, 3, 1})}, source);
}

ImageBlock::ImageBlock(const Context& context, NodeId last, int64_t least, const IdVector<NodeId, bool>& taken)
    : context_(context), last_(last) {
  if (!may_be_cut_in_rows(context, context.node(last))) return;
  rows_ = rows_of_image(context.type(context.node(last).results[0]));
  int windows = 0;
  std::deque<NodeId> found = {last};
  while (!found.empty()) {
    const NodeId id = found.front();
    found.pop_front();
    const Node& node = context.node(id);
    windows += row_window_of(context, node).size > 1 ? 1 : 0;
    nodes_.push_back(id);
    const auto images = *images_read_by(context, node);
    for (const ValueId value : images) {
      const Node* maker = context.maker(value);
      if (maker == nullptr || context.uses(value) != 1 || !may_be_cut_in_rows(context, *maker)) continue;
      const ir::TensorType& type = context.type(value);
      const NodeId made_by = context.method().value(value).node;
      const bool large = rows_of_image(type) * row_bytes_of_image(type) >= least;
      const bool window = row_window_of(context, *maker).size > 1;
      if (large && !taken[made_by] && (!window || windows < kMostRowWindows)) found.push_back(made_by);
    }
  }
  std::reverse(nodes_.begin(), nodes_.end());
}

std::vector<ValueId> ImageBlock::inner() const {
  std::vector<ValueId> values;
  for (const NodeId id : nodes_) {
    if (id != last_) values.push_back(context_.node(id).results[0]);
  }
  return values;
}

bool ImageBlock::is_inner(ValueId value) const {
  const ir::Value& own = context_.method().value(value);
  return own.kind == ir::ValueKind::kNode && own.node != last_ &&
         std::find(nodes_.begin(), nodes_.end(), own.node) != nodes_.end();
}

int64_t ImageBlock::bytes_for(ImageRows rows) const {
  // Each node behind what it reads: from its end on, what a node makes is there until its only reader has run.
  std::map<ValueId, int64_t> bytes;
  std::map<ValueId, size_t> reader;
  std::map<NodeId, ImageRows> wanted = {{last_, rows}};
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = context_.node(nodes_[i]);
    const ImageRows own = wanted[nodes_[i]];
    RowReading reading{own, own, false};
    if (is_byte_conv(node)) {
      const int64_t height = rows_of_image(context_.type(value_argument(node, conv::input)));
      reading = reading_for(row_window_of(context_, node), own, height);
    }
    if (nodes_[i] != last_) {
      bytes[node.results[0]] = reading.made.count() * row_bytes_of_image(context_.type(node.results[0]));
    }
    const auto images = *images_read_by(context_, node);
    for (const ValueId value : images) {
      if (!is_inner(value)) continue;
      const bool residual = is_byte_conv(node) && value != value_argument(node, conv::input);
      wanted[context_.method().value(value).node] = residual ? reading.made : reading.read;
      reader[value] = i;
    }
  }
  int64_t most = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int64_t there = 0;
    for (size_t k = 0; k <= i; ++k) {
      const ValueId value = context_.node(nodes_[k]).results[0];
      if (nodes_[k] != last_ && reader[value] >= i) there += bytes[value];
    }
    most = std::max(most, there);
  }
  return most;
}

// The nodes for some rows, each once it is wanted.
class ImageBlock::Strip {
 public:
  Strip(const ImageBlock& block, Context& context, ir::Builder& build)
      : block_(block), context_(context), build_(build) {}

  Expected<ValueId> make(NodeId id, ImageRows wanted) {
    const Node node = context_.node(id);
    std::vector<Argument> args = node.args;
    ImageRows made = wanted;
    if (is_byte_conv(node)) {
      const int64_t height = rows_of_image(context_.type(value_argument(node, conv::input)));
      const RowReading reading = reading_for(row_window_of(context_, node), wanted, height);
      made = reading.made;
      BERTH_ASSIGN_OR_RETURN(args[conv::input], rows_of(value_argument(node, conv::input), reading.read));
      if (const ValueId residual = value_argument(node, conv::residual); residual.valid()) {
        BERTH_ASSIGN_OR_RETURN(args[conv::residual], rows_of(residual, made));
      }
      const int64_t above = reading.padded ? list_number(args[conv::padding], 0) : 0;
      args[conv::padding] = DimList{Dim(above), Dim(list_number(args[conv::padding], 1))};
    } else {
      const std::vector<Dim> shape = context_.type(node.results[0]).shape;  // a copy: rows_of() adds values
      const bool joins = node.is(OpId::cat_out);
      const size_t list = joins ? size_t{arg::concat::tensors} : size_t{arg::fused_elementwise_out::inputs};
      for (ValueId& value : std::get<ir::ValueList>(args[list])) {
        if (!joins && context_.type(value).shape != shape) continue;
        BERTH_ASSIGN_OR_RETURN(value, rows_of(value, wanted));
      }
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId result, build_.one(node.op->id, std::move(args), node.source));
    context_.method().value(result).tensor()->dim_order = kPixelOrder;
    return cut(result, {wanted.begin - made.begin, wanted.end - made.begin}, node.source);
  }

 private:
  Expected<ValueId> rows_of(ValueId value, ImageRows rows) {
    if (block_.is_inner(value)) return make(context_.method().value(value).node, rows);
    return cut(value, rows, "");
  }

  // A name of these rows' bytes.
  Expected<ValueId> cut(ValueId image, ImageRows rows, const std::string& source) {
    if (rows == ImageRows{0, rows_of_image(context_.type(image))}) return image;
    BERTH_ASSIGN_OR_RETURN(const ValueId lines, lines_of_image(build_, image, source));
    BERTH_ASSIGN_OR_RETURN(
        const ValueId some,
        build_.one(OpId::slice_copy_Tensor_out, {lines, Dim(1), Dim(rows.begin), Dim(rows.end), Dim(1)}, source));
    return image_of_lines(build_, some, source);
  }

  const ImageBlock& block_;
  Context& context_;
  ir::Builder& build_;
};

Expected<ValueId> ImageBlock::append(Context& context, ir::Builder& build, ImageRows rows) const {
  return Strip(*this, context, build).make(last_, rows);
}

}  // namespace berth::fuse
