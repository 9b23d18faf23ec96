#include "compiler/ir/builder.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/narrow.h"
#include "compiler/ir/shape_args.h"

namespace berth::ir {
namespace {

bool fits(const Argument& argument, const Parameter& parameter) {
  if (is_none(argument)) return parameter.optional;
  switch (parameter.type) {
    case ParameterType::kTensor: return std::holds_alternative<ValueId>(argument);
    case ParameterType::kTensorList:
    case ParameterType::kOptionalTensorList: return std::holds_alternative<ValueList>(argument);
    case ParameterType::kScalar:
      return std::holds_alternative<Dim>(argument) || std::holds_alternative<double>(argument) ||
             std::holds_alternative<bool>(argument) || std::holds_alternative<ValueId>(argument);
    case ParameterType::kInt:
    case ParameterType::kDType:
    case ParameterType::kMemoryFormat: return std::holds_alternative<Dim>(argument);
    case ParameterType::kIntList: return std::holds_alternative<DimList>(argument);
    case ParameterType::kFloat: return std::holds_alternative<double>(argument);
    case ParameterType::kFloatList: return std::holds_alternative<FloatList>(argument);
    case ParameterType::kBool: return std::holds_alternative<bool>(argument);
    case ParameterType::kBoolList: return std::holds_alternative<BoolList>(argument);
    case ParameterType::kString: return std::holds_alternative<std::string>(argument);
  }
  return false;
}

Status check_values(const Method& method, const Operator& op, const Argument& argument, const Parameter& parameter) {
  const bool tensors = parameter.type == ParameterType::kTensor || parameter.type == ParameterType::kTensorList ||
                       parameter.type == ParameterType::kOptionalTensorList;
  bool known = true;
  bool kinds = true;
  for_each_value(argument, [&](const ValueId& v) {
    known = known && method.values.contains(v);
    if (known && tensors) kinds = kinds && method.value(v).tensor() != nullptr;
  });
  if (const ValueId* one = std::get_if<ValueId>(&argument)) known = known && one->valid();
  if (const ValueList* list = std::get_if<ValueList>(&argument); list && parameter.type == ParameterType::kTensorList) {
    for (ValueId v : *list) known = known && v.valid();
  }
  const std::string what = "argument '" + std::string(parameter.name) + "' ";
  if (!known) return Failure{Error::kInvalidArgument, op.functional_name, what + "names a value that does not exist"};
  if (!kinds) return Failure{Error::kInvalidType, op.functional_name, what + "must be a tensor"};
  return Done{};
}

}  // namespace

Status complete_arguments(const Method& method, const Operator& op, std::vector<Argument>& args) {
  if (args.size() > op.parameters.size()) {
    return Failure{
        Error::kInvalidArgument, op.functional_name,
        "takes at most " + std::to_string(op.parameters.size()) + " arguments, found " + std::to_string(args.size())};
  }
  for (size_t i = args.size(); i < op.parameters.size(); ++i) {
    if (!op.parameters[i].default_value.has_value()) {
      return Failure{Error::kInvalidArgument, op.functional_name,
                     "argument '" + std::string(op.parameters[i].name) + "' is missing"};
    }
    args.push_back(*op.parameters[i].default_value);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const Parameter& parameter = op.parameters[i];
    // A whole number where a float is asked for is that float.
    if (parameter.type == ParameterType::kFloat) {
      if (const Dim* dim = std::get_if<Dim>(&args[i]); dim && dim->is_constant()) {
        args[i] = static_cast<double>(dim->value);
      }
    }
    if (!fits(args[i], parameter)) {
      return Failure{Error::kInvalidType, op.functional_name,
                     "argument '" + std::string(parameter.name) + "' has the wrong kind"};
    }
    BERTH_TRY(check_values(method, op, args[i], parameter));
  }
  return Done{};
}

Expected<std::vector<Type>> infer_types(Module& module, const Method& method, const Operator& op,
                                        std::vector<Argument>& args) {
  BERTH_TRY(complete_arguments(method, op, args));
  if (op.infer == nullptr) {
    return Failure{Error::kNotSupported, op.functional_name, "its results cannot be inferred; say their types"};
  }
  auto types = op.infer(ShapeQuery{module, method, op, args});
  if (types.ok()) BERTH_TRY(check_results(module, op, *types));
  return types;
}

bool types_agree(const Operator& op, const Type& inferred, const Type& declared) {
  const TensorType* a = std::get_if<TensorType>(&inferred);
  const TensorType* b = std::get_if<TensorType>(&declared);
  if (a == nullptr || b == nullptr) return inferred == declared;
  TensorType expected = *a;
  expected.device = b->device;
  if (op.sized_by_contents && !b->shape.empty() && expected.rank() == b->rank()) expected.shape[0] = b->shape[0];
  if (op.layout_agnostic && expected.rank() == b->rank()) expected.dim_order = b->dim_order;
  return expected == *b;
}

Expected<std::vector<ValueId>> Builder::create(OpId id, std::vector<Argument> args, std::string_view source,
                                               std::string_view name) {
  return create(operator_of(id), std::move(args), source, name);
}

Expected<std::vector<ValueId>> Builder::create(const Operator& op, std::vector<Argument> args, std::string_view source,
                                               std::string_view name) {
  auto types = infer_types(module_, method_, op, args);
  if (!types.ok()) return types.error();
  Node node;
  node.op = &op;
  node.args = std::move(args);
  node.source = std::string(source);
  const NodeId node_id = method_.nodes.next_id();
  for (size_t i = 0; i < types->size(); ++i) {
    const ValueId result = method_.add_value(std::move((*types)[i]), i == 0 ? name : std::string_view());
    Value& value = method_.value(result);
    value.kind = ValueKind::kNode;
    value.node = node_id;
    value.result = static_cast<int>(i);
    node.results.push_back(result);
  }
  std::vector<ValueId> results = node.results;
  method_.nodes.push_back(std::move(node));
  graph_.nodes.push_back(node_id);
  return results;
}

Expected<ValueId> Builder::one(OpId op, std::vector<Argument> args, std::string_view source, std::string_view name) {
  auto results = create(op, std::move(args), source, name);
  if (!results.ok()) return results.error();
  return (*results)[0];
}

ValueId Builder::constant(TensorType type, Blob blob, std::string_view name) {
  return method_.constant_value(module_, module_.add_constant(name, std::move(type), std::move(blob)));
}

ValueId Builder::splat(DType dtype, std::vector<Dim> shape, double number, std::string_view name) {
  TensorType type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  const size_t count = max_numel(type, module_.symbols);
  return constant(std::move(type), Blob::splat(element_bytes(dtype, number), count), name);
}

ValueId Builder::ints(const std::vector<int64_t>& numbers, std::string_view name) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  TensorType type;
  type.dtype = DType::kI64;
  type.shape = {Dim(static_cast<int64_t>(numbers.size()))};
  return constant(std::move(type), Blob::owned(std::move(bytes)), name);
}

