// MethodLoader::count and carve: counts everything in a method, and allocates the arrays for it.

#include <cstdio>
#include <new>

#include "format/plan_check/verify_plan.h"
#include "format/tensor_facts.h"
#include "runtime/method_loader.h"

namespace berth::internal {

using format::length;

namespace {

// The largest number of list elements and arguments for each byte of the program. Each takes at least four bytes,
// unless vectors are shared, which neither Berth nor ExecuTorch does often.
constexpr uint64_t kWorkPerByte = 8;
constexpr uint64_t kLeastWork = uint64_t{1} << 20;

bool is_bounded(const fb::Tensor& tensor) { return tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC; }

}  // namespace

Error MethodLoader::count(MethodCounts* counts) {
  *counts = MethodCounts();
  if (plan_.values() == nullptr || plan_.inputs() == nullptr || plan_.outputs() == nullptr ||
      plan_.non_const_buffer_sizes() == nullptr || length(plan_.chains()) == 0) {
    return fail(Error::kInvalidProgram, "values", 0,
                "the method has no list of values, inputs, outputs, arenas or chains");
  }
  counts->values = plan_.values()->size();
  counts->inputs = plan_.inputs()->size();
  counts->outputs = plan_.outputs()->size();
  counts->operators = length(plan_.operators());
  counts->delegates = length(plan_.delegates());
  const fb::MethodMeta* names = program_.names_of(plan_);
  counts->symbols = names == nullptr ? 0 : length(names->symbols());
  uint64_t work = 0;
  for (size_t i = 0; i < counts->values; ++i) {
    BERTH_RETURN_IF_ERROR(count_value(plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(i)), i, counts, &work));
  }
  for (flatbuffers::uoffset_t i = 0; i < counts->delegates; ++i) {
    const fb::BackendDelegate* delegate = plan_.delegates()->Get(i);
    if (delegate == nullptr) return fail(Error::kInvalidProgram, "delegates", i, "the entry is missing");
    counts->specs += length(delegate->compile_specs());
    work += length(delegate->compile_specs());
  }
  BERTH_RETURN_IF_ERROR(count_instructions(counts, &work));
  const uint64_t limit = kWorkPerByte * view_.flatbuffer().size();
  if (work > kLeastWork && work > limit) {
    return fail(Error::kInvalidProgram, "values", 0,
                "%llu list elements and arguments exceed %llu, the limit for "
                "a program of this size",
                static_cast<unsigned long long>(work), static_cast<unsigned long long>(limit));
  }
  return Error::kOk;
}

Error MethodLoader::count_value(const fb::EValue* value, size_t index, MethodCounts* counts, uint64_t* work) {
  if (value == nullptr) return fail(Error::kInvalidProgram, "values", index, "the entry is missing");
  size_t items = 0;
  switch (value->val_type()) {
    case fb::KernelTypes::Null: return Error::kOk;
    case fb::KernelTypes::Int:
    case fb::KernelTypes::Bool:
    case fb::KernelTypes::Double:
    case fb::KernelTypes::String: break;
    case fb::KernelTypes::Tensor: {
      const fb::Tensor* tensor = value->val_as_Tensor();
      if (tensor == nullptr) break;
      const size_t rank = length(tensor->sizes());
      if (rank > kMaxRank) {
        return fail(Error::kInvalidProgram, "values", index, "the rank is at most 16, found %zu", rank);
      }
      ++counts->tensors;
      counts->strides += rank;
      if (is_bounded(*tensor)) counts->sizes += rank;
      if (format::storage_of(*tensor) == format::Storage::kExternalConstant) ++counts->externals;
      break;
    }
    case fb::KernelTypes::IntList:
      items = value->val() == nullptr ? 0 : length(value->val_as_IntList()->items());
      counts->items += items;
      break;
    case fb::KernelTypes::TensorList:
      items = value->val() == nullptr ? 0 : length(value->val_as_TensorList()->items());
      counts->items += items;
      break;
    case fb::KernelTypes::OptionalTensorList:
      items = value->val() == nullptr ? 0 : length(value->val_as_OptionalTensorList()->items());
      counts->items += items;
      break;
    case fb::KernelTypes::BoolList:
      items = value->val() == nullptr ? 0 : length(value->val_as_BoolList()->items());
      break;
    case fb::KernelTypes::DoubleList: break;
    default:
      return fail(Error::kInvalidProgram, "values", index, "value type %d is not supported",
                  static_cast<int>(value->val_type()));
  }
  if (value->val() == nullptr) return fail(Error::kInvalidProgram, "values", index, "the value has no content");
  *work += items;
  return Error::kOk;
}

