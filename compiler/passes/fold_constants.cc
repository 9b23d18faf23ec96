#include "compiler/passes/fold_constants.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/math.h"
#include "compiler/eval/evaluate.h"
#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Blob;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr char kFoldConstants[] = "fold_constants";

int64_t bytes_of(const ir::Module& module, const ir::TensorType& type) { return ir::max_bytes(type, module.symbols); }

int64_t default_limit(const ir::Module& module) {
  constexpr int64_t kSpare = int64_t{64} << 20;
  int64_t bytes = 0;
  for (const ir::Constant& c : module.constants) {
    // What repeats one value takes no place in the model's file.
    if (c.blob.is_splat()) continue;
    if (!checked_add(bytes, static_cast<int64_t>(c.blob.size()), &bytes)) return INT64_MAX;
  }
  return bytes > (INT64_MAX - kSpare) / 2 ? INT64_MAX : 2 * bytes + kSpare;
}

// Operators that only move elements of their first argument.
bool moves_elements(OpId id) {
  switch (id) {
    case OpId::clone_out:
    case OpId::clone_dim_order_out:
    case OpId::expand_copy_out:
    case OpId::flip_out:
    case OpId::narrow_copy_out:
    case OpId::permute_copy_out:
    case OpId::repeat_out:
    case OpId::roll_out:
    case OpId::select_copy_int_out:
    case OpId::slice_copy_Tensor_out:
    case OpId::t_copy_out:
    case OpId::transpose_copy_int_out:
    case OpId::diagonal_copy_out: return true;
    default: return false;
  }
}

// Operators whose every result element depends on one element of each argument and on nothing else.
bool is_elementwise(const ir::Operator& op) {
  return op.in_place == ir::InPlaceClass::kElement && op.outputs.size() == 1 && !op.output_is_list;
}

class Folder {
 public:
  Folder(ir::Module& module, ir::Method& method, const Options& options, int64_t limit, int64_t* left,
         IdVector<ir::ConstantId, int>* uses)
      : module_(module),
        method_(method),
        options_(options),
        limit_(limit),
        left_(left),
        uses_(uses),
        value_uses_(ir::count_uses(method)) {}

  Expected<Action> visit(ir::Builder& build, ir::NodeId id) {
    const Node& node = method_.node(id);
    if (!is_candidate(node)) return Action::keep();
    FoldReason reason = FoldReason::kFolded;
    std::vector<Blob> blobs;
    if (!fold(node, &blobs, &reason)) {
      std::string words = to_string(reason);
      if (reason == FoldReason::kOverLimit) words += ", " + std::to_string(limit_) + " bytes";
      remark(options_, kFoldConstants, method_, node, words);
      return Action::keep();
    }
    remark(options_, kFoldConstants, method_, node, to_string(FoldReason::kFolded));
    std::vector<ValueId> values;
    const std::vector<ValueId> results = node.results;
    forget_inputs(node);
    for (size_t i = 0; i < results.size(); ++i) {
      const ir::Value& result = method_.value(results[i]);
      const std::string name = result.name;
      ir::TensorType type = *result.tensor();
      type.device = Device();
      values.push_back(build.constant(std::move(type), blobs[i], name));
      uses_->resize(module_.constants.size());
      uses_->back() = value_uses_[results[i]];
    }
    return Action::replace(std::move(values));
  }

 private:
  bool is_candidate(const Node& node) const {
    if (node.op->infer == nullptr || node.results.empty() || node.op->is_random()) return false;
    // Its kernel is the runtime's.
    if (node.op->own != nullptr) return false;
    // Constants are on the cpu; what a delegate computes of them alone is one too, a copy between devices is not.
    if (node.op->is_device_copy()) return false;
    // Weights were quantised to be small.
    if (node.op->is_dequantization()) return false;
    if (options_.keep_quantized && widens_bytes(node)) return false;
    if (options_.keep_first_steps && multiplies_zeros(node)) return false;
    bool constant = true;
    for (const Argument& a : node.args) {
      ir::for_each_value(
          a, [&](const ValueId& v) { constant = constant && method_.value(v).kind == ir::ValueKind::kConstant; });
      ir::for_each_dim(a, [&](const ir::Dim& d) { constant = constant && d.is_constant(); });
    }
    for (ValueId result : node.results) {
      constant = constant && method_.value(result).tensor() != nullptr;
    }
    return constant;
  }

