#include "format/write/build_tables.h"

#include <algorithm>

namespace berth::format {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Visits a variant with one lambda for each case.
template <typename... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

Offset<fb::ExtraTensorInfo> build_extra(FlatBufferBuilder& builder, const TensorDesc& tensor) {
  if (tensor.device.is_cpu() && tensor.name.empty() && !tensor.external) return 0;
  const Offset<flatbuffers::String> name = tensor.name.empty() ? 0 : builder.CreateString(tensor.name);
  return fb::CreateExtraTensorInfo(builder, 0, name,
                                   tensor.external ? fb::TensorDataLocation::EXTERNAL : fb::TensorDataLocation::SEGMENT,
                                   static_cast<fb::DeviceType>(tensor.device.type), tensor.device.index);
}

Offset<fb::Tensor> build_tensor(FlatBufferBuilder& builder, const TensorDesc& tensor) {
  const auto sizes = builder.CreateVector(tensor.sizes);
  const auto dim_order = builder.CreateVector(tensor.dim_order);
  Offset<fb::AllocationDetails> allocation = 0;
  if (tensor.planned) {
    allocation =
        fb::CreateAllocationDetails(builder, tensor.planned->memory_id, static_cast<uint32_t>(tensor.planned->offset),
                                    static_cast<uint32_t>(tensor.planned->offset >> 32));
  }
  const auto extra = build_extra(builder, tensor);
  return fb::CreateTensor(
      builder, static_cast<fb::ScalarType>(tensor.dtype), 0, sizes, dim_order, false, tensor.data_buffer_idx,
      allocation, 0, tensor.bounded ? fb::TensorShapeDynamism::DYNAMIC_BOUND : fb::TensorShapeDynamism::STATIC, extra);
}

Offset<fb::EValue> build_value(FlatBufferBuilder& builder, const ValueDesc& value) {
  using Kind = fb::KernelTypes;
  const auto make = [&builder](Kind kind, auto table) { return fb::CreateEValue(builder, kind, table.Union()); };
  return std::visit(
      Match{
          [&](const NullDesc&) { return make(Kind::Null, fb::CreateNull(builder)); },
          [&](int64_t x) { return make(Kind::Int, fb::CreateInt(builder, x)); },
          [&](bool x) { return make(Kind::Bool, fb::CreateBool(builder, x)); },
          [&](double x) { return make(Kind::Double, fb::CreateDouble(builder, x)); },
          [&](const std::string& x) { return make(Kind::String, fb::CreateString(builder, builder.CreateString(x))); },
          [&](const TensorDesc& x) { return make(Kind::Tensor, build_tensor(builder, x)); },
          [&](const IntListDesc& x) {
            return make(Kind::IntList, fb::CreateIntList(builder, builder.CreateVector(x.items)));
          },
          [&](const DoubleListDesc& x) {
            return make(Kind::DoubleList, fb::CreateDoubleList(builder, builder.CreateVector(x.items)));
          },
          [&](const BoolListDesc& x) {
            const std::vector<uint8_t> items(x.items.begin(), x.items.end());
            return make(Kind::BoolList, fb::CreateBoolList(builder, builder.CreateVector(items)));
          },
          [&](const TensorListDesc& x) {
            return make(Kind::TensorList, fb::CreateTensorList(builder, builder.CreateVector(x.items)));
          },
          [&](const OptionalTensorListDesc& x) {
            return make(Kind::OptionalTensorList, fb::CreateOptionalTensorList(builder, builder.CreateVector(x.items)));
          },
      },
      value);
}

Offset<fb::Instruction> build_instruction(FlatBufferBuilder& builder, const InstructionDesc& instruction) {
  using Kind = fb::InstructionArguments;
  const auto make = [&builder](Kind kind, auto table) { return fb::CreateInstruction(builder, kind, table.Union()); };
  return std::visit(
      Match{
          [&](const KernelCallDesc& x) {
            return make(Kind::KernelCall, fb::CreateKernelCall(builder, x.op_index, builder.CreateVector(x.args)));
          },
          [&](const DelegateCallDesc& x) {
            return make(Kind::DelegateCall,
                        fb::CreateDelegateCall(builder, x.delegate_index, builder.CreateVector(x.args)));
          },
          [&](const MoveDesc& x) { return make(Kind::MoveCall, fb::CreateMoveCall(builder, x.from, x.to)); },
          [&](const JumpFalseDesc& x) {
            return make(Kind::JumpFalseCall, fb::CreateJumpFalseCall(builder, x.condition, x.destination));
          },
          [&](const FreeDesc& x) { return make(Kind::FreeCall, fb::CreateFreeCall(builder, x.value)); },
      },
      instruction);
}

Offset<fb::FrameList> build_frames(FlatBufferBuilder& builder, const std::vector<FrameDesc>& frames) {
  std::vector<Offset<fb::Frame>> list;
  for (const FrameDesc& frame : frames) {
    const auto file = builder.CreateSharedString(frame.file);
    const auto function = builder.CreateSharedString(frame.function);
    const auto text = builder.CreateSharedString(frame.text);
    list.push_back(fb::CreateFrame(builder, file, frame.line, function, text));
  }
  return fb::CreateFrameList(builder, builder.CreateVector(list));
}

Offset<fb::Chain> build_chain(FlatBufferBuilder& builder, const MethodDesc& method) {
  std::vector<Offset<fb::Instruction>> list;
  list.reserve(method.instructions.size());
  for (const InstructionDesc& instruction : method.instructions)
    list.push_back(build_instruction(builder, instruction));
  Offset<flatbuffers::Vector<Offset<fb::FrameList>>> stacktrace = 0;
  if (!method.stacktrace.empty()) {
    std::vector<Offset<fb::FrameList>> frames;
    for (const auto& frame_list : method.stacktrace) frames.push_back(build_frames(builder, frame_list));
    stacktrace = builder.CreateVector(frames);
  }
  const auto none = builder.CreateVector(std::vector<int32_t>());
  return fb::CreateChain(builder, none, none, builder.CreateVector(list), stacktrace);
}

Offset<fb::BackendDelegate> build_delegate(FlatBufferBuilder& builder, const DelegateDesc& delegate,
                                           const SegmentLayout& layout) {
  const int segment = layout.payload_segments[delegate.payload];
  // Empty payloads share entry 0 of the inline data.
  const auto where = segment < 0 ? fb::CreateBackendDelegateDataReference(builder, fb::DataLocation::INLINE, 0)
                                 : fb::CreateBackendDelegateDataReference(builder, fb::DataLocation::SEGMENT,
                                                                          static_cast<uint32_t>(segment));
  std::vector<Offset<fb::CompileSpec>> specs;
  for (const CompileSpecDesc& spec : delegate.compile_specs) {
    const auto key = builder.CreateString(spec.key);
    specs.push_back(fb::CreateCompileSpec(builder, key, builder.CreateVector(spec.value)));
  }
  const auto id = builder.CreateString(delegate.id);
  return fb::CreateBackendDelegate(builder, id, where, builder.CreateVector(specs));
}

using DeviceList = Offset<flatbuffers::Vector<Offset<fb::NonConstBufferDevice>>>;

DeviceList build_arena_devices(FlatBufferBuilder& builder, const MethodDesc& method) {
  std::vector<Offset<fb::NonConstBufferDevice>> list;
  for (size_t k = 0; k < method.arenas.size(); ++k) {
    const Device device = method.arenas[k].device;
    if (device.is_cpu()) continue;
    list.push_back(fb::CreateNonConstBufferDevice(builder, static_cast<int32_t>(k + 1),
                                                  static_cast<fb::DeviceType>(device.type), device.index));
  }
  return list.empty() ? DeviceList(0) : builder.CreateVector(list);
}

Offset<fb::ExecutionPlan> build_method(FlatBufferBuilder& builder, const MethodDesc& method,
                                       const SegmentLayout& layout) {
  std::vector<Offset<fb::EValue>> values;
  values.reserve(method.values.size());
  for (const ValueDesc& value : method.values) values.push_back(build_value(builder, value));
  std::vector<Offset<fb::Operator>> operators;
  for (const OperatorDesc& op : method.operators) {
    const auto name = builder.CreateString(op.name);
    operators.push_back(fb::CreateOperator(builder, name, builder.CreateString(op.overload)));
  }
  std::vector<Offset<fb::BackendDelegate>> delegates;
  for (const DelegateDesc& delegate : method.delegates) delegates.push_back(build_delegate(builder, delegate, layout));
  std::vector<int64_t> arena_bytes = {0};
  for (const ArenaDesc& arena : method.arenas) arena_bytes.push_back(static_cast<int64_t>(arena.bytes));
  if (method.arenas.empty()) arena_bytes.push_back(0);

  const auto name = builder.CreateString(method.name);
  const auto input_tree = builder.CreateString(method.input_tree);
  const auto output_tree = builder.CreateString(method.output_tree);
  const auto container = fb::CreateContainerMetadata(builder, input_tree, output_tree);
  const auto value_list = builder.CreateVector(values);
  const auto inputs = builder.CreateVector(method.inputs);
  const auto outputs = builder.CreateVector(method.outputs);
  const std::vector<Offset<fb::Chain>> chain = {build_chain(builder, method)};
  const auto chains = builder.CreateVector(chain);
  const auto operator_list = builder.CreateVector(operators);
  const auto delegate_list = builder.CreateVector(delegates);
  const auto sizes = builder.CreateVector(arena_bytes);
  const auto devices = build_arena_devices(builder, method);
  return fb::CreateExecutionPlan(builder, name, container, value_list, inputs, outputs, chains, operator_list,
                                 delegate_list, sizes, devices);
}

using DataSegments = std::vector<Offset<fb::DataSegment>>;
using NamedDataList = Offset<flatbuffers::Vector<Offset<fb::NamedData>>>;
using SubsegmentList = Offset<flatbuffers::Vector<Offset<fb::SubsegmentOffsets>>>;

NamedDataList build_named_data(FlatBufferBuilder& builder, const ProgramDesc& program, const SegmentLayout& layout) {
  if (program.named_data.empty()) return 0;
  std::vector<Offset<fb::NamedData>> list;
  for (size_t i = 0; i < program.named_data.size(); ++i) {
    const auto key = builder.CreateString(program.named_data[i].key);
    list.push_back(fb::CreateNamedData(builder, key, static_cast<uint32_t>(layout.named_data_segments[i])));
  }
  return builder.CreateVector(list);
}

SubsegmentList build_initial_values(FlatBufferBuilder& builder, const SegmentLayout& layout) {
  if (layout.initial_value_segment < 0) return 0;
  const std::vector<Offset<fb::SubsegmentOffsets>> list = {
      fb::CreateSubsegmentOffsets(builder, static_cast<uint32_t>(layout.initial_value_segment),
                                  builder.CreateVector(layout.initial_value_offsets))};
  return builder.CreateVector(list);
}

}  // namespace

