#include "format/verify_nested.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "format/nested.h"
#include "format/tensor_facts.h"

namespace berth::format {
namespace {

class Verifier {
 public:
  Verifier(const fb::ExecutionPlan& plan, uint32_t version, Span<uint8_t> ports, Report* report)
      : plan_(plan),
        output_scratch_(version >= kNestedOutputScratchVersion),
        in_place_(version >= kNestedInPlaceVersion),
        port_in_scratch_(version >= kNestedPortInScratchVersion),
        ports_(ports),
        report_(report) {}

  Error verify() {
    BERTH_RETURN_IF_ERROR(verify_whole());
    for (uint32_t i = 0; i < length(plan_.values()); ++i) BERTH_RETURN_IF_ERROR(verify_value(i));
    BERTH_RETURN_IF_ERROR(verify_ports(plan_.inputs(), "inputs", kNestedInput));
    return verify_ports(plan_.outputs(), "outputs", kNestedOutput);
  }

 private:
  [[gnu::format(printf, 4, 5)]] Error fail(const char* what, size_t index, const char* message, ...) {
    char place[96];
    std::snprintf(place, sizeof(place), "nested program %s[%zu]", what, index);
    char sentence[192];
    va_list arguments;
    va_start(arguments, message);
    std::vsnprintf(sentence, sizeof(sentence), message, arguments);
    va_end(arguments);
    return format::fail(report_, Error::kInvalidProgram, place, "%s", sentence);
  }

  // Entry 0 of the sizes is reserved; arena `id` has entry `id`.
  uint32_t arenas() const {
    const uint32_t sizes = length(plan_.non_const_buffer_sizes());
    return sizes == 0 ? 0 : sizes - 1;
  }

  Error verify_whole() {
    if (length(plan_.delegates()) > 0) return fail("delegates", 0, "a delegate must not contain delegates");
    for (uint32_t id = 1; id <= arenas(); ++id) {
      if (!arena_device(plan_, id).is_cpu()) {
        return fail("arenas", id - 1, "a nested program must not have devices; its delegate has one");
      }
    }
    const uint32_t most = output_scratch_ ? 1 + length(plan_.outputs()) : 1;
    if (arenas() <= most) return Error::kOk;
    return fail("arenas", most, most == 1 ? "the scratch is the only arena" : "there is no output for this arena");
  }

  Error verify_value(uint32_t index) {
    const fb::Tensor* tensor = tensor_at(plan_, index);
    if (tensor == nullptr) return Error::kOk;
    if (!tensor_device(*tensor).is_cpu()) {
      return fail("values", index, "a nested program must not have devices; its delegate has one");
    }
    switch (storage_of(*tensor)) {
      case Storage::kConstant:
        return fail("values", index, "a constant must be named data of the outer program (external)");
      case Storage::kState:
      case Storage::kExternalState: return fail("values", index, "a nested program must not have state");
      case Storage::kPlanned: {
        // A planned tensor with a name is state that begins as zeros.
        const fb::ExtraTensorInfo* extra = tensor->extra_tensor_info();
        const bool named = extra != nullptr && text(extra->fully_qualified_name())[0] != '\0';
        return named ? fail("values", index, "a nested program must not have state") : Error::kOk;
      }
      default: return Error::kOk;
    }
  }

  Error verify_ports(const flatbuffers::Vector<int32_t>* ports, const char* what, NestedPort port) {
    for (uint32_t i = 0; i < length(ports); ++i) {
      const int32_t value = ports->Get(i);
      const fb::Tensor* tensor = tensor_at(plan_, value);
      const Storage storage = tensor == nullptr ? Storage::kConstant : storage_of(*tensor);
      const bool may_be_planned = port == kNestedOutput ? output_scratch_ : port_in_scratch_;
      if (storage != Storage::kNone && (storage != Storage::kPlanned || !may_be_planned)) {
        return fail(what, i, "value %d is not a tensor in the call's memory", value);
      }
      if (port == kNestedInput && storage == Storage::kPlanned && tensor->allocation_info()->memory_id() != 1) {
        return fail(what, i, "it is planned but is not in the scratch, arena 1");
      }
      if (port == kNestedOutput) BERTH_RETURN_IF_ERROR(verify_output(i, tensor));
      uint8_t& seen = ports_[static_cast<uint32_t>(value)];
      const bool in_place = in_place_ && port == kNestedOutput && seen == kNestedInput;
      if (seen != 0 && !in_place) return fail(what, i, "value %d is an input or output already", value);
      seen = static_cast<uint8_t>(seen | port);
    }
    return Error::kOk;
  }

  // The arena of output `k` is exactly the output's bytes, or empty.
  Error verify_output(uint32_t k, const fb::Tensor* tensor) {
    const uint32_t id = nested_output_arena(k);
    const uint64_t arena = id <= arenas() ? static_cast<uint64_t>(plan_.non_const_buffer_sizes()->Get(id)) : 0;
    const bool in_scratch =
        port_in_scratch_ && storage_of(*tensor) == Storage::kPlanned && tensor->allocation_info()->memory_id() == 1;
    if (in_scratch || storage_of(*tensor) != Storage::kPlanned) {
      return arena == 0 ? Error::kOk : fail("outputs", k, "it has an arena but is not in it");
    }
    uint64_t bytes = 0;
    const fb::AllocationDetails& place = *tensor->allocation_info();
    if (place.memory_id() == id && planned_offset(place) == 0 && tensor_nbytes(*tensor, &bytes) && bytes == arena &&
        bytes > 0) {
      return Error::kOk;
    }
    return fail("outputs", k, "it is planned but does not fill arena %u", id);
  }

  const fb::ExecutionPlan& plan_;
  const bool output_scratch_;
  const bool in_place_;
  const bool port_in_scratch_;
  const Span<uint8_t> ports_;
  Report* const report_;
};

}  // namespace

size_t nested_port_bytes(const ProgramView& nested) {
  return nested.method_count() == 0 ? 0 : length(nested.method(0).values());
}

Error verify_nested(const ProgramView& nested, uint32_t version, Span<uint8_t> ports, Report* report) {
  if (nested.method_count() != 1 || std::strcmp(text(nested.method(0).name()), kNestedMethodName) != 0) {
    return fail(report, Error::kInvalidProgram, "nested program methods", "one method \"%s\" is expected, found %zu",
                kNestedMethodName, nested.method_count());
  }
  return Verifier(nested.method(0), version, ports, report).verify();
}

}  // namespace berth::format