std::vector<uint8_t> element_bytes(DType dtype, double number) {
  std::vector<uint8_t> bytes(element_size(dtype));
  const auto put = [&](auto x) { std::memcpy(bytes.data(), &x, sizeof x); };
  // Through int64, so that numbers out of range wrap instead of being undefined.
  const int64_t whole = std::abs(number) < 9.2e18 ? static_cast<int64_t>(number) : 0;
  switch (dtype) {
    case DType::kBool: put(static_cast<uint8_t>(number != 0)); break;
    case DType::kU8: put(static_cast<uint8_t>(whole)); break;
    case DType::kI8: put(static_cast<int8_t>(whole)); break;
    case DType::kU16: put(static_cast<uint16_t>(whole)); break;
    case DType::kI16: put(static_cast<int16_t>(whole)); break;
    case DType::kU32: put(static_cast<uint32_t>(whole)); break;
    case DType::kI32: put(static_cast<int32_t>(whole)); break;
    case DType::kU64:
    case DType::kI64: put(whole); break;
    case DType::kF16: put(Half(static_cast<float>(number)).bits); break;
    case DType::kBF16: put(BFloat16(static_cast<float>(number)).bits); break;
    case DType::kF32: put(static_cast<float>(number)); break;
    case DType::kF64: put(number); break;
    default:
      BERTH_CHECK(is_narrow(dtype));
      const auto real = static_cast<float>(number);
      if (is_narrow_float(dtype)) encode_narrow(dtype, &real, bytes.data(), 1);
      if (is_narrow_integer(dtype)) encode_narrow(dtype, &whole, bytes.data(), 1);
  }
  return bytes;
}

DimList dims(const std::vector<int64_t>& numbers) { return DimList(numbers.begin(), numbers.end()); }

}  // namespace berth::ir
