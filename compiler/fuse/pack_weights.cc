#include "compiler/fuse/pack_weights.h"

#include <map>

#include "kernels/cpu/packing.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

const std::string& text_of(const Node& node, size_t k) { return std::get<std::string>(node.args[k]); }

// One number an axis; one alone stands for both.
void read_axes(const Argument& argument, int64_t* axes) {
  const auto& dims = std::get<DimList>(argument);
  for (size_t i = 0; i < 2; ++i) axes[i] = dims[dims.size() == 1 ? 0 : i].value;
}

/// Packed constants by the dense one and the packing: of all methods, so that what they share stays shared.
using Packed = std::map<std::pair<ir::ConstantId, std::string>, ir::ConstantId>;

class Packer {
 public:
  Packer(ir::Module& module, ir::Method& method, const std::string& isa, Packed* made)
      : module_(module), method_(method), isa_(isa), made_(*made) {}

  bool pack(NodeId id) {
    const Node& node = method_.node(id);
    if (node.is(OpId::quantized_linear_out) || node.is(OpId::quantized_conv_out)) return pack_quantized(id);
    const bool conv = node.is(OpId::fused_conv_out);
    // Both have them in the same places.
    static_assert(size_t{arg::fused_conv_out::weight} == size_t{arg::fused_linear_out::weight} &&
                  size_t{arg::fused_conv_out::input} == size_t{arg::fused_linear_out::input});
    const size_t packing = conv ? size_t{arg::fused_conv_out::packing} : size_t{arg::fused_linear_out::packing};
    if ((!conv && !node.is(OpId::fused_linear_out)) || !text_of(node, packing).empty()) return false;
    const ir::Constant* constant = ir::constant_of(module_, method_, node.args[arg::fused_conv_out::weight]);
    if (constant == nullptr || !constant->type.is_contiguous()) return false;
    if (!method_.tensor(std::get<ValueId>(node.args[arg::fused_conv_out::input])).is_static()) return false;
    cpu::PackedWeight packed;
    const std::vector<float> weight = floats_of(*constant);
    constant->blob.release();
    if (!(conv ? pack_conv(node, *constant, weight, &packed) : pack_linear(node, *constant, weight, &packed))) {
      return false;
    }
    replace(id, arg::fused_conv_out::weight, packing, *constant, DType::kF32, std::move(packed));
    return true;
  }

 private:
  void replace(NodeId id, size_t weight, size_t packing, const ir::Constant& constant, DType dtype,
               cpu::PackedWeight packed) {
    const ValueId dense = std::get<ValueId>(method_.node(id).args[weight]);
    const auto key = std::make_pair(method_.value(dense).constant, packed.text);
    auto made = made_.find(key);
    if (made == made_.end()) {
      ir::TensorType type;
      type.dtype = dtype;
      type.shape = {ir::Dim(static_cast<int64_t>(packed.bytes.size() / element_size(dtype)))};
      const std::string name = constant.name + "_packed";
      const ir::ConstantId constant_id = module_.add_constant(name, type, ir::Blob::owned(std::move(packed.bytes)));
      made = made_.emplace(key, constant_id).first;
    }
    method_.node(id).args[weight] = method_.constant_value(module_, made->second);
    method_.node(id).args[packing] = packed.text;
  }

  // One order is that of all instruction sets and sizes of the input.
  bool pack_quantized(NodeId id) {
    const Node& node = method_.node(id);
    namespace linear = arg::quantized_linear_out;
    namespace conv = arg::quantized_conv_out;
    static_assert(size_t{linear::weight} == size_t{conv::weight} &&
                  size_t{linear::weight_zero_point} == size_t{conv::weight_zero_point});
    cpu::QuantizedToPack weight;
    weight.conv = node.is(OpId::quantized_conv_out);
    const size_t packing = weight.conv ? size_t{conv::packing} : size_t{linear::packing};
    if (!text_of(node, packing).empty()) return false;
    const ir::Constant* constant = ir::constant_of(module_, method_, node.args[linear::weight]);
    if (constant == nullptr || !constant->type.is_contiguous()) return false;
    for (const ir::Dim size : constant->type.shape) weight.sizes.push_back(static_cast<int32_t>(size.value));
    if (weight.conv) weight.groups = std::get<ir::Dim>(node.args[conv::groups]).value;
    weight.is_signed = constant->type.dtype == DType::kI8;
    weight.zero_point = !ir::is_none(node.args[linear::weight_zero_point]);
    cpu::PackedWeight packed;
    const bool done = cpu::pack_quantized(weight, constant->blob.to_vector().data(), isa_, &packed);
    constant->blob.release();
    if (done) replace(id, linear::weight, packing, *constant, constant->type.dtype, std::move(packed));
    return done;
  }