void build_tables(const ProgramDesc& program, const SegmentLayout& layout, FlatBufferBuilder& builder) {
  std::vector<Offset<fb::ExecutionPlan>> methods;
  for (const MethodDesc& method : program.methods) methods.push_back(build_method(builder, method, layout));
  const auto method_list = builder.CreateVector(methods);
  const auto constant_buffer = builder.CreateVector(std::vector<Offset<fb::Buffer>>());
  std::vector<Offset<fb::BackendDelegateInlineData>> inline_data;
  if (std::find(layout.payload_segments.begin(), layout.payload_segments.end(), -1) != layout.payload_segments.end()) {
    inline_data.push_back(fb::CreateBackendDelegateInlineData(builder, builder.CreateVector(std::vector<uint8_t>())));
  }
  const auto inline_list = builder.CreateVector(inline_data);
  DataSegments segments;
  for (const SegmentSpan& span : layout.segments)
    segments.push_back(fb::CreateDataSegment(builder, span.offset, span.size));
  const auto segment_list = builder.CreateVector(segments);
  const auto constants = fb::CreateSubsegmentOffsets(builder, 0, builder.CreateVector(layout.constant_offsets));
  const auto initial_values = build_initial_values(builder, layout);
  const auto named_data = build_named_data(builder, program, layout);
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, 0, method_list, constant_buffer, inline_list,
                                                     segment_list, constants, initial_values, named_data));
}

uint64_t estimate_table_bytes(const ProgramDesc& program) {
  uint64_t total = 16 * (program.constants.size() + program.initial_values.size()) + 64 * program.named_data.size();
  for (const MethodDesc& method : program.methods) {
    total += 128 * (method.values.size() + method.instructions.size() + method.operators.size());
    for (const InstructionDesc& instruction : method.instructions) {
      if (const auto* call = std::get_if<KernelCallDesc>(&instruction)) total += 4 * call->args.size();
      if (const auto* call = std::get_if<DelegateCallDesc>(&instruction)) total += 4 * call->args.size();
    }
    for (const ValueDesc& value : method.values) {
      if (const auto* list = std::get_if<IntListDesc>(&value)) total += 8 * list->items.size();
      if (const auto* list = std::get_if<DoubleListDesc>(&value)) total += 8 * list->items.size();
      if (const auto* list = std::get_if<TensorListDesc>(&value)) total += 4 * list->items.size();
      if (const auto* text = std::get_if<std::string>(&value)) total += text->size();
    }
    for (const auto& frames : method.stacktrace) total += 64 * frames.size();
  }
  return total;
}

}  // namespace berth::format
