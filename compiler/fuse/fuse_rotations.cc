#include "compiler/fuse/fuse_rotations.h"

#include <algorithm>
#include <map>
#include <memory>

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// In the last byte of a floating-point number.
constexpr uint8_t kSignBit = 0x80;

bool is_last_dim(const Context& context, const ir::Argument& argument, int rank) {
  const auto dim = context.number(argument);
  return dim && (*dim == -1 || *dim == rank - 1);
}

// The tensor of which `value` is elements [begin, end) of each row; invalid if it is not such a slice.
ValueId sliced(const Context& context, ValueId value, int64_t begin, int64_t end) {
  const Node* slice = value.valid() ? context.maker(value) : nullptr;
  if (slice == nullptr || !slice->is(OpId::slice_copy_Tensor_out)) return {};
  const ValueId from = value_argument(*slice, arg::slice_copy_Tensor_out::self);
  const ir::TensorType& type = context.type(from);
  const int64_t size = type.shape.back().value;
  const auto place = [&](const ir::Argument& argument, int64_t none) {
    const auto* given = std::get_if<Dim>(&argument);
    if (given == nullptr) return ir::is_none(argument) ? none : int64_t{-1};
    return std::min(given->value < 0 ? given->value + size : given->value, size);
  };
  const bool same = is_last_dim(context, slice->args[arg::slice_copy_Tensor_out::dim], type.rank()) &&
                    place(slice->args[arg::slice_copy_Tensor_out::start], 0) == begin &&
                    place(slice->args[arg::slice_copy_Tensor_out::end], size) == end &&
                    slice->args[arg::slice_copy_Tensor_out::step] == ir::Argument(Dim(1));
  return same ? from : ValueId{};
}

// The rows that `value` has rotated, cat([-upper, lower]); invalid if it does not.
ValueId turned(const Context& context, ValueId value) {
  const Node* cat = value.valid() ? context.maker(value) : nullptr;
  if (cat == nullptr || !cat->is(OpId::cat_out) || context.uses(value) != 1) return {};
  const ir::TensorType& type = context.type(value);
  const auto& parts = std::get<ir::ValueList>(cat->args[arg::cat_out::tensors]);
  if (type.rank() < 1 || !type.is_contiguous() || !is_floating(type.dtype) || parts.size() != 2) return {};
  const Dim size = type.shape.back();
  if (!size.is_constant() || size.value % 2 != 0 || !is_last_dim(context, cat->args[arg::cat_out::dim], type.rank())) {
    return {};
  }
  const Node* neg = context.maker(parts[0]);
  if (neg == nullptr || !neg->is(OpId::neg_out)) return {};
  const ValueId rows = sliced(context, parts[1], 0, size.value / 2);
  const ValueId upper = sliced(context, value_argument(*neg, arg::neg_out::self), size.value / 2, size.value);
  const bool whole = rows.valid() && rows == upper && context.type(rows) == type;
  return whole ? rows : ValueId{};
}

/// Of all methods, so that what they share stays shared.
using SignedConstants = std::map<ir::ConstantId, ir::ConstantId>;

class Rotations {
 public:
  explicit Rotations(SignedConstants* constants) : constants_(*constants) {}

  Expected<passes::Action> visit(Context& context, ir::Builder& build, NodeId id) {
    if (!context.node(id).is(OpId::mul_out) || !takes_bytes(context.target(id))) return passes::Action::keep();
    const Node node = context.node(id);
    for (const size_t k : {arg::mul_out::self, arg::mul_out::other}) {
      const ValueId half = value_argument(node, k);
      const ValueId factor = value_argument(node, 1 - k);
      const ValueId rows = turned(context, half);
      if (!rows.valid() || !factor.valid() || !fits(context, rows, factor)) continue;
      const int64_t size = context.type(rows).shape.back().value;
      BERTH_ASSIGN_OR_RETURN(const ValueId moved,
                             build.one(OpId::roll_out, {rows, DimList{Dim(size / 2)}, DimList{Dim(-1)}}, node.source));
      BERTH_ASSIGN_OR_RETURN(const ValueId signs, signed_factor(context, build, factor, size, node.source));
      BERTH_ASSIGN_OR_RETURN(const ValueId result, build.one(OpId::mul_out, {moved, signs}, node.source));
      return context.replace(id, result);
    }
    return passes::Action::keep();
  }

 private:
  // One for each element of a row, of no more rows.
  static bool fits(const Context& context, ValueId rows, ValueId factor) {
    const ir::TensorType& type = context.type(factor);
    return type.rank() >= 1 && type.is_contiguous() && type.dtype == context.type(rows).dtype &&
           type.shape.back() == context.type(rows).shape.back() &&
           ir::max_numel(type, context.symbols()) <= ir::max_numel(context.type(rows), context.symbols());
  }

  // The factor with the signs of the halves; made once.
  Expected<ValueId> signed_factor(Context& context, ir::Builder& build, ValueId factor, int64_t size,
                                  const std::string& source) {
    if (const auto made = made_.find(factor); made != made_.end()) return made->second;
    // All delegates read a constant, and none what another one computes.
    if (context.constant(ir::Argument(factor)) != nullptr) return signed_constant(context, factor, size);
    ir::TensorType type;
    type.dtype = context.type(factor).dtype;
    type.shape = {Dim(size)};
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < size; ++i) {
      const std::vector<uint8_t> one = ir::element_bytes(type.dtype, i < size / 2 ? -1 : 1);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    const ValueId signs = build.constant(type, ir::Blob::owned(std::move(bytes)), "signs");
    BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(OpId::mul_out, {factor, signs}, source));
    return made_[factor] = product;
  }

  ValueId signed_constant(Context& context, ValueId factor, int64_t size) {
    const ir::ConstantId of = context.method().value(factor).constant;
    auto made = constants_.find(of);
    if (made == constants_.end()) {
      const ir::Constant constant = *context.constant(ir::Argument(factor));
      std::vector<uint8_t> bytes = constant.blob.to_vector();
      constant.blob.release();
      const size_t element = element_size(constant.type.dtype), row = size * element;
      for (size_t last = element - 1; last < bytes.size(); last += element) {
        if (last % row < row / 2) bytes[last] ^= kSignBit;
      }
      made = constants_
                 .emplace(of, context.module().add_constant(constant.name + "_signed", constant.type,
                                                            ir::Blob::owned(std::move(bytes))))
                 .first;
    }
    return context.method().constant_value(context.module(), made->second);
  }

  SignedConstants& constants_;
  std::map<ValueId, ValueId> made_;  // of the method's values
};

}  // namespace

Expected<passes::Changed> fuse_rotations(ir::Module& module, const Targets& targets, const passes::Options& options) {
  SignedConstants constants;
  return rewrite_regions(module, targets, options, [&constants] {
    const auto rotations = std::make_shared<Rotations>(&constants);
    return Visit(
        [rotations](Context& context, ir::Builder& build, NodeId id) { return rotations->visit(context, build, id); });
  });
}

}  // namespace berth::fuse