  bool pack_conv(const Node& node, const ir::Constant& constant, const std::vector<float>& weight,
                 cpu::PackedWeight* packed) const {
    const ir::TensorType& input = method_.tensor(std::get<ValueId>(node.args[arg::fused_conv_out::input]));
    const ir::TensorType& out = method_.tensor(node.results[0]);
    if (input.rank() != 4 || input.dim_order != out.dim_order) return false;
    cpu::ConvToPack conv;
    conv.batch = input.shape[0].value;
    conv.groups = std::get<ir::Dim>(node.args[arg::fused_conv_out::groups]).value;
    conv.in_channels = input.shape[1].value;
    conv.out_channels = out.shape[1].value;
    for (size_t i = 0; i < 2; ++i) {
      conv.in[i] = input.shape[2 + i].value;
      conv.kernel[i] = constant.type.shape[2 + i].value;
    }
    read_axes(node.args[arg::fused_conv_out::stride], conv.stride);
    read_axes(node.args[arg::fused_conv_out::padding], conv.padding);
    read_axes(node.args[arg::fused_conv_out::dilation], conv.dilation);
    conv.transposed = std::get<bool>(node.args[arg::fused_conv_out::transposed]);
    if (conv.transposed) read_axes(node.args[arg::fused_conv_out::output_padding], conv.output_padding);
    conv.channels_last = !input.is_contiguous();
    conv.bias = !ir::is_none(node.args[arg::fused_conv_out::bias]);
    conv.residual = !ir::is_none(node.args[arg::fused_conv_out::residual]);
    conv.activation = text_of(node, arg::fused_conv_out::activation);
    conv.alpha = std::get<double>(node.args[arg::fused_conv_out::alpha]);
    conv.beta = std::get<double>(node.args[arg::fused_conv_out::beta]);
    return cpu::pack_conv(conv, weight.data(), isa_, packed);
  }

  bool pack_linear(const Node& node, const ir::Constant& constant, const std::vector<float>& weight,
                   cpu::PackedWeight* packed) const {
    cpu::LinearToPack linear;
    linear.depth = constant.type.shape[0].value;
    linear.columns = constant.type.shape[1].value;
    if (linear.depth == 0) return false;
    const ir::TensorType& input = method_.tensor(std::get<ValueId>(node.args[arg::fused_linear_out::input]));
    linear.rows = ir::max_numel(input, module_.symbols) / linear.depth;
    linear.bias = !ir::is_none(node.args[arg::fused_linear_out::bias]);
    linear.residual = !ir::is_none(node.args[arg::fused_linear_out::residual]);
    linear.activation = text_of(node, arg::fused_linear_out::activation);
    linear.alpha = std::get<double>(node.args[arg::fused_linear_out::alpha]);
    linear.beta = std::get<double>(node.args[arg::fused_linear_out::beta]);
    return cpu::pack_linear(linear, weight.data(), isa_, packed);
  }

  ir::Module& module_;
  ir::Method& method_;
  const std::string& isa_;
  Packed& made_;
};

}  // namespace

Expected<passes::Changed> pack_weights(ir::Module& module, const Targets& targets, const passes::Options&) {
  Packed made;
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    bool changed = false;
    if (target.isa.empty()) return Expected<bool>(false);
    Packer packer(module, method, target.isa, &made);
    for (NodeId id : region.nodes) changed = packer.pack(id) || changed;
    return Expected<bool>(changed);
  });
}

}  // namespace berth::fuse
