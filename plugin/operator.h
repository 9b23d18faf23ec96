// Operator: an operator of one's own, in a plug-in: its schema, its shape rule and its kernel. plugin/target.h includes
// this.
//
//     class Gain final : public berth::plugin::Operator {
//      public:
//       Gain() : Operator("my::gain", "Tensor self, float factor=1 -> Tensor out") { table_.in_place = 1; }
//
//       Status infer(const Node& call, Results& results) override {
//         results.like(call.argument("self").value());
//         return {};
//       }
//       Status compute(const Call& call) override {
//         call.resize_like(2, 0);
//         const float* in = call.data<float>(0);
//         const float by = static_cast<float>(call.number(1));
//         for (int64_t i = 0; i < call.numel(0); ++i) call.data<float>(2)[i] = in[i] * by;
//         return {};
//       }
//     };
//
// A node of ONNX with the domain "my" and the type "gain" is this operator, and so are torch.ops.my.gain of a .pt2 and
// my::gain.out of a program (docs/operators.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "plugin/call_plugin.h"
#include "plugin/graph.h"

namespace berth::plugin {

/// What a shape rule gives: the type of each result, in order. Sizes that are only known at run time are numbers that
/// stand for them (berth_types): pass them on, or compute with them here.
class Results {
 public:
  explicit Results(const berth_types* types) : types_(types) {}

  /// Size `d` of a tensor.
  int64_t dim(const Value& value, int d) const { return types_->dim(types_->self, value.index(), d); }
  std::vector<int64_t> dims(const Value& value) const {
    std::vector<int64_t> sizes;
    for (int d = 0; d < value.rank(); ++d) sizes.push_back(dim(value, d));
    return sizes;
  }
  int64_t add(int64_t a, int64_t b) const { return types_->add(types_->self, a, b); }
  int64_t multiply(int64_t a, int64_t b) const { return types_->multiply(types_->self, a, b); }
  /// Rounds down. REQUIRES: b >= 1.
  int64_t divide(int64_t a, int64_t b) const { return types_->divide(types_->self, a, b); }

  /// A size that depends on what the arguments hold, from 0 to `most`, of an operator that is sized_by_contents; one of
  /// a call. BERTH_NO_NUMBER, which cannot be a size, in an older Berth.
  int64_t contents(int64_t most) {
    if (types_->size < offsetof(berth_types, contents) + sizeof types_->contents) return BERTH_NO_NUMBER;
    return types_->contents(types_->self, most);
  }

  /// The next result.
  void give(int32_t dtype, const std::vector<int64_t>& sizes) {
    types_->result(types_->self, dtype, sizes.data(), static_cast<int32_t>(sizes.size()));
  }
  /// The next result has the type of `value`.
  void like(const Value& value) { give(value.dtype(), dims(value)); }

 private:
  const berth_types* types_;
};

/// The arguments of a kernel's call, in the order of the schema, the results last. Tensors are in row-major order
/// unless the model says otherwise (berth_tensor::dim_order).
class Call {
 public:
  Call(const berth_call_argument* arguments, size_t size) : arguments_(arguments), size_(size) {}

  size_t size() const { return size_; }
  const berth_call_argument& operator[](size_t i) const { return arguments_[i]; }
  bool is_none(size_t i) const { return arguments_[i].kind == BERTH_ARG_NONE; }
  /// Tensor `k` of argument `i`. REQUIRES: there is one.
  berth_tensor& tensor(size_t i, size_t k = 0) const { return arguments_[i].tensors[k]; }
  /// Its elements. REQUIRES: they are of type T.
  template <typename T>
  T* data(size_t i, size_t k = 0) const {
    return static_cast<T*>(tensor(i, k).data);
  }
  /// How many elements tensor `k` of argument `i` has.
  int64_t numel(size_t i, size_t k = 0) const {
    int64_t count = 1;
    for (int32_t d = 0; d < tensor(i, k).rank; ++d) count *= tensor(i, k).sizes[d];
    return count;
  }
  /// Makes result `i` as large as tensor `from`, which has as many dimensions.
  void resize_like(size_t i, size_t from) const { std::copy_n(tensor(from).sizes, tensor(i).rank, tensor(i).sizes); }
  double number(size_t i, size_t k = 0) const {
    const berth_call_argument& a = arguments_[i];
    return a.kind == BERTH_ARG_DOUBLES ? a.doubles[k] : static_cast<double>(a.ints[k]);
  }
  int64_t integer(size_t i, size_t k = 0) const { return arguments_[i].ints[k]; }
  std::string_view text(size_t i) const { return {arguments_[i].text, arguments_[i].count}; }

 private:
  const berth_call_argument* arguments_;
  size_t size_;
};

class Operator {
 public:
  Operator(const char* name, const char* schema) {
    table_.size = sizeof table_;
    table_.self = this;
    table_.name = name;
    table_.schema = schema;
    table_.infer = [](void* self, const berth_graph* call, const berth_types* types, berth_message* message) {
      return call_plugin(message, [&] {
        Results results(types);
        return internal::give(static_cast<Operator*>(self)->infer(Graph(call).node(0), results), message);
      });
    };
    table_.compute = [](void* self, const berth_call_argument* arguments, size_t n, berth_message* message) {
      return call_plugin(
          message, [&] { return internal::give(static_cast<Operator*>(self)->compute(Call(arguments, n)), message); });
    };
  }
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  /// The types of the results of `call`, or why there are none.
  virtual Status infer(const Node& call, Results& results) = 0;
  /// Computes the results. Checks element types, which nothing else does; sizes are as infer() said.
  virtual Status compute(const Call& call) = 0;

  const berth_operator* table() const { return &table_; }

 protected:
  /// In place, effects, sizes by contents and the kernel's overload, to be set in the constructor.
  berth_operator table_ = {};
};

}  // namespace berth::plugin