  // Numbers of 8 bits or less become floats.
  bool widens_bytes(const Node& node) const {
    if (!node.is(OpId::to_dim_order_copy_out) && !node.is(OpId::to_copy_out)) return false;
    const ir::TensorType* from = method_.value(std::get<ValueId>(node.args[0])).tensor();
    if (from == nullptr || !is_floating(method_.tensor(node.results[0]).dtype)) return false;
    const bool narrow = options_.keep_narrow && is_narrow_integer(from->dtype);
    const bool bytes = is_byte(from->dtype) || narrow;
    return bytes && ir::max_numel(*from, module_.symbols) > 1;
  }

  bool multiplies_zeros(const Node& node) const {
    const auto is_zero = [&](size_t k) { return uniform_number(module_, method_, node.args[k]) == 0.0; };
    return (node.is(OpId::mm_out) && is_zero(arg::mm_out::self)) ||
           (node.is(OpId::addmm_out) && is_zero(arg::addmm_out::mat1));
  }

  // Contents of all results.
  bool fold(const Node& node, std::vector<Blob>* out, FoldReason* reason) {
    int64_t bytes = 0;
    for (ValueId result : node.results) {
      const ir::TensorType& type = method_.tensor(result);
      if (!type.is_static()) {
        *reason = FoldReason::kSizeUnknown;
        return false;
      }
      if (!checked_add(bytes, bytes_of(module_, type), &bytes)) bytes = INT64_MAX;
    }
    if (share_bytes(node, out)) return true;
    if (bytes > kSmallResult && bytes > input_bytes(node)) {
      *reason = FoldReason::kGrows;
      return false;
    }
    if (stays_splat(node, out)) return true;
    if (bytes > *left_) {
      *reason = FoldReason::kOverLimit;
      return false;
    }
    // Splats among the inputs are written out, and kernels take temporary memory.
    constexpr int64_t kSpare = int64_t{64} << 20;
    const int64_t most = *left_ > (INT64_MAX - kSpare) / 2 ? INT64_MAX : 2 * *left_ + kSpare;
    auto blobs = eval::evaluate_node(module_, method_, node, most);
    if (!blobs.ok()) {
      *reason = FoldReason::kKernelFailed;
      return false;
    }
    for (size_t i = 0; i < blobs->size(); ++i) {
      // A kernel that gives fewer elements than its type says has a size that depends on contents.
      if (static_cast<int64_t>((*blobs)[i].size()) == bytes_of(module_, method_.tensor(node.results[i]))) continue;
      *reason = FoldReason::kSizeUnknown;
      return false;
    }
    *left_ -= bytes;
    *out = std::move(*blobs);
    return true;
  }

  int64_t input_bytes(const Node& node) const {
    int64_t sum = 0;
    for (const Argument& a : node.args) {
      ir::for_each_value(a, [&](const ValueId& v) {
        if (!checked_add(sum, bytes_of(module_, method_.tensor(v)), &sum)) sum = INT64_MAX;
      });
    }
    return sum;
  }

  // A view has the bytes of its input.
  bool share_bytes(const Node& node, std::vector<Blob>* out) const {
    if (!node.op->is_reshape()) return false;
    const ir::Constant* source = ir::constant_of(module_, method_, node.args[arg::view::self]);
    if (source == nullptr || !source->type.is_contiguous() || !method_.tensor(node.results[0]).is_contiguous()) {
      return false;
    }
    *out = {source->blob};
    return true;
  }

