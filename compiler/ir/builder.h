// Builder: appends nodes to a graph; fills defaults, infers types.
//
//     Builder build(module, method, method.body);
//     BERTH_ASSIGN_OR_RETURN(ValueId y, build.one(OpId::relu_out, {x}, "Relu_3"));
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::ir {

class Builder {
 public:
  /// The builder borrows all three; they must outlive it.
  Builder(Module& module, Method& method, Graph& graph) : module_(module), method_(method), graph_(graph) {}

  /// Appends `op` applied to `args` (trailing arguments may be left out where the schema has defaults) and returns its
  /// results. `source` names the node of the user's model. `name` is the wish for the first result's name. Fails with
  /// the operator as place when arguments or shapes do not fit; nothing is appended then.
  Expected<std::vector<ValueId>> create(OpId op, std::vector<Argument> args, std::string_view source,
                                        std::string_view name = {});
  /// The same for any operator, one's own among them (own_operators.h).
  Expected<std::vector<ValueId>> create(const Operator& op, std::vector<Argument> args, std::string_view source,
                                        std::string_view name = {});
  /// The same for operators with a single result; with several, the first is returned.
  Expected<ValueId> one(OpId op, std::vector<Argument> args, std::string_view source, std::string_view name = {});

  /// A constant tensor from bytes in row-major order.
  ValueId constant(TensorType type, Blob blob, std::string_view name = "c");
  /// A 0-d or shaped constant of one repeated number, converted to `dtype` (any real type or bool).
  ValueId splat(DType dtype, std::vector<Dim> shape, double number, std::string_view name = "c");
  /// A 1-d i64 constant.
  ValueId ints(const std::vector<int64_t>& numbers, std::string_view name = "c");

  Module& module() { return module_; }
  Method& method() { return method_; }
  Graph& graph() { return graph_; }

 private:
  Module& module_;
  Method& method_;
  Graph& graph_;
};

/// Checks `args` against the schema (number, kinds, None only where optional) and fills in defaults.
Status complete_arguments(const Method& method, const Operator& op, std::vector<Argument>& args);

/// complete_arguments(), then the types of the results.
Expected<std::vector<Type>> infer_types(Module& module, const Method& method, const Operator& op,
                                        std::vector<Argument>& args);

/// Whether a result may be declared with the type `declared` where the shape rule infers `inferred`. They must be equal
/// with three exceptions: sizes that depend on contents, such as those of `nonzero`, may have any name; a
/// layout-agnostic operator may have another dimension order; and devices are not compared (verify_devices.h checks
/// them).
bool types_agree(const Operator& op, const Type& inferred, const Type& declared);

/// `number` as the bytes of one `dtype` element. REQUIRES: is_real or is_narrow.
std::vector<uint8_t> element_bytes(DType dtype, double number);

/// A list of constant integers as an argument.
DimList dims(const std::vector<int64_t>& numbers);

}  // namespace berth::ir
