// MethodLoader: unmarked state. For a mutable buffer whose initial value is not exported, ExecuTorch's exporter writes
// neither a name nor a value, so only the instructions show that it is state.
//
// A planned tensor is unmarked state if the first instruction that uses it, in the order of the file, reads it or
// writes a part of it, it is not an input, and it shares no bytes with a value that an instruction, the caller or the
// file sets: otherwise it is a view of that value. The results of et_view and moves do not count, since they are views
// of what is read. The last arguments of a delegate's call, if nothing mentioned them before, are its results and its
// scratch (as in format/plan_check/verify_plan.h), not state.
#include "base/math.h"
#include "format/plan_check/operator_access.h"
#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {
namespace {

using format::Storage;

bool is_named(const fb::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         format::text(tensor.extra_tensor_info()->fully_qualified_name())[0] != '\0';
}

constexpr uint8_t kMentioned = kReadFirst | kMadeFirst | kNamedFirst;

// Records the first mention of a value; later ones do not matter.
void mention(MethodData& data, const EValue& value, uint8_t how) {
  uint8_t& flags = data.value_flags[&value - data.values];
  if ((flags & kMentioned) == 0) flags |= how;
}

void mention_all(MethodData& data, const EValue& value, uint8_t how) {
  if (value.is_tensor()) return mention(data, value, how);
  if (value.tag() != Tag::kTensorList) return;
  for (const EValue* item : value.items()) {
    if (item->is_tensor()) mention(data, *item, how);
  }
}

}  // namespace

// A range of bytes in an arena.
struct MethodLoader::Bytes {
  uint32_t arena = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool overlap(const Bytes& other) const { return arena == other.arena && begin < other.end && other.begin < end; }
};

// False for tensors without bytes or outside of arenas.
bool MethodLoader::find_bytes(size_t value, Bytes* bytes) const {
  const fb::Tensor* tensor = format::tensor_at(plan_, static_cast<int64_t>(value));
  uint64_t nbytes = 0;
  if (tensor == nullptr || !format::is_planned(*tensor)) return false;
  if (!format::tensor_nbytes(*tensor, &nbytes) || nbytes == 0) return false;
  bytes->arena = tensor->allocation_info()->memory_id();
  bytes->begin = format::planned_offset(*tensor->allocation_info());
  return checked_add(bytes->begin, nbytes, &bytes->end);
}

// Inputs, constants, and the state that the file marks.
void MethodLoader::mark_given(MethodData& data) const {
  for (size_t i = 0; i < data.counts.values; ++i) {
    const fb::Tensor* tensor = format::tensor_at(plan_, static_cast<int64_t>(i));
    if (tensor == nullptr) continue;
    const Storage storage = format::storage_of(*tensor);
    const bool open = storage == Storage::kNone || (storage == Storage::kPlanned && !is_named(*tensor));
    if (!open) data.value_flags[i] |= kGiven;
  }
  for (size_t i = 0; i < data.counts.inputs; ++i) data.value_flags[data.inputs[i].value] |= kGiven;
}

void MethodLoader::mention_call(MethodData& data, const Instruction& call, const Signature& signature) const {
  const Span<const Parameter> parameters = signature.parameters();
  const bool replaces = call.count > 0 && parameters[0].written && format::overwrites_first(call.kernel->name);
  for (const bool results : {false, true}) {  // reads come before writes
    for (size_t a = 0; a < call.count; ++a) {
      const Parameter& parameter = parameters[a];
      const bool view = parameter.kind == ArgKind::kView || parameter.kind == ArgKind::kRow;
      const bool result = parameter.output || view || (replaces && a == 0);
      if (result != results) continue;
      mention_all(data, *call.args[a], view ? kNamedFirst : result ? kMadeFirst : kReadFirst);
    }
  }
}

void MethodLoader::mention_others(MethodData& data, const Instruction& instruction) const {
  if (instruction.kind == Instruction::Kind::kMove) {
    mention_all(data, *instruction.args[0], kReadFirst);
    mention_all(data, *instruction.args[1], kNamedFirst);
  }
  if (instruction.kind != Instruction::Kind::kDelegate) return;
  size_t results = instruction.count;
  const auto is_result = [&](const EValue& value) {
    if ((data.value_flags[&value - data.values] & (kMentioned | kGiven)) == 0) return true;
    return value.is_tensor() && (data.flags_of(value.tensor()) & kRowTensor) != 0;
  };
  while (results > 0 && is_result(*instruction.args[results - 1])) --results;
  for (size_t a = 0; a < instruction.count; ++a) {
    mention_all(data, *instruction.args[a], a < results ? kReadFirst : kMadeFirst);
  }
}

// Whether another value shares any of `bytes`, those of `value`. Searches near `value` first, where its views are.
bool MethodLoader::is_view(const MethodData& data, size_t value, const Bytes& bytes, uint64_t* steps) const {
  for (size_t distance = 1; distance < data.counts.values; ++distance) {
    for (const bool before : {true, false}) {
      if (before ? distance > value : distance >= data.counts.values - value) continue;
      const size_t other = before ? value - distance : value + distance;
      if (++*steps, !data.values[other].is_tensor()) continue;
      Bytes its;
      const bool gives = (data.value_flags[other] & (kMadeFirst | kGiven)) != 0;
      if (gives && find_bytes(other, &its) && its.overlap(bytes)) return true;
    }
  }
  return false;
}

Error MethodLoader::zero_unmarked_state(MethodData& data) {
  // Far more than valid files need, whose views are near what they view.
  const uint64_t most = 64 * view_.flatbuffer().size() + (uint64_t{1} << 22);
  uint64_t steps = 0;
  for (size_t i = 0; planned_ != nullptr && i < data.counts.values; ++i) {
    Bytes bytes;
    if ((data.value_flags[i] & (kReadFirst | kGiven)) != kReadFirst || !find_bytes(i, &bytes)) continue;
    const fb::Tensor& tensor = *format::tensor_at(plan_, static_cast<int64_t>(i));
    if (is_view(data, i, bytes, &steps)) continue;
    if (steps > most) {
      return fail(Error::kOutOfResources, "values", i,
                  "finding state takes more steps than a valid file of this size needs");
    }
    if ((data.flags_of(data.values[i].tensor()) & kDeferredTensor) != 0) {
      return fail(Error::kInvalidProgram, "values", i,
                  "it is read before it is written, so it is state, but arena %u gets its "
                  "memory after the load",
                  bytes.arena);
    }
    const Device device = devices_(format::tensor_device(tensor));
    BERTH_RETURN_IF_ERROR(fill_state(data, i, device, data.values[i].tensor().raw(), nullptr,
                                     static_cast<size_t>(bytes.end - bytes.begin)));
  }
  return Error::kOk;
}

}  // namespace berth::internal
