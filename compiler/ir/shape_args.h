// ShapeArgs: what the shape rules (shape_rules_*.cc) read their arguments through, and the sentences that they share.
//
// Every accessor REQUIRES what the schema says of that parameter and infer_types() has checked: a Tensor parameter
// holds a tensor value, an int a Dim, and so on. Sizes, ranges and relations between arguments are the rules' to check.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::ir {

using Types = std::vector<Type>;
using Shape = std::vector<Dim>;

/// Sizes in a program are 32-bit.
constexpr int64_t kMaxSize = 0x7fffffff;

class ShapeArgs {
 public:
  explicit ShapeArgs(const ShapeQuery& query) : query_(query), symbols(query.module.symbols) {}

  bool none(size_t i) const { return is_none(query_.args[i]); }
  const TensorType& tensor(size_t i) const { return query_.method.tensor(std::get<ValueId>(query_.args[i])); }
  const TensorType* optional_tensor(size_t i) const { return none(i) ? nullptr : &tensor(i); }
  /// The tensors of a list; null where it holds None.
  std::vector<const TensorType*> tensors(size_t i) const;
  Dim dim(size_t i) const { return std::get<Dim>(query_.args[i]); }
  const DimList& dims(size_t i) const { return std::get<DimList>(query_.args[i]); }
  bool truth(size_t i) const { return std::get<bool>(query_.args[i]); }
  const Argument& argument(size_t i) const { return query_.args[i]; }
  const Operator& op() const { return query_.op; }
  const ShapeQuery& query() const { return query_; }

  /// Argument `i` as a number known now.
  Expected<int64_t> integer(size_t i) const;
  Expected<std::vector<int64_t>> integers(size_t i) const;
  /// A list with one entry a spatial dimension: `count` numbers, or one that stands for all.
  Expected<std::vector<int64_t>> integers(size_t i, size_t count, int64_t at_least) const;
  /// Argument `i` as a dimension of a tensor of `rank` (negative counts from the end; rank 0 counts as 1).
  Expected<int> dimension(size_t i, int rank) const;
  /// `number` as a dimension, likewise.
  Expected<int> wrapped(int64_t number, int rank) const;
  /// A list of different dimensions.
  Expected<std::vector<int>> dimensions(size_t i, int rank) const;
  /// A ScalarType argument, or `otherwise` when it is None.
  Expected<DType> dtype(size_t i, DType otherwise) const;
  /// The dtype that a number counts as when combined with tensors: bool, i64, f32.
  Expected<DType> scalar_dtype(size_t i) const;

  /// A failure of this operator. `found` adds what was there.
  Failure fail(const std::string& message) const;
  Failure fail(Error code, const std::string& message) const;
  std::string text(const TensorType& type) const;
  std::string text(Dim dim) const { return symbols.text(dim); }
  std::string text(const Shape& shape) const;

  /// InvalidArgument "expected NAME of N dimensions, found TYPE" unless it has `low` to `high`.
  Status expect_rank(const TensorType& type, int low, int high, const char* name) const;

  /// What two sizes that must be equal are: a number if one is. Fails when they cannot be equal; sizes that may be
  /// equal at run time are taken to be (kernels check).
  Expected<Dim> same_size(Dim a, Dim b, const char* what) const;
  /// What two sizes broadcast to. Fails, naming both, when the ranges do not decide which one is 1.
  Expected<Dim> broadcast(Dim a, Dim b) const;
  Expected<Shape> broadcast(const Shape& a, const Shape& b) const;

  /// A contiguous type on the device of the operator's first tensor.
  TensorType type(DType dtype, Shape shape) const;
  Types one(DType dtype, Shape shape) const { return {type(dtype, std::move(shape))}; }
  /// A type with the dimension order that all of `inputs` of the same rank share, else contiguous.
  TensorType elementwise(DType dtype, Shape shape, const std::vector<const TensorType*>& inputs) const;

 private:
  const ShapeQuery& query_;

 public:
  Symbols& symbols;
};

/// The dtype of a result of tensors and numbers by PyTorch's rules: numbers and 0-d tensors only matter when they are
/// of a higher kind (bool < integer < floating < complex).
class Promotion {
 public:
  void tensor(const TensorType& type) { add(type.rank() > 0 ? dims_ : zeros_, type.dtype); }
  void number(DType dtype) { add(numbers_, dtype); }
  DType result() const;

 private:
  struct Part {
    bool set = false;
    DType dtype = DType::kF32;
  };
  static void add(Part& part, DType dtype);
  static Part combine(Part higher, Part lower);
  Part dims_, zeros_, numbers_;
};

/// f32 for integers and bool, else `dtype` itself.
DType float_of(DType dtype);
/// i64 for integers and bool, else `dtype` itself.
DType sum_of(DType dtype);

/// What is wrong with `type` in itself; empty when nothing is. Sizes lie within [0, kMaxSize], ranks within
/// kMaxRank, sizes are expressions of bounded length, the number of elements fits.
std::string type_problem(const TensorType& type, const Symbols& symbols);
/// type_problem() for all results of `op`.
Status check_results(const Module& module, const Operator& op, const Types& types);

}  // namespace berth::ir
