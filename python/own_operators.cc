#include "python/own_operators.h"

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "python/arrays.h"
#include "python/casters.h"
#include "python/errors.h"
#include "python/new_arrays.h"
#include "runtime/host/dim_order_copy.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

/// A graph that a function of Python's is asked about, and the arithmetic on its sizes, for as long as that call lasts.
class GraphScope {
 public:
  GraphScope(const berth_graph* graph, const berth_types* types) : graph_(graph), types_(types) {}
  void end() { graph_ = nullptr; }

  /// '+', '*' or '/', which rounds down, of sizes.
  int64_t compute(const std::string& operation, int64_t a, int64_t b) const {
    require();
    const auto function = operation == "+" ? types_->add : operation == "*" ? types_->multiply : types_->divide;
    return function(types_->self, a, b);
  }
  /// A size that depends on what the arguments hold.
  int64_t contents(int64_t most) const {
    require();
    return types_->contents(types_->self, most);
  }

  /// The elements of a constant, in an array of their own.
  nb::object constant(int32_t value) const {
    require();
    const berth_value& from = graph_->values[value];
    const size_t rank = from.rank;
    NewArray array(static_cast<DType>(from.dtype), {from.max_sizes, rank});
    const std::vector<int32_t> sizes(from.max_sizes, from.max_sizes + rank);
    copy_to_dim_order(from.constant.data, {from.dim_order, rank}, array.data(), {}, sizes,
                      element_size(static_cast<DType>(from.dtype)));
    return array.take();
  }

 private:
  void require() const {
    if (graph_ == nullptr) raise(Error::kInvalidState, "shape rule", "a value is used after the rule has returned");
  }

  const berth_graph* graph_;
  const berth_types* types_;
};

nb::object value_object(const std::shared_ptr<GraphScope>& scope, const berth_graph& graph, const berth_types& types,
                        int32_t index) {
  if (index < 0) return nb::none();
  const berth_value& value = graph.values[index];
  nb::list sizes;
  for (int32_t d = 0; d < value.rank; ++d) sizes.append(types.dim(types.self, index, d));
  const nb::object shape = value.rank < 0 ? nb::none() : nb::object(sizes);
  return nb::module_::import_("berth._plugin")
      .attr("Value")(scope, index, value.name, to_string(static_cast<DType>(value.dtype)), shape,
                     value.from == BERTH_FROM_CONSTANT);
}

// One item, or a list of all.
template <typename Item>
nb::object one_or_list(bool is_list, size_t count, const Item& item) {
  if (!is_list) return count == 0 ? nb::none() : item(0);
  nb::list list;
  for (size_t i = 0; i < count; ++i) list.append(item(i));
  return list;
}

nb::object argument_object(const std::shared_ptr<GraphScope>& scope, const berth_graph& graph, const berth_types& types,
                           const berth_argument& from) {
  const auto each = [&](const auto& item) { return one_or_list(from.is_list != 0, from.count, item); };
  switch (from.kind) {
    case BERTH_ARG_VALUE: return value_object(scope, graph, types, from.values[0]);
    case BERTH_ARG_VALUES:
      return one_or_list(true, from.count, [&](size_t i) { return value_object(scope, graph, types, from.values[i]); });
    case BERTH_ARG_INTS: return each([&](size_t i) { return nb::cast(from.ints[i]); });
    case BERTH_ARG_DOUBLES: return each([&](size_t i) { return nb::cast(from.doubles[i]); });
    case BERTH_ARG_BOOLS: return each([&](size_t i) { return nb::cast(from.ints[i] != 0); });
    case BERTH_ARG_TEXT: return nb::cast(std::string(from.text));
    case BERTH_ARG_DTYPE: return nb::cast(std::string(to_string(static_cast<DType>(from.ints[0]))));
    default: return nb::none();
  }
}

// An array over memory of the program's, which the kernel may read until it returns.
nb::object view_of(const berth_tensor& tensor, nb::handle lease) {
  if (tensor.rank < 0) return nb::none();
  const std::vector<int64_t> sizes(tensor.sizes, tensor.sizes + tensor.rank);
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[tensor.dim_order[i]] = stride;
    stride *= sizes[tensor.dim_order[i]];
  }
  static const uint64_t nothing = 0;
  return view_array(tensor.bytes == 0 ? &nothing : tensor.data, static_cast<DType>(tensor.dtype), sizes, strides,
                    lease);
}

bool is_list(ArgKind kind) {
  return kind == ArgKind::kTensorList || kind == ArgKind::kOptionalTensorList || kind == ArgKind::kIntList ||
         kind == ArgKind::kFloatList || kind == ArgKind::kBoolList;
}

