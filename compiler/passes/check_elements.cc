#include "compiler/passes/check_elements.h"

#include <algorithm>

#include "compiler/ir/text.h"

namespace berth::passes {
namespace {

using ir::OpId;

bool is_real(DType dtype) { return dtype == DType::kBool || is_integer(dtype) || is_floating(dtype); }

// What an operator does with elements, as far as it is the same for all types of one kind.
enum class Use { kComputes, kComputesComplex, kStoresNumber, kConverts, kMoves };

Use use_of(OpId op) {
  switch (op) {
    case OpId::add_out:
    case OpId::sub_out:
    case OpId::mul_out:
    case OpId::div_out:
    case OpId::abs_out:
    case OpId::mm_out:
    case OpId::bmm_out:
    case OpId::sum_IntList_out: return Use::kComputesComplex;

    case OpId::full_out:
    case OpId::full_like_out:
    case OpId::zeros_out:
    case OpId::ones_out:
    case OpId::scalar_tensor_out:
    case OpId::fill_Scalar_out:
    case OpId::constant_pad_nd_out:
    case OpId::scatter_value_out: return Use::kStoresNumber;

    case OpId::to_copy_out:
    case OpId::to_dim_order_copy_out:
    case OpId::copy_out:
    case OpId::copy_self: return Use::kConverts;

    case OpId::alias_copy_out:
    case OpId::clone_out:
    case OpId::clone_dim_order_out:
    case OpId::detach_copy_out:
    case OpId::lift_fresh_copy_out:
    case OpId::conj_physical_out:
    case OpId::view_as_real_copy_out:
    case OpId::d2d_copy_out:
    case OpId::d2h_copy_out:
    case OpId::h2d_copy_out:
    case OpId::empty_out:
    case OpId::empty_dim_order_out:
    case OpId::fill_Tensor_out:
    case OpId::view_copy_out:
    case OpId::squeeze_copy_dim_out:
    case OpId::squeeze_copy_dims_out:
    case OpId::unsqueeze_copy_out:
    case OpId::expand_copy_out:
    case OpId::repeat_out:
    case OpId::permute_copy_out:
    case OpId::t_copy_out:
    case OpId::transpose_copy_int_out:
    case OpId::as_strided_copy_out:
    case OpId::unfold_copy_out:
    case OpId::diagonal_copy_out:
    case OpId::narrow_copy_out:
    case OpId::select_copy_int_out:
    case OpId::slice_copy_Tensor_out:
    case OpId::select_scatter_out:
    case OpId::slice_scatter_out:
    case OpId::split_copy_Tensor_out:
    case OpId::split_with_sizes_copy_out:
    case OpId::unbind_copy_int_out:
    case OpId::cat_out:
    case OpId::stack_out:
    case OpId::flip_out:
    case OpId::roll_out:
    case OpId::tril_out:
    case OpId::pixel_shuffle_out:
    case OpId::pixel_unshuffle_out:
    case OpId::reflection_pad1d_out:
    case OpId::reflection_pad2d_out:
    case OpId::reflection_pad3d_out:
    case OpId::replication_pad1d_out:
    case OpId::replication_pad2d_out:
    case OpId::replication_pad3d_out:
    case OpId::upsample_nearest2d_vec_out:
    case OpId::embedding_out:
    case OpId::gather_out:
    case OpId::scatter_src_out:
    case OpId::index_select_out:
    case OpId::index_Tensor_out:
    case OpId::index_put_out:
    case OpId::index_put_self:
    case OpId::masked_select_out:
    case OpId::masked_scatter_out: return Use::kMoves;

    default: return Use::kComputes;
  }
}

class ElementCheck {
 public:
  explicit ElementCheck(const ir::Method& method) : method_(method) {}

  Status run() const {
    const ir::Node* wrong = nullptr;
    ir::ValueId value;
    ir::for_each_graph(method_, method_.body, [&](const ir::Graph& graph) {
      for (ir::NodeId id : graph.nodes) {
        if (wrong == nullptr && find_refused(method_.node(id), &value)) wrong = &method_.node(id);
      }
    });
    if (wrong != nullptr) return failure(*wrong, value);
    return Done{};
  }

 private:
  // The first value of `node` with elements that it does not take; false when there is none.
  bool find_refused(const ir::Node& node, ir::ValueId* value) const {
    if (node.op->id >= OpId::if_ || node.op->name.substr(0, 7) == "berth::") return false;
    const Use use = use_of(node.op->id);
    if (use == Use::kMoves) return false;
    const std::vector<ir::ValueId> values = values_of(node);
    for (ir::ValueId id : values) {
      const DType dtype = method_.tensor(id).dtype;
      if (is_real(dtype) || (is_complex(dtype) && use != Use::kComputes)) continue;
      const bool all_equal = std::all_of(values.begin(), values.end(),
                                         [&](ir::ValueId other) { return method_.tensor(other).dtype == dtype; });
      if (use == Use::kConverts && all_equal) continue;
      *value = id;
      return true;
    }
    return false;
  }

  std::vector<ir::ValueId> values_of(const ir::Node& node) const {
    std::vector<ir::ValueId> values;
    const auto add = [&](ir::ValueId id) {
      if (method_.value(id).tensor() != nullptr) values.push_back(id);
    };
    for (const ir::Argument& argument : node.args) ir::for_each_value(argument, add);
    for (ir::ValueId id : node.results) add(id);
    return values;
  }

  Failure failure(const ir::Node& node, ir::ValueId value) const {
    const DType dtype = method_.tensor(value).dtype;
    std::string place = "method " + method_.name + ": ";
    if (!node.source.empty()) place += ir::quoted(node.source) + " ";
    place += node.op->functional_name;
    const std::string what = "has no kernel for elements of " + std::string(to_string(dtype)) + ", which " +
                             ir::named('%', method_.value(value).name) + " has; ";
    return {Error::kNotSupported, place,
            what + (is_complex(dtype) ? "write it with real and imaginary parts in the model"
                                      : "Berth only moves them: convert to f16, bf16 or f32 outside of the model")};
  }

  const ir::Method& method_;
};

}  // namespace

Expected<Changed> check_elements(ir::Module& module, const Options&) {
  for (const ir::Method& method : module.methods) BERTH_TRY(ElementCheck(method).run());
  return Changed::kNo;
}

}  // namespace berth::passes
