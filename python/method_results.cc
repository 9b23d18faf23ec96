// What a method gives: where its outputs are written, and how Python gets them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "python/casters.h"
#include "python/errors.h"
#include "python/method.h"
#include "runtime/host/dim_order_copy.h"
#include "tools/names.h"

namespace nb = nanobind;

namespace berth::python {

// Results of this many bytes are copied without the interpreter's lock.
constexpr size_t kLargeCopy = size_t{64} << 10;

void MethodObject::set_outputs(std::vector<NewArray>* direct) {
  Method& method = method_->method();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    direct->emplace_back();
    if (!output.is_direct) continue;
    uint8_t* data = nullptr;
    if (output.is_bound) {
      data = output.bound.is_packed({}) ? output.bound.data() : nullptr;
    } else {
      direct->back() = NewArray(output.info.dtype, wide(output.info.sizes));
      data = direct->back().data();
    }
    if (data == nullptr) continue;
    const Error error = method.set_output_data_ptr(i, data, output.info.nbytes);
    if (error == Error::kOk) continue;
    // Of an input that is given back, or in a place that the method does not take: copied after the run.
    direct->back() = NewArray();
    output.is_direct = error != Error::kInvalidState && output.is_direct;
  }
}

nb::object MethodObject::result(nb::handle self, size_t index, NewArray* direct) {
  const EValue value = method_->method().get_output(index);
  switch (value.tag()) {
    case Tag::kTensor: return tensor_result(self, outputs_[index], value.tensor(), direct);
    case Tag::kInt: return nb::cast(value.to_int());
    case Tag::kDouble: return nb::cast(value.to_double());
    case Tag::kBool: return nb::cast(value.to_bool());
    case Tag::kNone: return nb::none();
    case Tag::kString: {
      const auto text = value.to_string();
      return nb::steal(PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "replace"));
    }
    default:
      raise(Error::kNotSupported, where("output", outputs_[index].name),
            std::string("is a ") + tool::tag_name(value.tag()) + ", for which there is no form in Python yet");
  }
}

nb::object MethodObject::tensor_result(nb::handle self, Output& output, const Tensor& tensor, NewArray* direct) {
  if (output.is_bound) {
    copy_to_bound(output, tensor);
    return nb::none();
  }
  if (direct->data() != nullptr && direct->data() == tensor.raw()) return direct->take();
  const std::vector<int64_t> sizes = wide(tensor.sizes());
  if (!copy_ && tensor.device().is_cpu()) {
    return view_array(tensor.raw(), tensor.dtype(), sizes, tensor.strides(), self);
  }
  NewArray array(tensor.dtype(), sizes);
  if (tensor.nbytes() < kLargeCopy) {
    copy_out(tensor, array.data());
  } else {
    const nb::gil_scoped_release unlocked;
    copy_out(tensor, array.data());
  }
  return array.take();
}

// To row-major memory on the host.
void MethodObject::copy_out(const Tensor& tensor, uint8_t* to) const {
  const size_t bytes = tensor.nbytes();
  if (bytes == 0) return;
  const void* data = tensor.raw();
  HostBuffer here;
  if (!tensor.device().is_cpu()) {
    void* target = to;
    if (!tensor.is_contiguous()) {
      Result<HostBuffer> made = HostBuffer::make(bytes);
      if (!made.ok()) raise(made.error(), "method " + name_, "no memory for a result");
      here = std::move(*made);
      target = here.bytes().data();
    }
    DeviceAllocator* allocator = program_->program().registry().get_allocator(tensor.device().type);
    const Error error = allocator == nullptr
                            ? Error::kNotFound
                            : allocator->copy_device_to_host(target, data, bytes, tensor.device().index);
    if (error != Error::kOk) raise(error, "method " + name_, "a result cannot be copied from its device");
    if (tensor.is_contiguous()) return;
    data = target;
  }
  if (tensor.is_contiguous()) {
    std::memcpy(to, data, bytes);
  } else {
    copy_to_dim_order(data, tensor.dim_order(), to, {}, tensor.sizes(), element_size(tensor.dtype()));
  }
}

void MethodObject::copy_to_bound(Output& output, const Tensor& tensor) {
  Borrowed& bound = output.bound;
  if (tensor.raw() == bound.data() && tensor.nbytes() > 0) return;
  const std::vector<int64_t> sizes = wide(tensor.sizes());
  if (!std::equal(sizes.begin(), sizes.end(), bound.sizes().begin(), bound.sizes().end())) {
    raise(Error::kInvalidArgument, where("output", output.name),
          "is " + type_text(tensor.dtype(), sizes) + " in this run, and the array bound to it " + bound.text());
  }
  if (bound.is_packed({})) {
    copy_out(tensor, bound.data());
    return;
  }
  std::vector<uint8_t> packed(tensor.nbytes());
  copy_out(tensor, packed.data());
  bound.copy_from(packed.data());
}

}  // namespace berth::python
