// MethodLoader::place: finds the memory of a tensor: in an arena, with its initial value, in the file, or in a data
// file.

#include <cinttypes>
#include <cstring>

#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::Storage;
using format::text;

namespace {

bool all_zeros(const uint8_t* bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

}  // namespace

Error MethodLoader::place(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes, void** memory,
                          uint8_t* flags) {
  const Storage storage = format::storage_of(tensor);
  if (storage == Storage::kNone) return Error::kOk;
  if (format::is_planned(tensor)) {
    if (planned_ != nullptr) return place_planned(data, index, tensor, nbytes, memory, flags);
    *flags = kCallerTensor;
    return Error::kOk;
  }
  if (!format::tensor_device(tensor).is_cpu()) {
    return fail(Error::kInvalidProgram, "values", index, "a constant must be on the host, and this one is on %s",
                to_text(format::tensor_device(tensor)).text);
  }
  *flags = kConstantTensor;
  if (storage == Storage::kConstant) {
    const void* constant = nullptr;
    const Error error = program_.constant(tensor.data_buffer_idx(), nbytes, &constant);
    if (error != Error::kOk) {
      return fail(error, "values", index, "the file has no %" PRIu64 " bytes of constant %u", nbytes,
                  tensor.data_buffer_idx());
    }
    *memory = const_cast<void*>(constant);
    return Error::kOk;
  }
  // Loading external data may be expensive, and measuring does not need it.
  if (planned_ == nullptr) {
    *flags |= kCallerTensor;
    return Error::kOk;
  }
  FreeableBuffer& buffer = data.externals[data.external_count++];
  BERTH_RETURN_IF_ERROR(external(index, tensor, nbytes, &buffer));
  *memory = const_cast<uint8_t*>(buffer.data());
  return Error::kOk;
}

// Data files take precedence; without them, names refer to the program's own blobs.
Error MethodLoader::external(size_t index, const fb::Tensor& tensor, uint64_t nbytes, FreeableBuffer* buffer) {
  const char* name = text(tensor.extra_tensor_info()->fully_qualified_name());
  Result<FreeableBuffer> found =
      program_.external_ == nullptr ? program_.named_data(name) : program_.external_->get(name);
  if (!found.ok()) {
    if (found.error() == Error::kNotFound && program_.external_ == nullptr) {
      return fail(Error::kInvalidState, "values", index,
                  "\"%.64s\" is in a data file (.ptd), and none was given (LoadOptions::external)", name);
    }
    return fail(found.error(), "values", index, "\"%.64s\" cannot be read from the given data files", name);
  }
  const auto* order = tensor.dim_order();
  if (program_.external_ != nullptr &&
      program_.external_->check(
          name, static_cast<DType>(tensor.scalar_type()), {tensor.sizes()->data(), tensor.sizes()->size()},
          order == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(order->data(), order->size())) != Error::kOk) {
    return fail(Error::kInvalidExternalData, "values", index,
                "\"%.64s\" in the data file has another type, shape or dimension order", name);
  }
  if (found->size() < nbytes) {
    return fail(Error::kInvalidExternalData, "values", index, "\"%.64s\" has %zu bytes, %" PRIu64 " are needed", name,
                found->size(), nbytes);
  }
  *buffer = std::move(*found);
  return Error::kOk;
}

Error MethodLoader::place_planned(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes,
                                  void** memory, uint8_t* flags) {
  const fb::AllocationDetails& where = *tensor.allocation_info();
  const uint32_t id = where.memory_id();
  const uint64_t offset = format::planned_offset(where);
  if (id == 0 || id > planned_->arenas()) {
    return fail(Error::kInvalidArgument, "values", index, "memory id %u is not one of %zu arenas", id,
                planned_->arenas());
  }
  const Device device = format::tensor_device(tensor);
  const Device arena = format::arena_device(plan_, id);
  if (device != arena) {
    return fail(Error::kInvalidProgram, "values", index, "the tensor is on %s, its arena %u on %s",
                to_text(device).text, id, to_text(arena).text);
  }
  const Span<uint8_t> given = planned_->arena(id - 1);
  const bool stacked = is_stacked(id);
  if (stacked && (given.data() == nullptr || given.size() < arena_bytes(id))) return place_later(index, tensor, flags);
  Result<void*> address = planned_->address(id - 1, offset, static_cast<size_t>(nbytes));
  if (!address.ok()) {
    return fail(address.error(), "values", index,
                "%" PRIu64 " bytes at %" PRIu64 " do not fit in arena %u of %zu bytes", nbytes, offset, id,
                planned_->arena(id - 1).size());
  }
  *memory = *address;
  if (nbytes == 0) return Error::kOk;
  if (*memory != nullptr) return initialize(data, index, tensor, nbytes, *memory);
  ++data.deferred_tensors;
  BERTH_RETURN_IF_ERROR(place_later(index, tensor, flags));
  *flags |= kDeferredTensor;
  return Error::kOk;
}

uint64_t MethodLoader::arena_bytes(uint32_t memory_id) const {
  return static_cast<uint64_t>(plan_.non_const_buffer_sizes()->Get(memory_id));
}

// The tensor gets its memory when its arena does, or when the sizes are known.
Error MethodLoader::place_later(size_t index, const fb::Tensor& tensor, uint8_t* flags) {
  *flags = kCallerTensor;
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  const bool named = extra != nullptr && text(extra->fully_qualified_name())[0] != '\0';
  const fb::AllocationDetails& where = *tensor.allocation_info();
  if (format::storage_of(tensor) != Storage::kPlanned || named) {
    return fail(Error::kInvalidArgument, "values", index, "it is state, but arena %u gets its memory after the load",
                where.memory_id());
  }
  const size_t element = element_size(static_cast<DType>(tensor.scalar_type()));
  const size_t alignment = element > kArenaAlignment ? kArenaAlignment : element;
  if (alignment == 0 || format::planned_offset(where) % alignment == 0) return Error::kOk;
  return fail(Error::kInvalidProgram, "values", index, "the offset is not a multiple of the element's %zu bytes",
              element);
}

// Sets state to its initial value; named state without one starts at zero. State without a name is found later
// (method_state.cc).
Error MethodLoader::initialize(MethodData& data, size_t index, const fb::Tensor& tensor, uint64_t nbytes,
                               void* memory) {
  const Device device = devices_(format::tensor_device(tensor));
  const size_t bytes = static_cast<size_t>(nbytes);
  const Storage storage = format::storage_of(tensor);
  if (storage == Storage::kPlanned) {
    const bool named =
        tensor.extra_tensor_info() != nullptr && text(tensor.extra_tensor_info()->fully_qualified_name())[0] != '\0';
    return named ? fill_state(data, index, device, memory, nullptr, bytes) : Error::kOk;
  }
  data.value_flags[index] |= kStateValue;
  if (storage == Storage::kExternalState) {
    FreeableBuffer source;
    BERTH_RETURN_IF_ERROR(external(index, tensor, nbytes, &source));
    return fill_state(data, index, device, memory, source.data(), bytes);
  }
  uint64_t source = 0;
  Error error = view_.initial_value_range(tensor.data_buffer_idx(), nbytes, &source);
  const bool to_look_at = !device.is_cpu() || data.zero.call != nullptr;
  if (error == Error::kOk && !to_look_at) error = program_.loader_->load_into(source, bytes, memory);
  if (error == Error::kOk && to_look_at) {
    const Result<FreeableBuffer> value = program_.loader_->load(source, bytes);
    // Zeros may come without being written, as most caches begin.
    const bool zeros = value.ok() && device.is_cpu() && all_zeros(value->data(), bytes);
    if (value.ok()) return fill_state(data, index, device, memory, zeros ? nullptr : value->data(), bytes);
    error = value.error();
  }
  if (error == Error::kOk) return error;
  return fail(error, "values", index, "the file has no %" PRIu64 " bytes of initial value %u", nbytes,
              tensor.data_buffer_idx());
}

// If `bytes` is null, fills with zeros.
Error MethodLoader::fill_state(MethodData& data, size_t index, Device device, void* memory, const uint8_t* bytes,
                               size_t nbytes) {
  data.value_flags[index] |= kStateValue;
  if (device.is_cpu()) {
    if (bytes != nullptr) {
      std::memcpy(memory, bytes, nbytes);
    } else if (data.zero.call != nullptr) {
      data.zero.call(data.zero.context, {static_cast<uint8_t*>(memory), nbytes});
    } else {
      std::memset(memory, 0, nbytes);
    }
    return Error::kOk;
  }
  const Error error =
      bytes == nullptr ? upload_zeros(data, device, memory, nbytes) : upload(data, device, memory, bytes, nbytes);
  if (error == Error::kOk) return error;
  return fail(error, "values", index, "the initial value could not be copied to %s", to_text(device).text);
}

}  // namespace berth::internal
