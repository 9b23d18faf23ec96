// States of a method, and what its arenas need at given sizes.
#include "c/method.h"
#include "runtime/host/dim_order_copy.h"

namespace berth::c {
namespace {

std::string place_of(const char* list, size_t index) { return std::string(list) + "[" + std::to_string(index) + "]"; }

// The sizes of an array; its elements need not be there.
Expected<Span<const int32_t>> sizes_of(const berth_array* given, const std::string& place) {
  if (given == nullptr) return is_null("berth_array");
  BERTH_ASSIGN_OR_RETURN(const berth_array array,
                         known_part(given, "berth_array", BERTH_SIZE_UP_TO(berth_array, sizes)));
  if (array.rank < 0 || array.rank > kMaxRank) {
    return Failure{Error::kInvalidArgument, place, "expected a rank from 0 to 16, found " + std::to_string(array.rank)};
  }
  if (array.rank > 0 && array.sizes == nullptr) return Failure{Error::kInvalidArgument, place, "its sizes are null"};
  return Span<const int32_t>(array.sizes, array.rank);
}

Status planned_bytes(berth_method& method, const berth_array* inputs, size_t num_inputs, uint64_t* bytes,
                     size_t num_arenas) {
  const size_t count = method.inputs.size();
  const size_t arenas = method.method().meta().num_memory_planned_buffers();
  if (num_inputs != count || num_arenas != arenas) {
    return Failure{Error::kInvalidArgument, "",
                   "expected " + std::to_string(count) + " inputs and " + std::to_string(arenas) + " arenas, found " +
                       std::to_string(num_inputs) + " and " + std::to_string(num_arenas)};
  }
  if (count > 0 && inputs == nullptr) return is_null("berth_array");
  if (arenas > 0 && bytes == nullptr) return is_null("bytes");
  std::vector<Span<const int32_t>> sizes(count);
  for (size_t i = 0; i < count; ++i) {
    const auto tag = method.method().meta().input_tag(i);
    if (!tag.ok() || *tag != Tag::kTensor) continue;
    BERTH_ASSIGN_OR_RETURN(sizes[i], sizes_of(entry(inputs, i), place_of("inputs", i)));
  }
  std::vector<uint64_t> needed(arenas);
  const Error error = method.method().planned_bytes(sizes, needed);
  if (error != Error::kOk) return said_by(method, error, "inputs");
  std::copy(needed.begin(), needed.end(), bytes);
  return Done{};
}

Expected<TensorInfo> state_at(const berth_method& method, size_t index) {
  const auto info = method.method().state_tensor_meta(index);
  if (info.ok()) return *info;
  return Failure{info.error(), place_of("states", index),
                 "the method has " + std::to_string(method.method().num_states()) + " of them"};
}

Status describe_state(const berth_method& method, size_t index, berth_port* port) {
  BERTH_ASSIGN_OR_RETURN(const TensorInfo info, state_at(method, index));
  berth_port filled = {};
  filled.name = method.method().state_name(index);
  filled.node = "";
  filled.kind = BERTH_IS_TENSOR;
  filled.dtype = static_cast<int32_t>(info.dtype);
  filled.rank = static_cast<int32_t>(info.sizes.size());
  filled.sizes = info.sizes.data();
  filled.dim_order = info.dim_order.data();
  filled.device = device_of(info.device);
  filled.is_planned = 1;
  filled.bytes = info.nbytes;
  return fill(port, "berth_port", filled);
}

Status set_state(berth_method& method, size_t index, const berth_array* given) {
  const std::string place = place_of("states", index);
  BERTH_ASSIGN_OR_RETURN(const TensorInfo info, state_at(method, index));
  BERTH_ASSIGN_OR_RETURN(const Span<const int32_t> sizes, sizes_of(given, place));
  BERTH_ASSIGN_OR_RETURN(const berth_array array, known_part(given, "berth_array"));
  BERTH_ASSIGN_OR_RETURN(const Device device, device_of(array.device));
  if (!device.is_cpu()) return Failure{Error::kNotSupported, place, "is set from an array on the host"};
  if (sizes.size() == info.sizes.size()) {
    const Span<const uint8_t> order(array.dim_order, array.dim_order == nullptr ? 0 : sizes.size());
    if (!same_dim_order(order, info.dim_order, sizes.size())) {
      return Failure{Error::kInvalidArgument, place, "the array has another dimension order than the state"};
    }
    if (array.bytes < info.nbytes) {
      return Failure{Error::kInvalidArgument, place,
                     "has " + std::to_string(array.bytes) + " bytes; the state has " + std::to_string(info.nbytes)};
    }
  }
  const Error error = method.method().set_state(index, array.data, sizes, static_cast<DType>(array.dtype));
  return error == Error::kOk ? Status(Done{}) : said_by(method, error, place);
}

}  // namespace
}  // namespace berth::c

using namespace berth;     // NOLINT(google-build-using-namespace): the functions of C stand in no namespace
using namespace berth::c;  // NOLINT(google-build-using-namespace)

int32_t berth_method_planned_bytes(berth_method* method, const berth_array* inputs, size_t num_inputs, uint64_t* bytes,
                                   size_t num_arenas, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(method, Handle::Kind::kMethod));
    return planned_bytes(*method, inputs, num_inputs, bytes, num_arenas);
  });
}

size_t berth_method_num_states(const berth_method* method) {
  return check(method, Handle::Kind::kMethod).ok() ? method->method().num_states() : 0;
}

int32_t berth_method_state(const berth_method* method, size_t index, berth_port* port, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(method, Handle::Kind::kMethod));
    return describe_state(*method, index, port);
  });
}

int64_t berth_method_find_state(const berth_method* method, const char* name) {
  if (name == nullptr || !check(method, Handle::Kind::kMethod).ok()) return -1;
  const auto index = method->method().find_state(name);
  return index.ok() ? static_cast<int64_t>(*index) : -1;
}

int32_t berth_method_get_state(berth_method* method, size_t index, void* data, size_t bytes, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(method, Handle::Kind::kMethod));
    const Error failed = method->method().get_state(index, data, bytes);
    return failed == Error::kOk ? Status(Done{}) : said_by(*method, failed, place_of("states", index));
  });
}

int32_t berth_method_set_state(berth_method* method, size_t index, const berth_array* array, berth_error* error) {
  return guarded(error, [&]() -> Status {
    BERTH_TRY(check(method, Handle::Kind::kMethod));
    return set_state(*method, index, array);
  });
}