/// What a kernel gave for one result, and where it goes.
struct Given {
  Borrowed array;
  berth_tensor* tensor;
  std::vector<uint8_t> own = {};  // the elements, if the array lies where results are written
};

// From the lowest to behind the highest byte that the elements of an array have.
std::pair<const uint8_t*, const uint8_t*> extent(const Borrowed& array) {
  const uint8_t* low = array.data();
  const uint8_t* high = array.data() + element_size(array.dtype());
  for (int d = 0; d < array.rank(); ++d) {
    const int64_t reach = array.stride(d) * (array.size(d) - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool overlaps(const Borrowed& array, const berth_tensor& tensor) {
  if (array.numel() == 0) return false;
  const auto [low, high] = extent(array);
  const auto* begin = static_cast<const uint8_t*>(tensor.data);
  return low < begin + tensor.capacity && begin < high;
}

// Whether the array may be the tensor's next contents.
void require_fits(const Borrowed& array, const berth_tensor& tensor, const std::string& place) {
  if (array.dtype() != static_cast<DType>(tensor.dtype) || array.rank() != tensor.rank) {
    raise(Error::kInvalidArgument, place,
          std::string("is ") + to_string(static_cast<DType>(tensor.dtype)) + " of " + std::to_string(tensor.rank) +
              " dimensions, and the kernel gave " + array.text());
  }
  if (!array.device().is_cpu()) {
    raise(Error::kNotSupported, place, "the kernel gave " + array.text() + "; results are copied from the host");
  }
  if (array.nbytes() > tensor.capacity) {
    raise(Error::kInvalidArgument, place,
          "has room for " + std::to_string(tensor.capacity) + " bytes, and the kernel gave " + array.text());
  }
}

void write(const Given& given) {
  const berth_tensor& tensor = *given.tensor;
  const Span<const uint8_t> order(tensor.dim_order, tensor.rank);
  auto* const to = static_cast<uint8_t*>(tensor.data);
  if (given.own.empty()) {
    given.array.copy_to(to, order);
  } else {
    std::copy(given.own.begin(), given.own.end(), to);
  }
  for (int d = 0; d < given.array.rank(); ++d) tensor.sizes[d] = static_cast<int32_t>(given.array.size(d));
}

}  // namespace

OwnOperator::OwnOperator(nb::handle description)
    : name_(nb::cast<std::string>(description.attr("name"))),
      schema_(nb::cast<std::string>(description.attr("schema"))),
      out_overload_(nb::cast<std::string>(description.attr("_out_overload"))),
      element_types_(nb::cast<uint32_t>(description.attr("_element_types"))),
      infer_(description.attr("_infer")),
      compute_(description.attr("_compute")) {
  if (!Signature::parse(schema_.c_str(), &signature_) || signature_.parameters().size() == signature_.arguments()) {
    raise(Error::kInvalidArgument, "operator " + name_, "its schema is not one that a kernel can have: " + schema_);
  }
  table_.size = sizeof table_;
  table_.self = this;
  table_.name = name_.c_str();
  table_.out_overload = out_overload_.empty() ? nullptr : out_overload_.c_str();
  table_.schema = schema_.c_str();
  table_.in_place = nb::cast<uint32_t>(description.attr("_in_place"));
  table_.has_effects = nb::cast<bool>(description.attr("has_effects")) ? 1 : 0;
  table_.sized_by_contents = nb::cast<bool>(description.attr("sized_by_contents")) ? 1 : 0;
  if (!infer_.is_none()) {
    table_.infer = [](void* self, const berth_graph* call, const berth_types* types, berth_message* message) {
      return plugin::internal::give(call_python([&] { static_cast<OwnOperator*>(self)->infer(*call, *types); }),
                                    message);
    };
  }
  if (!compute_.is_none()) {
    table_.compute = [](void* self, const berth_call_argument* arguments, size_t size, berth_message* message) {
      return plugin::internal::give(call_python([&] { static_cast<OwnOperator*>(self)->compute(arguments, size); }),
                                    message);
    };
  }
}

void OwnOperator::forget() {
  infer_.reset();
  compute_.reset();
}

void OwnOperator::infer(const berth_graph& call, const berth_types& types) {
  if (!infer_.is_valid()) raise(Error::kInvalidState, "operator " + name_, "is called after the interpreter has ended");
  const auto scope = std::make_shared<GraphScope>(&call, &types);
  const berth_node& node = call.nodes[0];
  nb::list arguments;
  for (size_t i = 0; i < node.num_arguments; ++i) {
    arguments.append(argument_object(scope, call, types, node.arguments[i]));
  }
  // The scope ends with the call, whatever Python keeps.
  const struct End {
    ~End() { scope.end(); }
    GraphScope& scope;
  } end{*scope};
  const nb::object results = infer_(*arguments);
  for (const nb::handle result : results) {
    const DType dtype = parse_dtype_or_raise(nb::cast<std::string>(result[0]));
    const auto sizes = nb::cast<std::vector<int64_t>>(result[1]);
    types.result(types.self, static_cast<int32_t>(dtype), sizes.data(), static_cast<int32_t>(sizes.size()));
  }
}

nb::object OwnOperator::argument(const berth_call_argument& from, size_t i, nb::handle lease) const {
  const auto each = [&](const auto& item) {
    return one_or_list(is_list(signature_.parameters()[i].kind), from.count, item);
  };
  switch (from.kind) {
    case BERTH_ARG_VALUE:
    case BERTH_ARG_VALUES: return each([&](size_t k) { return view_of(from.tensors[k], lease); });
    case BERTH_ARG_INTS:
      if (((element_types_ >> i) & 1) != 0) return nb::cast(std::string(to_string(static_cast<DType>(from.ints[0]))));
      return each([&](size_t k) { return nb::cast(from.ints[k]); });
    case BERTH_ARG_DOUBLES: return each([&](size_t k) { return nb::cast(from.doubles[k]); });
    case BERTH_ARG_BOOLS: return each([&](size_t k) { return nb::cast(from.ints[k] != 0); });
    case BERTH_ARG_TEXT: return nb::cast(std::string(from.text, from.count));
    default: return nb::none();
  }
}

void OwnOperator::compute(const berth_call_argument* arguments, size_t size) {
  if (!compute_.is_valid()) {
    raise(Error::kInvalidState, "operator " + name_, "is called after the interpreter has ended");
  }
  // Every array over the program's memory has it as its base: what is left of it after the call was kept.
  const nb::object lease = nb::module_::import_("builtins").attr("object")();
  {
    nb::list given;
    for (size_t i = 0; i < signature_.arguments(); ++i) given.append(argument(arguments[i], i, lease));
    const nb::object answer = compute_(*given);
    given.clear();
    give(answer, arguments, size);
  }
  if (Py_REFCNT(lease.ptr()) > 1) {
    raise(Error::kInvalidState, "operator " + name_,
          "the kernel keeps an array of its arguments, whose memory is another tensor's next; keep x.copy()");
  }
}

void OwnOperator::give(nb::handle answer, const berth_call_argument* arguments, size_t size) const {
  const size_t first = signature_.arguments();
  std::vector<berth_tensor*> tensors;
  for (size_t i = first; i < size; ++i) {
    for (size_t k = 0; k < arguments[i].count; ++k) tensors.push_back(&arguments[i].tensors[k]);
  }
  const bool is_one = size == first + 1 && !is_list(signature_.parameters()[first].kind);
  const nb::object answers = is_one ? nb::make_tuple(answer) : nb::borrow(answer);
  const bool is_sequence = PyTuple_Check(answers.ptr()) || PyList_Check(answers.ptr());
  if (!is_sequence || nb::len(answers) != tensors.size()) {
    raise(Error::kInvalidArgument, "operator " + name_,
          "its kernel gave " + nb::cast<std::string>(nb::repr(nb::handle(answer.type()))) + "; expected a tuple of " +
              std::to_string(tensors.size()) + " arrays");
  }
  std::vector<Given> results;
  for (size_t r = 0; r < tensors.size(); ++r) {
    const std::string place = "operator " + name_ + ": result " + std::to_string(r);
    results.push_back({Borrowed::take(answers[r], static_cast<DType>(tensors[r]->dtype), place), tensors[r]});
    require_fits(results.back().array, *tensors[r], place);
  }
  for (Given& result : results) {
    if (std::none_of(tensors.begin(), tensors.end(),
                     [&](const berth_tensor* t) { return overlaps(result.array, *t); })) {
      continue;
    }
    result.own.resize(result.array.nbytes());
    result.array.copy_to(result.own.data(), {result.tensor->dim_order, static_cast<size_t>(result.tensor->rank)});
  }
  for (const Given& result : results) write(result);
}

void add_own_operators(nb::module_& module) {
  nb::class_<GraphScope>(module, "GraphScope")
      .def("compute", &GraphScope::compute)
      .def("contents", &GraphScope::contents)
      .def("constant", &GraphScope::constant);
}

}  // namespace berth::python
