#include "compiler/fuse/pack_weights.h"

#include <map>
#include <new>
#include <tuple>

#include "compiler/fuse/call_to_pack.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

const std::string& text_of(const Node& node, size_t k) { return std::get<std::string>(node.args[k]); }

/// Packed constants by the dense one and the packing: of all methods, so that what they share stays shared.
using Packed = std::map<std::pair<ir::ConstantId, std::string>, ir::ConstantId>;

/// What stands for a packed weight of 8 or 4 bits.
struct NarrowConstants {
  ir::ConstantId weight, scales, zeros;  // zeros: not valid where there are none
  std::string text;
};
/// By the dense weight, scales and zero points, bits, block, and digits of the input. In strips and in methods that
/// share a weight it is packed once.
using NarrowKey = std::tuple<ir::ConstantId, ir::ConstantId, ir::ConstantId, int64_t, int64_t, int64_t>;
using PackedNarrows = std::map<NarrowKey, NarrowConstants>;

struct Made {
  Packed packed;
  PackedNarrows narrow;
  HugePagePool pool;  // for what is packed
};

class Packer {
 public:
  Packer(ir::Module& module, ir::Method& method, const targets::Target& target, Made* made)
      : module_(module),
        method_(method),
        target_(target),
        made_(made->packed),
        narrow_(made->narrow),
        pool_(made->pool) {}

  bool pack(NodeId id) {
    const Node& node = method_.node(id);
    if (node.is(OpId::fused_narrow_linear_out)) return pack_narrow(id);
    if (node.is(OpId::quantized_linear_out) || node.is(OpId::quantized_conv_out)) return pack_quantized(id);
    const ir::Constant* constant = dense_weight(module_, method_, node);
    if (constant == nullptr) return false;
    cpu::PackedWeight packed;
    packed.pool = &pool_;
    std::vector<uint8_t> room;
    const bool done = pack_weight(node, *constant, constant->blob.bytes_or_copy(&room).data(), &packed);
    constant->blob.release();
    if (packed.no_memory) throw std::bad_alloc();
    if (!done) return false;
    const size_t packing =
        node.is(OpId::fused_conv_out) ? size_t{arg::fused_conv_out::packing} : size_t{arg::fused_linear_out::packing};
    replace(id, arg::fused_conv_out::weight, packing, *constant, constant->type.dtype, std::move(packed));
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
      const ir::ConstantId constant_id =
          module_.add_constant(name, type, ir::Blob::owned_buffer(std::move(packed.bytes)));
      made = made_.emplace(key, constant_id).first;
    } else {
      pool_.give_back(std::move(packed.bytes));
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
    packed.pool = &pool_;
    std::vector<uint8_t> room;
    const bool done = cpu::pack_quantized(weight, constant->blob.bytes_or_copy(&room).data(), target_.isa, &packed);
    constant->blob.release();
    if (packed.no_memory) throw std::bad_alloc();
    if (done) replace(id, linear::weight, packing, *constant, constant->type.dtype, std::move(packed));
    return done;
  }

  bool pack_weight(const Node& node, const ir::Constant& constant, const uint8_t* weight,
                   cpu::PackedWeight* packed) const {
    cpu::ConvToPack conv;
    cpu::LinearToPack linear;
    if (node.is(OpId::fused_conv_out)) {
      return conv_to_pack(module_, method_, node, constant, &conv) && cpu::pack_conv(conv, weight, target_.isa, packed);
    }
    return linear_to_pack(module_, method_, node, constant, &linear) &&
           cpu::pack_linear(linear, weight, target_.isa, packed);
  }

  const ir::Constant* dense_constant(const Argument& argument) const {
    const ir::Constant* constant = ir::constant_of(module_, method_, argument);
    return constant != nullptr && constant->type.is_contiguous() && constant->type.rank() == 2 ? constant : nullptr;
  }

  ir::ConstantId packed_constant(const std::string& name, DType dtype, std::vector<uint8_t> bytes) {
    ir::TensorType type;
    type.dtype = dtype;
    type.shape = {ir::Dim(static_cast<int64_t>(bytes.size() / element_size(dtype)))};
    return module_.add_constant(name, type, ir::Blob::owned(std::move(bytes)));
  }

  ir::ConstantId id_of(const Argument& argument) const {
    return ir::is_none(argument) ? ir::ConstantId{} : method_.value(std::get<ValueId>(argument)).constant;
  }