Error MethodLoader::count_instructions(MethodCounts* counts, uint64_t* work) {
  for (flatbuffers::uoffset_t c = 0; c < length(plan_.chains()); ++c) {
    const fb::Chain* chain = plan_.chains()->Get(c);
    if (chain == nullptr || chain->instructions() == nullptr) {
      return fail(Error::kInvalidProgram, "chains", c, "the chain has no list of instructions");
    }
    const auto& instructions = *chain->instructions();
    for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i, ++counts->instructions) {
      if (instructions.Get(i) == nullptr || instructions.Get(i)->instr_args() == nullptr) {
        return fail(Error::kInvalidProgram, "instructions", counts->instructions, "the instruction has no content");
      }
      const fb::KernelCall* call = instructions.Get(i)->instr_args_as_KernelCall();
      const fb::DelegateCall* delegate = instructions.Get(i)->instr_args_as_DelegateCall();
      const size_t args = call != nullptr ? length(call->args()) : delegate != nullptr ? length(delegate->args()) : 2;
      counts->args += args;
      *work += args;
    }
  }
  if (counts->instructions > UINT32_MAX) {
    return fail(Error::kInvalidProgram, "chains", 0, "%zu instructions are too many", counts->instructions);
  }
  return Error::kOk;
}

Error MethodLoader::memory_bytes(const MethodCounts& counts, size_t* bytes) const {
  Carver measure(nullptr);
  carve(counts, measure);
  if (!measure.ok()) {
    return format::fail(report_, Error::kMemoryAllocationFailed, "method memory",
                        "the method needs more than this machine can address");
  }
  *bytes = measure.bytes();
  if (program_.verification_ == Verification::kMinimal) return Error::kOk;
  const size_t scratch = format::plan_scratch_bytes(view_, program_.index_of(plan_));
  if (scratch > *bytes) *bytes = scratch;
  return Error::kOk;
}

MethodData* MethodLoader::carve(const MethodCounts& counts, Carver& carver) {
  MethodData data;
  data.counts = counts;
  MethodData* result = carver.take<MethodData>(1);
  data.values = carver.take<EValue>(counts.values + 1);
  data.tensors = carver.take<Tensor>(counts.tensors);
  data.strides = carver.take<int64_t>(counts.strides);
  data.sizes = carver.take<int32_t>(counts.sizes);
  data.items = carver.take<EValue*>(counts.items);
  data.instructions = carver.take<Instruction>(counts.instructions);
  data.args = carver.take<EValue*>(counts.args);
  // Where sizes are values that change, many calls are checked in each run.
  data.parameters = carver.take<Parameter>(counts.if_stacked(counts.args));
  data.kernels = carver.take<const KernelEntry*>(counts.operators);
  data.inputs = carver.take<Port>(counts.inputs);
  data.outputs = carver.take<Port>(counts.outputs);
  data.symbols = carver.take<int64_t>(counts.symbols);
  data.devices = carver.take<DeviceUse>(counts.devices);
  data.delegates = carver.take<Delegate>(counts.delegates);
  data.specs = carver.take<CompileSpec>(counts.specs);
  data.externals = carver.take<FreeableBuffer>(counts.externals);
  data.value_flags = carver.take<uint8_t>(counts.values + 1);
  data.tensor_flags = carver.take<uint8_t>(counts.tensors);
  data.delegate_blocks = carver.take<DelegateBlock>(counts.delegate_blocks);
  data.stacks = carver.take<StackedArena>(counts.stacks);
  data.stacked = carver.take<StackedTensor>(counts.stacked_tensors);
  data.block_begins = carver.take<uint64_t>(counts.blocks);
  data.block_ends = carver.take<uint64_t>(counts.blocks);
  data.stacked_of = carver.take<int32_t>(counts.if_stacked(counts.values));
  data.moves = carver.take<InputMove>(counts.if_stacked(counts.inputs));
  data.laid_out_symbols = carver.take<int64_t>(counts.if_stacked(counts.symbols));
  data.call_sizes = carver.take<int32_t>(counts.call_sizes);
  data.call_spans = carver.take<Span<const int32_t>>(counts.call_args);
  data.call_bytes = carver.take<uint64_t>(counts.call_args);
  if (result == nullptr || !carver.ok()) return nullptr;
  // release() must be able to read these at any time.
  for (size_t i = 0; i < counts.devices; ++i) new (&data.devices[i]) DeviceUse();
  for (size_t i = 0; i < counts.delegates; ++i) new (&data.delegates[i]) Delegate();
  for (size_t i = 0; i < counts.externals; ++i) new (&data.externals[i]) FreeableBuffer();
  return new (result) MethodData(data);
}

}  // namespace berth::internal
