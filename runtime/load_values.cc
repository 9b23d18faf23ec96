// MethodLoader::lay_out: creates the value table of a method, with each tensor's memory.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/math.h"
#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::length;
using format::Storage;

namespace {

bool is_permutation(Span<const uint8_t> order) {
  uint32_t seen = 0;
  for (const uint8_t dim : order) {
    if (dim >= order.size() || (seen >> dim & 1) != 0) return false;
    seen |= uint32_t{1} << dim;
  }
  return true;
}

}  // namespace

Error MethodLoader::lay_out(MethodData& data, const HierarchicalAllocator* planned) {
  planned_ = planned;
  data.plan = &plan_;
  data.blobs = blobs_;
  data.device_map = devices_;
  for (size_t i = 0; i < data.counts.devices; ++i) data.devices[i] = uses_[i];
  data.meta = program_.names_of(plan_);
  data.read_only[0] = program_.program_.bytes();
  data.read_only[1] = program_.constants_.bytes();
  for (size_t i = 0; i <= data.counts.values; ++i) {
    new (&data.values[i]) EValue();
    data.value_flags[i] = 0;
  }
  for (size_t i = 0; i < data.counts.values; ++i) BERTH_RETURN_IF_ERROR(lay_out_value(data, i));
  std::sort(data.externals, data.externals + data.external_count,
            [](const FreeableBuffer& a, const FreeableBuffer& b) { return a.data() < b.data(); });
  BERTH_RETURN_IF_ERROR(lay_out_ports(data, plan_.inputs(), data.inputs, "inputs", kCallerTensor | kCallerInputTensor));
  return lay_out_ports(data, plan_.outputs(), data.outputs, "outputs", kCallerTensor);
}

Error MethodLoader::lay_out_value(MethodData& data, size_t index) {
  const fb::EValue& value = *plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
  EValue& out = data.values[index];
  switch (value.val_type()) {
    case fb::KernelTypes::Int: out = EValue(value.val_as_Int()->int_val()); return Error::kOk;
    case fb::KernelTypes::Bool: out = EValue(value.val_as_Bool()->bool_val()); return Error::kOk;
    case fb::KernelTypes::Double: out = EValue(value.val_as_Double()->double_val()); return Error::kOk;
    case fb::KernelTypes::Tensor: return lay_out_tensor(data, index, *value.val_as_Tensor());
    case fb::KernelTypes::IntList:
      return lay_out_list(data, index, value.val_as_IntList()->items(), fb::KernelTypes::Int);
    case fb::KernelTypes::TensorList:
      return lay_out_list(data, index, value.val_as_TensorList()->items(), fb::KernelTypes::Tensor);
    case fb::KernelTypes::OptionalTensorList:
      return lay_out_list(data, index, value.val_as_OptionalTensorList()->items(), fb::KernelTypes::Null);
    case fb::KernelTypes::BoolList: return lay_out_bools(data, index, *value.val_as_BoolList());
    case fb::KernelTypes::DoubleList: {
      const auto* items = value.val_as_DoubleList()->items();
      if (items == nullptr) break;
      out = EValue(Span<const double>(items->data(), items->size()));
      return Error::kOk;
    }
    case fb::KernelTypes::String: {
      const auto* text = value.val_as_String()->string_val();
      if (text == nullptr) break;
      out = EValue(StringRef{text->c_str(), text->size()});
      return Error::kOk;
    }
    default: return Error::kOk;
  }
  return fail(Error::kInvalidProgram, "values", index, "the value has no content");
}

Error MethodLoader::lay_out_bools(MethodData& data, size_t index, const fb::BoolList& list) {
  if (list.items() == nullptr) return fail(Error::kInvalidProgram, "values", index, "the list has no items");
  const uint8_t* items = list.items()->data();
  for (size_t i = 0; i < list.items()->size(); ++i) {
    // Any other byte is not a bool to the compiler that built this.
    if (items[i] > 1) return fail(Error::kInvalidProgram, "values", index, "a boolean is 0 or 1, found %d", items[i]);
  }
  static_assert(sizeof(bool) == 1, "lists of booleans are used where they lie in the file");
  data.values[index] = EValue(Span<const bool>(reinterpret_cast<const bool*>(items), list.items()->size()));
  return Error::kOk;
}

// `kind`: the required kind of each element. Null means "Tensor, Null or -1".
template <typename Index>
Error MethodLoader::lay_out_list(MethodData& data, size_t index, const flatbuffers::Vector<Index>* items,
                                 fb::KernelTypes kind) {
  if (items == nullptr) return fail(Error::kInvalidProgram, "values", index, "the list has no items");
  EValue** out = data.items + next_item_;
  for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
    const int64_t item = items->Get(i);
    if (item == -1 && kind == fb::KernelTypes::Null) {
      out[i] = &data.values[data.counts.values];
      continue;
    }
    if (item < 0 || static_cast<uint64_t>(item) >= data.counts.values) {
      return fail(Error::kInvalidProgram, "values", index, "element %u names value %" PRId64 " of %zu", i, item,
                  data.counts.values);
    }
    const fb::KernelTypes found = plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(item))->val_type();
    const bool fits = kind == fb::KernelTypes::Null ? found == kind || found == fb::KernelTypes::Tensor : found == kind;
    if (!fits && kind != fb::KernelTypes::Int) {
      return fail(Error::kInvalidType, "values", index,
                  "element %u of a tensor list is value %" PRId64 ", which is not a tensor", i, item);
    }
    out[i] = &data.values[item];
  }
  next_item_ += items->size();
  const Span<EValue* const> list(out, items->size());
  data.values[index] = kind == fb::KernelTypes::Int ? EValue::int_list(list) : EValue::tensor_list(list);
  return Error::kOk;
}

