// MethodObject: its states as arrays, and what its arenas need at given shapes.

#include <algorithm>
#include <climits>
#include <utility>

#include "python/casters.h"
#include "python/errors.h"
#include "python/method.h"
#include "runtime/host/dim_order_copy.h"
#include "tools/names.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

// A size of a shape; -1 for None.
int32_t size_of(nb::handle object, const std::string& where) {
  if (object.is_none()) return -1;
  const Py_ssize_t size = PyNumber_AsSsize_t(object.ptr(), nullptr);
  if (size == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(Error::kInvalidType, where, "expected sizes that are integers or None");
  }
  if (size < 0 || size > INT_MAX) raise(Error::kInvalidArgument, where, "has no size " + std::to_string(size));
  return static_cast<int32_t>(size);
}

std::vector<int32_t> shape_of(nb::handle object, const std::string& where) {
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) {
    raise(Error::kInvalidType, where, "expected a shape such as (1, 3, 224, 224)");
  }
  std::vector<int32_t> sizes;
  for (const nb::handle size : nb::borrow<nb::object>(object)) sizes.push_back(size_of(size, where));
  return sizes;
}

}  // namespace

nb::list MethodObject::planned_bytes(const nb::dict& shapes) {
  std::vector<std::vector<int32_t>> sizes(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor) sizes[i].assign(inputs_[i].info.sizes.size(), -1);
  }
  for (const auto& [key, value] : shapes) {
    const size_t index = find_input(nb::cast<std::string>(key));
    sizes[index] = shape_of(value, where("input", inputs_[index].name));
  }
  const Turn turn(in_use_, "method " + name_);
  Method& method = method_->method();
  std::vector<Span<const int32_t>> spans(sizes.begin(), sizes.end());
  std::vector<uint64_t> bytes(method.meta().num_memory_planned_buffers());
  const Error error = method.planned_bytes(spans, bytes);
  if (error != Error::kOk) raise(error, method.last_report(), "method " + name_);
  nb::list list;
  for (const uint64_t one : bytes) list.append(one);
  return list;
}

std::string MethodObject::state_name(size_t index) const {
  const char* const name = method_->method().state_name(index);
  return name == nullptr || name[0] == '\0' ? "state" + std::to_string(index) : name;
}

nb::list MethodObject::states() {
  nb::list list;
  const Method& method = method_->method();
  for (size_t i = 0, count = method.num_states(); i < count; ++i) {
    const TensorInfo info = *method.state_tensor_meta(i);
    nb::list shape;
    for (const int32_t size : info.sizes) shape.append(size);
    nb::dict state;
    state["name"] = state_name(i);
    state["dtype"] = to_string(info.dtype);
    state["shape"] = shape;
    state["device"] = tool::device_name(info.device);
    list.append(state);
  }
  return list;
}

// To row-major memory on the host.
void MethodObject::read_state(size_t index, const TensorInfo& info, uint8_t* to) {
  const nb::gil_scoped_release unlocked;
  Method& method = method_->method();
  const bool in_order = same_dim_order({}, info.dim_order, info.sizes.size());
  std::vector<uint8_t> packed(in_order ? 0 : info.nbytes);
  const Error error = method.get_state(index, in_order ? to : packed.data(), info.nbytes);
  if (error != Error::kOk) raise(error, method.last_report(), "method " + name_);
  if (!in_order) {
    copy_to_dim_order(packed.data(), info.dim_order, to, {}, info.sizes, element_size(info.dtype));
  }
}

void MethodObject::write_state(size_t index, const TensorInfo& info, const Borrowed& array) {
  const nb::gil_scoped_release unlocked;
  Method& method = method_->method();
  std::vector<uint8_t> packed;
  const uint8_t* data = array.data();
  if (!array.is_packed(info.dim_order)) {
    packed.resize(info.nbytes);
    array.copy_to(packed.data(), info.dim_order);
    data = packed.data();
  }
  const Error error = method.set_state(index, data, info.sizes, info.dtype);
  if (error != Error::kOk) raise(error, method.last_report(), "method " + name_);
}

nb::dict MethodObject::get_state() {
  const Turn turn(in_use_, "method " + name_);
  nb::dict states;
  for (size_t i = 0, count = method_->method().num_states(); i < count; ++i) {
    const TensorInfo info = *method_->method().state_tensor_meta(i);
    NewArray array(info.dtype, wide(info.sizes));
    read_state(i, info, array.data());
    states[state_name(i).c_str()] = array.take();
  }
  return states;
}

void MethodObject::set_state(const nb::dict& states) {
  struct Given {
    size_t index;
    TensorInfo info;
    Borrowed array;
  };
  std::vector<Given> all;
  const Turn turn(in_use_, "method " + name_);
  const Method& method = method_->method();
  for (const auto& [key, value] : states) {
    const std::string name = nb::cast<std::string>(key);
    const Result<size_t> index = method.find_state(name.c_str());
    if (!index.ok()) {
      std::string names;
      for (size_t i = 0; i < method.num_states(); ++i) names += (i == 0 ? "" : ", ") + state_name(i);
      raise(Error::kInvalidArgument, "method " + name_, "has no state " + name + "; there are: " + names);
    }
    const TensorInfo info = *method.state_tensor_meta(*index);
    const std::string place = where("state", name);
    Borrowed array = Borrowed::take(value, info.dtype, place);
    const std::vector<int64_t> sizes = wide(info.sizes);
    const bool same = std::equal(sizes.begin(), sizes.end(), array.sizes().begin(), array.sizes().end());
    if (array.dtype() != info.dtype || !same || !array.device().is_cpu()) {
      raise(array.dtype() != info.dtype ? Error::kInvalidType : Error::kInvalidArgument, place,
            "is " + type_text(info.dtype, sizes) + ", was given " + array.text());
    }
    all.push_back({*index, info, std::move(array)});
  }
  for (const Given& given : all) write_state(given.index, given.info, given.array);
}

}  // namespace berth::python