  void use_narrow(NodeId id, const NarrowConstants& packed) {
    namespace at = arg::fused_narrow_linear_out;
    const Argument weight = method_.constant_value(module_, packed.weight);
    const Argument scales = method_.constant_value(module_, packed.scales);
    Argument zeros = ir::None{};
    if (packed.zeros.valid()) zeros = method_.constant_value(module_, packed.zeros);
    std::vector<Argument>& own = method_.node(id).args;
    own[at::weight] = weight;
    own[at::scales] = scales;
    own[at::zero_points] = zeros;
    own[at::packing] = packed.text;
  }

  // At least how many digits of what weights of 8 and 4 bits are multiplied with stay (kernels/cpu/packing_narrow.h).
  int64_t digits_of_activations() const {
    return target_.byte_activations ? 1 : target_.weights == DType::kBF16 ? 2 : 3;
  }

  // For all instruction sets: rows are not looked at.
  bool pack_narrow(NodeId id) {
    namespace at = arg::fused_narrow_linear_out;
    const std::vector<Argument> args = method_.node(id).args;
    const ir::Constant* weight = dense_constant(args[at::weight]);
    const ir::Constant* scales = dense_constant(args[at::scales]);
    const bool has_zeros = !ir::is_none(args[at::zero_points]);
    const ir::Constant* zeros = has_zeros ? dense_constant(args[at::zero_points]) : nullptr;
    if (!std::get<std::string>(args[at::packing]).empty() || weight == nullptr || scales == nullptr ||
        (has_zeros && zeros == nullptr)) {
      return false;
    }
    const NarrowKey key = {id_of(args[at::weight]),
                           id_of(args[at::scales]),
                           id_of(args[at::zero_points]),
                           std::get<ir::Dim>(args[at::bits]).value,
                           std::get<ir::Dim>(args[at::block]).value,
                           digits_of_activations()};
    if (const auto made = narrow_.find(key); made != narrow_.end()) {
      use_narrow(id, made->second);
      return true;
    }
    const std::vector<uint8_t> bytes = weight->blob.to_vector();
    const std::vector<float> factors = floats_of(*scales);
    const std::vector<uint8_t> points = has_zeros ? zeros->blob.to_vector() : std::vector<uint8_t>();
    const DType zero_type = has_zeros ? zeros->type.dtype : DType::kI8;
    cpu::NarrowToPack linear;
    linear.depth = method_.tensor(std::get<ValueId>(args[at::input])).shape.back().value;
    linear.columns = weight->type.shape[1].value;
    linear.bits = std::get<ir::Dim>(args[at::bits]).value;
    linear.block = std::get<ir::Dim>(args[at::block]).value;
    linear.digits = digits_of_activations();
    linear.weight = bytes.data();
    linear.scales = factors.data();
    linear.scale_rows = scales->type.shape[0].value;
    linear.scale_columns = scales->type.shape[1].value;
    if (has_zeros) {
      linear.zero_rows = zeros->type.shape[0].value;
      linear.zero_columns = zeros->type.shape[1].value;
      if (zero_type == DType::kI8) linear.zeros = reinterpret_cast<const int8_t*>(points.data());
      if (zero_type == DType::kF32) linear.real_zeros = reinterpret_cast<const float*>(points.data());
    }
    cpu::PackedNarrow packed;
    if (!method_.tensor(std::get<ValueId>(args[at::input])).shape.back().is_constant() ||
        !cpu::pack_narrow(linear, &packed)) {
      return false;
    }
    const std::string name = weight->name;
    NarrowConstants made;
    made.text = packed.text;
    made.weight = packed_constant(name + "_packed", weight->type.dtype, std::move(packed.weight));
    made.scales = packed_constant(name + "_scales", packed.scale_type, std::move(packed.scales));
    if (has_zeros) made.zeros = packed_constant(name + "_zeros", zero_type, std::move(packed.zeros));
    use_narrow(id, narrow_.emplace(key, std::move(made)).first->second);
    return true;
  }

  ir::Module& module_;
  ir::Method& method_;
  const targets::Target& target_;
  Packed& made_;
  PackedNarrows& narrow_;
  HugePagePool& pool_;
};

}  // namespace

Expected<passes::Changed> pack_weights(ir::Module& module, const Targets& targets, const passes::Options&) {
  Made made;
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    bool changed = false;
    if (target.isa.empty()) return Expected<bool>(false);
    Packer packer(module, method, target, &made);
    for (NodeId id : region.nodes) changed = packer.pack(id) || changed;
    return Expected<bool>(changed);
  });
}

}  // namespace berth::fuse