  // One element, when all inputs repeat one: computed on tensors of a single element.
  bool stays_splat(const Node& node, std::vector<Blob>* out) const {
    if (node.results.size() != 1) return false;
    const ir::TensorType& type = method_.tensor(node.results[0]);
    const size_t count = ir::max_numel(type, module_.symbols);
    if (moves_elements(node.op->id)) {
      const ir::Constant* source = ir::constant_of(module_, method_, node.args[0]);
      if (source == nullptr || !source->blob.is_splat()) return false;
      *out = {Blob::splat(source->blob.element(), count)};
      return true;
    }
    return is_elementwise(*node.op) && splat_of_one(node, type, count, out);
  }

  bool splat_of_one(const Node& node, const ir::TensorType& type, size_t count, std::vector<Blob>* out) const {
    ir::Module scratch;
    scratch.methods.emplace_back();
    ir::Method& method = scratch.methods[0];
    std::vector<Argument> args = node.args;
    bool splats = false;
    for (Argument& a : args) {
      bool all = true;
      ir::for_each_value(a, [&](ValueId& v) {
        const ir::Constant* c = ir::constant_of(module_, method_, v);
        all = all && c != nullptr && c->blob.is_splat() && c->blob.element().size() == element_size(c->type.dtype);
        if (!all) return;
        ir::TensorType one;
        one.dtype = c->type.dtype;
        one.shape.assign(c->type.shape.size(), ir::Dim(1));
        ir::Builder build(scratch, method, method.body);
        v = build.constant(one, Blob::splat(c->blob.element(), 1));
        splats = true;
      });
      if (!all) return false;
    }
    if (!splats) return false;
    ir::Builder build(scratch, method, method.body);
    auto result = build.create(node.op->id, std::move(args), "");
    if (!result.ok() || method.tensor((*result)[0]).dtype != type.dtype) return false;
    auto blobs = eval::evaluate_node(scratch, method, method.nodes.back(), kSmallResult);
    if (!blobs.ok() || (*blobs)[0].size() != element_size(type.dtype)) return false;
    *out = {Blob::splat((*blobs)[0].bytes(), count)};
    return true;
  }

  // Gives back the memory of constants that only this node read.
  void forget_inputs(const Node& node) {
    for (const Argument& a : node.args) {
      ir::for_each_value(a, [&](const ValueId& v) {
        const ir::ConstantId c = method_.value(v).constant;
        if (--(*uses_)[c] == 0) module_.constants[c].blob = Blob();
      });
    }
  }

  ir::Module& module_;
  ir::Method& method_;
  const Options& options_;
  const int64_t limit_;
  int64_t* left_;
  IdVector<ir::ConstantId, int>* uses_;  // in all methods
  IdVector<ValueId, int> value_uses_;    // in this method
};

}  // namespace

const char* to_string(FoldReason reason) {
  switch (reason) {
    case FoldReason::kFolded: return "folded";
    case FoldReason::kGrows: return "keep: larger than its inputs and over 1 MB";
    case FoldReason::kOverLimit: return "keep: all folded constants would take more than the limit";
    case FoldReason::kSizeUnknown: return "keep: size-unknown";
    case FoldReason::kKernelFailed: return "keep: kernel-failed";
  }
  return "?";
}

Expected<Changed> fold_constants(ir::Module& module, const Options& options) {
  const int64_t limit = options.fold_limit > 0 ? options.fold_limit : default_limit(module);
  int64_t left = limit;
  IdVector<ir::ConstantId, int> uses = count_constant_uses(module);
  Changed changed = Changed::kNo;
  for (ir::Method& method : module.methods) {
    Folder folder(module, method, options, limit, &left, &uses);
    BERTH_ASSIGN_OR_RETURN(const Changed one,
                           rewrite(module, method, [&](ir::Builder& build, ir::NodeId id, bool*) -> Expected<Action> {
                             return folder.visit(build, id);
                           }));
    changed = changed | one;
  }
  if (changed == Changed::kYes) drop_unused_constants(module);
  return changed;
}

}  // namespace berth::passes
