// Lowering: translates one node of a model to operators of the IR. Every importer's node context derives from it and
// adds the accessors of its file format.
//
//     ValueId hard_swish(Lowering& n, ValueId x) {
//       const ValueId gate = n.op(OpId::clamp_out, {n.op(OpId::add_Scalar_out, {x, 3.0}), 0.0, 6.0});
//       return n.op(OpId::mul_out, {x, n.op(OpId::mul_Scalar_out, {gate, 1.0 / 6})});
//     }
//
// It keeps the first failure. After that nothing is appended, calls return empty values, and every accessor accepts
// them, so importers need not check for failures at each step. Shapes of empty values are empty, so loops over their
// sizes end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"

namespace berth::lowering {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::None;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

/// The limit on the number of elements of a tensor.
constexpr int64_t kMaxElements = int64_t{1} << 40;

/// The name of a node in messages and in the IR.
struct NodeName {
  std::string place;   // of failures: onnx node "Conv_12"
  std::string type;    // before the sentence of failures: Conv
  std::string source;  // ir::Node::source
  std::string wish;    // how values are named: the first result
};

class Lowering {
 public:
  /// Borrows `build`; it appends there.
  Lowering(ir::Builder& build, NodeName name) : build_(&build), name_(std::move(name)) {}

  ir::Symbols& symbols() { return build_->module().symbols; }
  const std::string& source() const { return name_.source; }

  // Failure
  bool ok() const { return !failure_.has_value(); }
  void fail(Error code, std::string message);
  void fail(Failure failure);
  void unsupported(std::string message) { fail(Error::kNotSupported, std::move(message)); }
  void invalid(std::string message) { fail(Error::kInvalidArgument, std::move(message)); }
  /// REQUIRES: !ok().
  const Failure& failure() const { return *failure_; }

  // Types. All are safe for empty values: f32, rank 0, Dim(1).
  DType dtype(ValueId v) const;
  std::vector<Dim> shape(ValueId v) const;
  int rank(ValueId v) const;
  Dim dim(ValueId v, int axis) const;
  /// The product of dimensions [first, last).
  Dim product(const std::vector<Dim>& shape, int first, int last);
  /// Whether `v` is a constant of the module.
  bool is_constant(ValueId v) const { return constant_of(v) != nullptr; }
  /// That constant, or null.
  const ir::Constant* constant_of(ValueId v) const {
    return v.valid() ? ir::constant_of(build_->module(), build_->method(), v) : nullptr;
  }
  /// "f32[1,64,n]", for messages.
  std::string type_text(ValueId v) const;
  /// `dim` as a number; fails with `what` when it is a symbol.
  int64_t fixed(Dim dim, const char* what);
  /// `axis` counted from the front; fails when outside [-rank, rank). 0 after any failure.
  int axis(int64_t axis, int rank);
  /// The same for several; fails on repeats.
  std::vector<int> axes(const std::vector<int64_t>& axes, int rank);

  // Building
  /// Appends an operator and returns its first result.
  ValueId op(OpId id, std::vector<Argument> args);
  /// Appends an operator and returns all results; empty after a failure.
  std::vector<ValueId> ops(OpId id, std::vector<Argument> args) { return ops(ir::operator_of(id), std::move(args)); }
  /// The same for any operator, one's own among them.
  std::vector<ValueId> ops(const ir::Operator& op, std::vector<Argument> args);
  ValueId splat(DType dtype, std::vector<Dim> shape, double number);
  ValueId ints(const std::vector<int64_t>& numbers);
  /// A constant of `numbers`, converted to `dtype`, along dimension `axis` of `rank` (the others have size 1).
  ValueId numbers(DType dtype, const std::vector<double>& numbers, int rank, int axis);
  ValueId constant(ir::TensorType type, ir::Blob blob);
  /// Returns `x` if nothing would change.
  ValueId cast(ValueId x, DType dtype);
  ValueId view(ValueId x, std::vector<Dim> shape);
  ValueId permute(ValueId x, const std::vector<int64_t>& order);
  ValueId expand(ValueId x, std::vector<Dim> shape);
  /// Elements [begin, end) of `x` along `axis`.
  ValueId slice(ValueId x, int axis, Dim begin, Dim end);
  /// `x` with dimensions of size 1 in front, until it has `rank` of them.
  ValueId pad_rank(ValueId x, int rank);

  /// Appends `id` (if, while or scan) with `regions`, whose results have `types`; empty after a failure.
  std::vector<ValueId> control(OpId id, std::vector<Argument> args, std::vector<ir::Graph> regions,
                               std::vector<ir::Type> types);
  /// Calls `f` and appends its operators to `graph`, a region of a node that is created later.
  template <typename F>
  void inside(ir::Graph& graph, F&& f) {
    ir::Builder into(module(), method(), graph);
    ir::Builder* around = std::exchange(build_, &into);
    f();
    build_ = around;
  }
  /// A value that stands for an input of a region.
  ValueId region_input(ir::Type type) { return method().add_value(std::move(type), name_.wish + ".in"); }

  /// The node that computes `v`, or null when `v` is not a node's result.
  const ir::Node* producer(ValueId v) const;

 protected:
  ir::Builder& build() { return *build_; }
  ir::Method& method() const { return build_->method(); }
  ir::Module& module() const { return build_->module(); }
  const NodeName& name() const { return name_; }
  /// Fails if `type` is not valid for a constant, since a file may declare anything.
  bool may_be_constant(const ir::TensorType& type);
  /// Whether another operator may be appended; fails otherwise.
  bool may_append();
  ValueId append(OpId id, std::vector<Argument> args, std::string_view name);

 private:
  /// Fails when constants of `dtype` cannot be made from numbers.
  bool has_numbers(DType dtype);

  ir::Builder* build_;
  NodeName name_;
  std::optional<Failure> failure_;
};

/// A dtype as an argument.
inline Dim number_of(DType dtype) { return Dim(static_cast<int64_t>(dtype)); }

}  // namespace berth::lowering
