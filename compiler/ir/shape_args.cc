#include "compiler/ir/shape_args.h"

#include <algorithm>

#include "compiler/ir/print.h"

namespace berth::ir {

std::vector<const TensorType*> ShapeArgs::tensors(size_t i) const {
  std::vector<const TensorType*> types;
  for (ValueId id : std::get<ValueList>(query_.args[i])) {
    types.push_back(id.valid() ? &query_.method.tensor(id) : nullptr);
  }
  return types;
}

Failure ShapeArgs::fail(Error code, const std::string& message) const {
  return Failure{code, query_.op.functional_name, message};
}

Failure ShapeArgs::fail(const std::string& message) const { return fail(Error::kInvalidArgument, message); }

std::string ShapeArgs::text(const TensorType& type) const { return print(Type(type), symbols); }

std::string ShapeArgs::text(const Shape& shape) const {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ",") + symbols.text(shape[i]);
  return out + "]";
}

Expected<int64_t> ShapeArgs::integer(size_t i) const {
  const Dim number = dim(i);
  if (number.is_constant()) return number.value;
  return fail(Error::kNotSupported, "expected a number for '" + std::string(op().parameters[i].name) + "', found " +
                                        text(number) + ", which is known only at run time");
}

Expected<std::vector<int64_t>> ShapeArgs::integers(size_t i) const {
  std::vector<int64_t> numbers;
  for (Dim number : dims(i)) {
    if (!number.is_constant()) {
      return fail(Error::kNotSupported, "expected numbers for '" + std::string(op().parameters[i].name) + "', found " +
                                            text(number) + ", which is known only at run time");
    }
    numbers.push_back(number.value);
  }
  return numbers;
}

Expected<std::vector<int64_t>> ShapeArgs::integers(size_t i, size_t count, int64_t at_least) const {
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> numbers, integers(i));
  const std::string name(op().parameters[i].name);
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  if (numbers.size() != count) {
    return fail("expected " + std::to_string(count) + " numbers for '" + name + "', found " +
                std::to_string(numbers.size()));
  }
  for (int64_t number : numbers) {
    if (number < at_least || number > kMaxSize) {
      return fail("expected '" + name + "' between " + std::to_string(at_least) + " and " + std::to_string(kMaxSize) +
                  ", found " + std::to_string(number));
    }
  }
  return numbers;
}

Expected<int> ShapeArgs::wrapped(int64_t number, int rank) const {
  const int64_t range = std::max(rank, 1);
  if (number < -range || number >= range) {
    return fail("expected a dimension between " + std::to_string(-range) + " and " + std::to_string(range - 1) +
                ", found " + std::to_string(number));
  }
  return static_cast<int>(number < 0 ? number + range : number);
}

Expected<int> ShapeArgs::dimension(size_t i, int rank) const {
  BERTH_ASSIGN_OR_RETURN(const int64_t number, integer(i));
  return wrapped(number, rank);
}

Expected<std::vector<int>> ShapeArgs::dimensions(size_t i, int rank) const {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, integers(i));
  std::vector<int> result;
  for (int64_t number : numbers) {
    BERTH_ASSIGN_OR_RETURN(const int d, wrapped(number, rank));
    if (std::find(result.begin(), result.end(), d) != result.end()) {
      return fail("expected different dimensions, found dimension " + std::to_string(d) + " twice");
    }
    result.push_back(d);
  }
  return result;
}

Expected<DType> ShapeArgs::dtype(size_t i, DType otherwise) const {
  if (none(i)) return otherwise;
  BERTH_ASSIGN_OR_RETURN(const int64_t number, integer(i));
  if (number < 0 || number > kMaxDTypeNumber || !is_valid_dtype(static_cast<int>(number))) {
    return fail("expected a dtype, found the number " + std::to_string(number));
  }
  return static_cast<DType>(number);
}

Expected<DType> ShapeArgs::scalar_dtype(size_t i) const {
  const Argument& a = query_.args[i];
  if (std::holds_alternative<bool>(a)) return DType::kBool;
  if (std::holds_alternative<double>(a)) return DType::kF32;
  if (const ValueId* id = std::get_if<ValueId>(&a)) {
    const ScalarKind* kind = std::get_if<ScalarKind>(&query_.method.value(*id).type);
    if (kind == nullptr) {
      return fail("expected a number for '" + std::string(op().parameters[i].name) + "', found " +
                  text(query_.method.tensor(*id)));
    }
    if (*kind == ScalarKind::kBool) return DType::kBool;
    return *kind == ScalarKind::kFloat ? DType::kF32 : DType::kI64;
  }
  return DType::kI64;
}

Status ShapeArgs::expect_rank(const TensorType& type, int low, int high, const char* name) const {
  if (type.rank() >= low && type.rank() <= high) return Done{};
  std::string wanted = std::to_string(low);
  if (high != low) wanted += high >= kMaxRank ? " or more" : " to " + std::to_string(high);
  return fail("expected " + std::string(name) + " of " + wanted + " dimensions, found " + text(type));
}

