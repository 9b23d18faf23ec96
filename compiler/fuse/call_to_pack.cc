#include "compiler/fuse/call_to_pack.h"

namespace berth::fuse {

using ir::Argument;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

namespace {

const std::string& text_argument(const Node& node, size_t k) { return std::get<std::string>(node.args[k]); }

// One number an axis; one alone stands for both.
void read_axes(const Argument& argument, int64_t* axes) {
  const auto& dims = std::get<DimList>(argument);
  for (size_t i = 0; i < 2; ++i) axes[i] = dims[dims.size() == 1 ? 0 : i].value;
}

}  // namespace

const ir::Constant* dense_weight(const ir::Module& module, const ir::Method& method, const Node& node) {
  const bool conv = node.is(OpId::fused_conv_out);
  if (!conv && !node.is(OpId::fused_linear_out)) return nullptr;
  // Both have them in the same places.
  static_assert(size_t{arg::fused_conv_out::weight} == size_t{arg::fused_linear_out::weight} &&
                size_t{arg::fused_conv_out::input} == size_t{arg::fused_linear_out::input});
  const size_t packing = conv ? size_t{arg::fused_conv_out::packing} : size_t{arg::fused_linear_out::packing};
  if (!text_argument(node, packing).empty()) return nullptr;
  const ir::Constant* constant = ir::constant_of(module, method, node.args[arg::fused_conv_out::weight]);
  return constant == nullptr || !constant->type.is_contiguous() ? nullptr : constant;
}

bool conv_to_pack(const ir::Module& module, const ir::Method& method, const Node& node, const ir::Constant& weight,
                  cpu::ConvToPack* conv) {
  const ir::TensorType& input = method.tensor(std::get<ValueId>(node.args[arg::fused_conv_out::input]));
  const ir::TensorType& out = method.tensor(node.results[0]);
  if (input.rank() != 4 || input.dim_order != out.dim_order) return false;
  conv->weight_type = weight.type.dtype;
  const auto largest = [&](const ir::Dim& dim) { return module.symbols.upper(dim); };
  conv->open = !input.is_static();
  conv->batch = largest(input.shape[0]);
  conv->groups = std::get<ir::Dim>(node.args[arg::fused_conv_out::groups]).value;
  conv->in_channels = largest(input.shape[1]);
  conv->out_channels = largest(out.shape[1]);
  for (size_t i = 0; i < 2; ++i) {
    conv->in[i] = largest(input.shape[2 + i]);
    conv->kernel[i] = weight.type.shape[2 + i].value;
  }
  read_axes(node.args[arg::fused_conv_out::stride], conv->stride);
  read_axes(node.args[arg::fused_conv_out::padding], conv->padding);
  read_axes(node.args[arg::fused_conv_out::dilation], conv->dilation);
  conv->transposed = std::get<bool>(node.args[arg::fused_conv_out::transposed]);
  if (conv->transposed) read_axes(node.args[arg::fused_conv_out::output_padding], conv->output_padding);
  conv->channels_last = !input.is_contiguous();
  conv->bias = !ir::is_none(node.args[arg::fused_conv_out::bias]);
  conv->residual = !ir::is_none(node.args[arg::fused_conv_out::residual]);
  conv->activation = text_argument(node, arg::fused_conv_out::activation);
  conv->alpha = std::get<double>(node.args[arg::fused_conv_out::alpha]);
  conv->beta = std::get<double>(node.args[arg::fused_conv_out::beta]);
  return true;
}

bool linear_to_pack(const ir::Module& module, const ir::Method& method, const Node& node, const ir::Constant& weight,
                    cpu::LinearToPack* linear) {
  linear->weight_type = weight.type.dtype;
  linear->depth = weight.type.shape[0].value;
  linear->columns = weight.type.shape[1].value;
  if (linear->depth == 0) return false;
  const ir::TensorType& input = method.tensor(std::get<ValueId>(node.args[arg::fused_linear_out::input]));
  linear->open = !input.is_static();
  linear->rows = ir::max_numel(input, module.symbols) / linear->depth;
  linear->bias = !ir::is_none(node.args[arg::fused_linear_out::bias]);
  linear->residual = !ir::is_none(node.args[arg::fused_linear_out::residual]);
  linear->activation = text_argument(node, arg::fused_linear_out::activation);
  linear->alpha = std::get<double>(node.args[arg::fused_linear_out::alpha]);
  linear->beta = std::get<double>(node.args[arg::fused_linear_out::beta]);
  return true;
}

}  // namespace berth::fuse