Error MethodLoader::check_shape(size_t index, const fb::Tensor& tensor, uint64_t* nbytes) {
  const auto* sizes = tensor.sizes();
  if (sizes == nullptr || length(tensor.dim_order()) != sizes->size()) {
    return fail(Error::kInvalidProgram, "values", index, "sizes and dimension order differ in length");
  }
  if (tensor.dim_order() != nullptr && !is_permutation({tensor.dim_order()->data(), tensor.dim_order()->size()})) {
    return fail(Error::kInvalidProgram, "values", index, "the dimension order is not a permutation");
  }
  if (tensor.storage_offset() != 0) {
    return fail(Error::kNotSupported, "values", index, "the storage offset must be 0, found %d",
                tensor.storage_offset());
  }
  const int dynamism = static_cast<int>(tensor.shape_dynamism());
  if (dynamism < 0 || dynamism > static_cast<int>(fb::TensorShapeDynamism::DYNAMIC_BOUND)) {
    return fail(Error::kNotSupported, "values", index, "a tensor without a bound on its sizes cannot be planned");
  }
  int64_t span = 1;
  for (flatbuffers::uoffset_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = sizes->Get(i);
    if (size < 0 || !checked_mul<int64_t>(span, size == 0 ? 1 : size, &span)) {
      return fail(Error::kInvalidProgram, "values", index, "size %" PRId64 " of dimension %u is negative or too large",
                  size, i);
    }
  }
  if (!format::tensor_nbytes(tensor, nbytes) || *nbytes > SIZE_MAX / 2) {
    return fail(Error::kInvalidProgram, "values", index, "the element type is unknown or the tensor too large");
  }
  return Error::kOk;
}

Error MethodLoader::lay_out_tensor(MethodData& data, size_t index, const fb::Tensor& tensor) {
  uint64_t nbytes = 0;
  BERTH_RETURN_IF_ERROR(check_shape(index, tensor, &nbytes));
  const Device device = devices_(format::tensor_device(tensor));
  const size_t rank = tensor.sizes()->size();
  const bool bounded = tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_BOUND;
  // The sizes of a static tensor are never written, so they stay in the file.
  int32_t* sizes = const_cast<int32_t*>(tensor.sizes()->data());
  if (bounded) {
    sizes = data.sizes + next_size_;
    next_size_ += rank;
    if (rank > 0) std::memcpy(sizes, tensor.sizes()->data(), rank * sizeof(int32_t));
  }
  void* memory = nullptr;
  uint8_t flags = 0;
  BERTH_RETURN_IF_ERROR(place(data, index, tensor, nbytes, &memory, &flags));
  const DType dtype = static_cast<DType>(tensor.scalar_type());
  if (nbytes > 0 && reinterpret_cast<uintptr_t>(memory) % format::element_alignment(dtype) != 0) {
    return fail(Error::kInvalidProgram, "values", index, "the offset is not a multiple of the element's %zu bytes",
                format::element_alignment(dtype));
  }
  const uint8_t* order = tensor.dim_order() == nullptr ? nullptr : tensor.dim_order()->data();
  Tensor* out = new (&data.tensors[next_tensor_])
      Tensor(dtype, static_cast<int>(rank), sizes, order, data.strides + next_stride_, memory,
             bounded ? ShapeDynamism::kBounded : ShapeDynamism::kStatic, device);
  data.tensor_flags[next_tensor_++] = flags;
  next_stride_ += rank;
  data.values[index] = EValue(out);
  return Error::kOk;
}

Error MethodLoader::lay_out_ports(MethodData& data, const flatbuffers::Vector<int32_t>* list, Port* ports,
                                  const char* what, uint8_t flags) {
  for (flatbuffers::uoffset_t i = 0; i < list->size(); ++i) {
    const int32_t value = list->Get(i);
    if (!is_index(value, data.counts.values)) {
      return fail(Error::kInvalidProgram, what, i, "there is no value %d", value);
    }
    Port& port = *new (&ports[i]) Port();
    port.value = static_cast<uint32_t>(value);
    port.planned = true;
    if (!data.values[value].is_tensor()) continue;
    port.tensor = &data.values[value].tensor();
    const fb::Tensor& tensor = *format::tensor_at(plan_, value);
    port.planned = format::storage_of(tensor) != Storage::kNone;
    if (port.planned) continue;
    uint8_t& known = data.flags_of(*port.tensor);
    const bool is_output = (flags & kCallerInputTensor) == 0;
    const bool is_fixed = port.tensor->dynamism() == ShapeDynamism::kStatic;
    if (is_output && is_fixed && (known & kCallerInputTensor) != 0) known |= kChangedTensor;
    known |= flags;
  }
  return Error::kOk;
}

}  // namespace berth::internal