Expected<Dim> ShapeArgs::same_size(Dim a, Dim b, const char* what) const {
  if (a == b) return a;
  const bool apart = symbols.upper(a) < symbols.lower(b) || symbols.upper(b) < symbols.lower(a);
  if (apart || (a.is_constant() && b.is_constant())) {
    return fail("expected equal " + std::string(what) + ", found " + text(a) + " and " + text(b));
  }
  return b.is_constant() ? b : a;
}

Expected<Dim> ShapeArgs::broadcast(Dim a, Dim b) const {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  const bool a_may_be_one = symbols.lower(a) <= 1 && symbols.upper(a) >= 1;
  const bool b_may_be_one = symbols.lower(b) <= 1 && symbols.upper(b) >= 1;
  const bool apart = symbols.upper(a) < symbols.lower(b) || symbols.upper(b) < symbols.lower(a) ||
                     (a.is_constant() && b.is_constant());
  if (!apart && !a_may_be_one && !b_may_be_one) return b.is_constant() ? b : a;
  if (apart && a_may_be_one != b_may_be_one) return a_may_be_one ? b : a;
  const std::string found = "found sizes " + text(a) + " and " + text(b);
  if (apart) return fail("expected sizes that are equal or 1, " + found);
  return fail(Error::kNotSupported, "expected sizes of which it is known whether they are equal or 1, " + found +
                                        "; give the symbols a number or a lower bound of 2");
}

Expected<Shape> ShapeArgs::broadcast(const Shape& a, const Shape& b) const {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t skip = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    auto size = broadcast(longer[skip + i], shorter[i]);
    if (!size.ok()) {
      Failure failure = size.error();
      failure.message += " in " + text(a) + " and " + text(b);
      return failure;
    }
    result[skip + i] = *size;
  }
  return result;
}

TensorType ShapeArgs::type(DType dtype, Shape shape) const {
  TensorType result;
  result.dtype = dtype;
  result.shape = std::move(shape);
  for (const Argument& argument : query_.args) {
    ValueId first;
    for_each_value(argument, [&](const ValueId& id) {
      if (!first.valid() && query_.method.value(id).tensor() != nullptr) first = id;
    });
    if (!first.valid()) continue;
    result.device = query_.method.tensor(first).device;
    break;
  }
  return result;
}

TensorType ShapeArgs::elementwise(DType dtype, Shape shape, const std::vector<const TensorType*>& inputs) const {
  TensorType result = type(dtype, std::move(shape));
  const TensorType* leader = nullptr;
  for (const TensorType* input : inputs) {
    if (input == nullptr || input->shape != result.shape) continue;
    if (leader == nullptr) leader = input;
    if (input->is_contiguous() != leader->is_contiguous()) return result;
    if (!leader->is_contiguous() && input->dim_order != leader->dim_order) return result;
  }
  if (leader != nullptr && !leader->is_contiguous()) result.dim_order = leader->dim_order;
  return result;
}

void Promotion::add(Part& part, DType dtype) {
  part.dtype = part.set ? promote_types(part.dtype, dtype) : dtype;
  part.set = true;
}

Promotion::Part Promotion::combine(Part higher, Part lower) {
  if (!higher.set) return lower;
  if (!lower.set || is_complex(higher.dtype)) return higher;
  if (is_floating(higher.dtype)) {
    if (is_complex(lower.dtype)) higher.dtype = promote_types(higher.dtype, DType::kComplex64);
    return higher;
  }
  if (higher.dtype == DType::kBool || is_floating(lower.dtype) || is_complex(lower.dtype)) {
    higher.dtype = promote_types(higher.dtype, lower.dtype);
  }
  return higher;
}

DType Promotion::result() const { return combine(dims_, combine(zeros_, numbers_)).dtype; }

DType float_of(DType dtype) { return is_integer(dtype) || dtype == DType::kBool ? DType::kF32 : dtype; }
DType sum_of(DType dtype) { return is_integer(dtype) || dtype == DType::kBool ? DType::kI64 : dtype; }

std::string type_problem(const TensorType& type, const Symbols& symbols) {
  // Sizes grow into expressions over many nodes; a longer one does not help, and its text could double at each node.
  constexpr int kMaxTerms = 256;
  constexpr int64_t kMaxElements = int64_t{1} << 56;
  if (type.rank() > kMaxRank) {
    return "expected at most " + std::to_string(kMaxRank) + " dimensions, found " + std::to_string(type.rank());
  }
  for (Dim size : type.shape) {
    if (symbols.terms(size) > kMaxTerms) {
      return "a size is an expression of more than " + std::to_string(kMaxTerms) + " terms";
    }
    if (size.is_constant() ? size.value < 0 || size.value > kMaxSize : symbols.upper(size) < 0) {
      return "expected sizes between 0 and " + std::to_string(kMaxSize) + ", found " + symbols.text(size);
    }
  }
  if (type.is_static() && max_numel(type, symbols) > kMaxElements) return "a tensor has more than 2^56 elements";
  return "";
}

Status check_results(const Module& module, const Operator& op, const Types& types) {
  for (const Type& type : types) {
    const TensorType* tensor = std::get_if<TensorType>(&type);
    if (tensor == nullptr) continue;
    const std::string problem = type_problem(*tensor, module.symbols);
    if (!problem.empty()) return Failure{Error::kNotSupported, op.functional_name, "its result: " + problem};
  }
  return Done{};
}

}  // namespace berth::ir
