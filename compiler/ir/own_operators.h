// Operators of one's own: those that a model uses and the operator table does not have. An application describes them,
// the importers find them by name, and from then on they are nodes like others: planned, ordered, given to delegates of
// plug-ins' targets that take them, and emitted as calls of the kernels that the application brings at run time.
//
//     OperatorSet set;
//     BERTH_TRY(set.add({"my::gain", "Tensor self, float factor=1 -> Tensor out",
//                        [](const OwnCall& call) { return Expected<std::vector<TensorType>>({call.tensor(0)}); }}));
//     ImportOptions options;
//     options.operators = std::make_shared<const OperatorSet>(std::move(set));
//
// A plug-in brings them through its C interface (compiler/targets/plugin_operators.h). What a node of each importer is:
//
//     ONNX       domain "my", op_type "gain"       my::gain; inputs are tensors in order, attributes go by name
//     .pt2       torch.ops.my.gain.default         my::gain; torch.ops.my.gain.Tensor is my::gain.Tensor
//     .pte       my::gain.out                      the one with that name and out overload
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// A call whose results a shape rule is asked for. Arguments are as the schema has them, defaults filled in.
struct OwnCall {
  const ShapeQuery& query;
  Dim* by_contents;  // what size_by_contents() has answered; a number if it was not asked

  /// The type of argument `i`. REQUIRES: it is a tensor.
  const TensorType& tensor(size_t i) const { return query.method.tensor(std::get<ValueId>(query.args[i])); }
  const Argument& argument(size_t i) const { return query.args[i]; }
  /// Arithmetic on sizes, those that are only known at run time included.
  Symbols& sizes() const { return query.module.symbols; }
  /// The size that depends on what the arguments hold, from 0 to `most`: one of a call, the same each time it is asked
  /// for. InvalidArgument unless the operator is sized_by_contents, and for a `most` below 0.
  Expected<Dim> size_by_contents(int64_t most) const;
};

struct OwnOperator {
  /// "my::gain" or, of several overloads, "my::gain.Tensor" (base/operator_name.h).
  std::string name;
  /// In the language of format/operators.def: "Tensor self, float factor=1 -> Tensor out". See schema_problem().
  std::string schema;
  /// The types of the results, one for each. Sizes are numbers, expressions of the arguments' sizes and, as the first
  /// dimension of results, OwnCall::size_by_contents(). Devices are not looked at. A failure's place is filled in.
  std::function<Expected<std::vector<TensorType>>(const OwnCall& call)> infer;
  /// Bit i: the first result may be computed in the bytes of argument i, a tensor or a list of them, which is dead then
  /// and has the result's sizes, order and element size; each element must be written after all that depends on it was
  /// read, on however many threads. The kernel must allow the same (KernelEntry::in_place_arguments).
  uint32_t in_place_arguments = 0;
  /// Whether a call does more than compute its results: calls keep their order, and none is dropped or merged.
  bool has_effects = false;
  /// Whether the first dimension of the first result is as large as the arguments' elements make it, up to a bound; of
  /// other results it may be the same. The same call has the same size each time, so a call that has effects has none.
  bool sized_by_contents = false;
  /// The overload of the kernel that writes into memory it is given. Empty: "out", or of "my::gain.Tensor"
  /// "Tensor_out".
  std::string out_overload = {};
};

/// Operators by name. Filled first, then shared and not changed any more; thread-safe from then on.
class OperatorSet {
 public:
  /// InvalidArgument, with the operator's name as place, for a name that is not one's own (own_operator_problem) or
  /// that another operator of the set has; for a schema with a schema_problem(); for no shape rule; for bits in place
  /// of what is not a tensor.
  Status add(OwnOperator op);

  bool empty() const { return rows_.empty(); }
  /// By functional name, "my::gain"; null when there is none.
  const Operator* find(std::string_view name) const;
  /// By registered name and out overload, "my::gain" and "out"; null when there is none.
  const Operator* find_out_variant(std::string_view name, std::string_view out_overload) const;
  /// "my::gain, my::fold": all of them.
  std::string names() const;

 private:
  struct Row {
    OwnOperator own;
    Operator op;
  };
  std::map<std::string, std::unique_ptr<Row>, std::less<>> rows_;  // by functional name
};

/// An operator of the table or of `own`, which may be null.
const Operator* find_operator(std::string_view functional_name, const OperatorSet* own);
const Operator* find_out_variant(std::string_view name, std::string_view out_overload, const OperatorSet* own);

}  // namespace berth::ir
