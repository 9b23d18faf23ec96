// The operator table as the compiler sees it: format/operators.def, parsed, with shape rules attached, and the few
// operators that exist in the IR alone. Applications add operators of their own beside it (own_operators.h).
//
// The IR's operators are functional: `aten::add.Tensor`. The emitter turns each into its out variant, `aten::add.out`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "compiler/ir/argument.h"
#include "compiler/ir/type.h"
#include "format/arguments.h"

// The arguments of the IR's own operators by name, as format/arguments.h has those of the table's.
namespace berth::arg {
namespace if_ {
enum : size_t { cond };
}
namespace while_ {
enum : size_t { init };
}
namespace scan {
enum : size_t { length, carried, scanned };
}
namespace delegate {
enum : size_t { inputs };
}
namespace state_write {
enum : size_t { value };
}
}  // namespace berth::arg

namespace berth::ir {

struct Module;
struct Method;
struct Operator;
struct OwnOperator;

/// One enumerator a row of operators.def, named like its portable kernel, then the IR's own.
enum class OpId : uint16_t {
#define OP(identifier, ...) identifier,
#include "format/operators.def"
#undef OP
  /// `berth::if(bool or bool tensor cond) {then} {else}`: results are the outputs of the region taken.
  if_,
  /// `berth::while(init…) {cond} {body}`: both regions take the carried values; cond yields one bool.
  while_,
  /// `berth::scan(length, carried…, scanned…) {body}`: body takes carried and one slice of each scanned value along
  /// dimension 0, yields carried and one slice of each stacked result.
  scan,
  /// `berth::delegate(inputs…) @name {body}`: a part of the graph that a backend runs; results are the body's outputs.
  /// Without a body the delegate was compiled elsewhere (Delegate::payload).
  delegate,
  /// `berth::state_read() @name`: the current value of a state of the module.
  state_read,
  /// `berth::state_write(value) @name`: at the end of the method the state has this value.
  state_write,
  kCount,
  /// All operators that are not in the table have this one (own_operators.h); Node::op tells them apart.
  own,
};

enum class ParameterType : uint8_t {
  kTensor,
  kTensorList,          // Tensor[]
  kOptionalTensorList,  // Tensor?[]
  kScalar,
  kInt,
  kIntList,
  kFloat,
  kFloatList,
  kBool,
  kBoolList,
  kString,
  kDType,  // ScalarType
  kMemoryFormat,
};

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::kTensor;
  bool optional = false;         // None is a legal argument
  bool functional_only = false;  // the out variant has no such argument
  std::optional<Argument> default_value;
};

// The columns of operators.def.

/// How an output may live in the storage of an argument.
enum class InPlaceClass : uint8_t { kNever, kElement, kRow, kSelf };
/// What the bytes of an output may be.
enum class ViewKind : uint8_t { kNone, kReshape, kReorder, kConcat, kPart };
/// What an operator does with elements, which says of which types they may be.
enum class ElementUse : uint8_t { kComputes, kComputesComplex, kStoresNumber, kConverts, kMoves };
/// Roles that passes and the loader look for.
enum class OperatorRole : uint8_t {
  kPlain,
  kRandom,
  kFused,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kDequantizes,
  kOverwrites,
};

/// The input of a shape rule, which infers the types of the results of `op` applied to `args`.
struct ShapeQuery {
  Module& module;  // for symbol arithmetic
  const Method& method;
  const Operator& op;
  const std::vector<Argument>& args;  // one a parameter, defaults filled in
};
using ShapeRule = Expected<std::vector<Type>> (*)(const ShapeQuery& query);

struct Operator {
  OpId id = OpId::kCount;
  std::string_view name;          // "aten::add": registered name without overload
  std::string functional_name;    // "aten::add.Tensor": how the IR's text writes it
  std::string_view out_overload;  // "out"
  std::vector<Parameter> parameters;
  std::vector<std::string_view> outputs;  // names of the outputs; one "out" of a list for Tensor[] results
  bool output_is_list = false;            // the one output is Tensor[]
  bool writes_self = false;               // Tensor(self): argument 0 is written, there is no out argument
  ShapeRule infer = nullptr;              // null for the IR's own region and state operators
  InPlaceClass in_place = InPlaceClass::kNever;
  uint32_t in_place_arguments = 0;  // bit i: argument i
  ViewKind view = ViewKind::kNone;
  size_t dim_argument = 0;        // kConcat and kPart: the parameter that is the dimension
  uint32_t unplaced_outputs = 0;  // bit k: output k may be without memory when nothing reads it
  /// Whether its kernels write results in whatever dimension order they have, so that a graph may say another than the
  /// shape rule's.
  bool layout_agnostic = false;
  bool sized_by_contents = false;  // a size of the result depends on the elements of an argument
  ElementUse elements = ElementUse::kComputes;
  OperatorRole role = OperatorRole::kPlain;
  /// What the application says of an operator of its own; null for those of the table.
  const OwnOperator* own = nullptr;
  bool has_effects = false;  // calls keep their order, and none is dropped

  bool is_random() const { return role == OperatorRole::kRandom; }
  bool is_fused() const { return role == OperatorRole::kFused; }
  bool is_dequantization() const { return role == OperatorRole::kDequantizes; }

  bool copies_from_device() const {
    return role == OperatorRole::kDeviceToHost || role == OperatorRole::kDeviceToDevice;
  }
  bool copies_to_device() const { return role == OperatorRole::kHostToDevice || role == OperatorRole::kDeviceToDevice; }
  bool is_device_copy() const { return copies_from_device() || copies_to_device(); }

  bool is_reshape() const { return view == ViewKind::kReshape; }
  /// Whether all of the result may be another name for the bytes of argument 0.
  bool may_be_view() const { return view == ViewKind::kReshape || view == ViewKind::kReorder; }
  /// Whether it concatenates tensors, or slices or splits one, along `dim_argument`.
  bool joins_or_cuts() const { return view == ViewKind::kConcat || view == ViewKind::kPart; }

  /// Index of the parameter called `parameter`, or -1.
  int parameter_index(std::string_view parameter) const;
};

/// The row of `id`. REQUIRES: id < OpId::kCount.
const Operator& operator_of(OpId id);

/// By functional name, "aten::add.Tensor"; null when there is none.
const Operator* find_operator(std::string_view functional_name);
/// By registered name and out overload, "aten::add" and "out"; null when there is none.
const Operator* find_out_variant(std::string_view name, std::string_view out_overload);

}  // namespace berth::ir
