// What a method is called with, and what is bound to it: found by name, checked, and put where it is read.
#include <algorithm>
#include <utility>

#include "python/casters.h"
#include "python/errors.h"
#include "python/method.h"
#include "runtime/host/dim_order_copy.h"

namespace nb = nanobind;

namespace berth::python {

size_t MethodObject::find_input(const std::string& name) const {
  std::string names;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_tensor && inputs_[i].name == name) return i;
    if (inputs_[i].is_tensor) names += (names.empty() ? "" : ", ") + inputs_[i].name;
  }
  raise(Error::kInvalidType, "method " + name_, "has no input " + name + "; there are: " + names);
}

// The caller's arrays, one for each input: empty for those that are bound or no tensors.
std::vector<Borrowed> MethodObject::gather(const nb::args& args, const nb::kwargs& kwargs) const {
  std::vector<nb::handle> given(inputs_.size());
  size_t next = 0;
  for (const nb::handle arg : args) {
    while (next < inputs_.size() && (!inputs_[next].is_tensor || inputs_[next].is_bound)) ++next;
    if (next == inputs_.size()) {
      raise(Error::kInvalidType, "method " + name_,
            "was given " + std::to_string(args.size()) + " arrays, more than it has inputs that are not bound");
    }
    given[next++] = arg;
  }
  for (const auto& [key, value] : kwargs) {
    const size_t index = find_input(nb::cast<std::string>(key));
    if (given[index].is_valid()) raise(Error::kInvalidType, where("input", inputs_[index].name), "is given twice");
    given[index] = value;
  }
  std::vector<Borrowed> arrays(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (!input.is_tensor || (input.is_bound && !given[i].is_valid())) continue;
    const std::string place = where("input", input.name);
    if (!given[i].is_valid()) raise(Error::kInvalidType, place, "is not given");
    arrays[i] = Borrowed::take(given[i], input.info.dtype, place);
  }
  return arrays;
}

// Where the elements are as the method wants them: packed in its order, aligned, on its device.
const void* MethodObject::place(Input& input, const Borrowed& array, const std::string& where) {
  const Span<const uint8_t> order = input.info.dim_order;
  const size_t element = element_size(input.info.dtype);
  const Device device = input.info.device;
  const size_t bytes = array.nbytes();
  const bool packed = array.is_packed(order);
  if (!array.device().is_cpu()) {
    if (array.device() != device) {
      raise(Error::kNotSupported, where, "is " + array.text() + ", and the program has it on " + to_text(device).text);
    }
    if (!packed) raise(Error::kInvalidArgument, where, "is not contiguous; on a device it has to be");
    return array.data();
  }
  // An input in the caller's memory may be written by the method.
  const bool in_place = !input.info.is_memory_planned && device.is_cpu();
  const bool aligned = reinterpret_cast<uintptr_t>(array.data()) % element == 0;
  const uint8_t* data = array.data();
  if (!packed || (in_place && (!array.writable() || !aligned))) {
    if (input.packed.bytes().size() < bytes) {
      Result<HostBuffer> made = HostBuffer::make(input.info.nbytes);
      if (!made.ok()) raise(made.error(), where, std::to_string(input.info.nbytes) + " bytes cannot be allocated");
      input.packed = std::move(*made);
    }
    array.copy_to(input.packed.bytes().data(), order);
    data = input.packed.bytes().data();
  }
  if (device.is_cpu() || bytes == 0) return data;
  const DeviceAllocatorRegistry& registry = program_->program().registry();
  Error error = Error::kOk;
  if (input.there.size() < bytes) {
    auto made = DeviceMemoryBuffer::create(input.info.nbytes, device, DeviceAllocator::kDefaultAlignment, registry);
    if (!made.ok()) raise(made.error(), where, std::string("no memory for it on ") + to_text(device).text);
    input.there = std::move(*made);
  }
  error = registry.get_allocator(device.type)->copy_host_to_device(input.there.data(), data, bytes, device.index);
  if (error != Error::kOk) raise(error, where, std::string("cannot be copied to ") + to_text(device).text);
  return input.there.data();
}

void MethodObject::feed(size_t index, Borrowed& array) {
  Input& input = inputs_[index];
  Method& method = method_->method();
  const std::string place_text = where("input", input.name);
  const TensorInfo& info = input.info;
  if (array.dtype() != info.dtype || array.rank() != static_cast<int>(info.sizes.size())) {
    raise(array.dtype() != info.dtype ? Error::kInvalidType : Error::kInvalidArgument, place_text,
          "takes " + type_text(info.dtype, wide(info.sizes)) + ", was given " + array.text());
  }
  int32_t sizes[kMaxRank];
  for (int d = 0; d < array.rank(); ++d) sizes[d] = static_cast<int32_t>(std::min<int64_t>(array.size(d), INT32_MAX));
  if (array.nbytes() > info.nbytes) {
    raise(Error::kInvalidArgument, place_text,
          "takes " + type_text(info.dtype, wide(info.sizes)) +
              (info.dynamism == ShapeDynamism::kStatic ? "" : " at most") + ", was given " + array.text());
  }
  const void* data = place(input, array, place_text);
  static const uint8_t kNothing[64] = {};
  if (data == nullptr) data = kNothing;
  const Error error =
      method.set_input(index, data, {sizes, static_cast<size_t>(array.rank())}, info.dtype, info.device);
  if (error == Error::kOk) return;
  raise(error, place_text, std::string(method.last_report().message) + "; was given " + array.text());
}

// Memory for results that the method writes straight to.
void MethodObject::bind(const nb::dict& inputs, const nb::dict& outputs) {
  const Turn turn(in_use_, "method " + name_);
  for (const auto& [key, value] : inputs) {
    Input& input = inputs_[find_input(nb::cast<std::string>(key))];
    const std::string place = where("input", input.name);
    Borrowed array;
    if (!value.is_none()) array = Borrowed::take(value, input.info.dtype, place);
    if (!value.is_none() && array.dtype() != input.info.dtype) {
      raise(Error::kInvalidType, place,
            "takes " + type_text(input.info.dtype, wide(input.info.sizes)) + ", was given " + array.text());
    }
    // What the method used in place until now must outlive its last use.
    input.given = std::move(input.bound);
    input.bound = std::move(array);
    input.is_bound = !value.is_none();
  }
  for (const auto& [key, value] : outputs) {
    const std::string name = nb::cast<std::string>(key);
    const auto found =
        std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& output) { return output.name == name; });
    if (found == outputs_.end() || !found->is_tensor) {
      raise(Error::kInvalidType, "method " + name_, "has no output " + name + " that is a tensor");
    }
    Output& output = *found;
    Borrowed array;
    const TensorInfo& info = output.info;
    if (!value.is_none()) {
      array = Borrowed::take_writable(value, where("output", name));
      const std::vector<int64_t> sizes = wide(info.sizes);
      const bool same = info.dynamism != ShapeDynamism::kStatic ||
                        std::equal(sizes.begin(), sizes.end(), array.sizes().begin(), array.sizes().end());
      if (array.dtype() != info.dtype || !same || !array.device().is_cpu()) {
        raise(array.dtype() != info.dtype ? Error::kInvalidType : Error::kInvalidArgument, where("output", name),
              "is " + type_text(info.dtype, sizes) + " on the host, was given " + array.text());
      }
    }
    output.bound = std::move(array);
    output.is_bound = !value.is_none();
  }
}

}  // namespace berth::python
