// ProgramDesc: a program file as plain data. The emitter fills one; write_program() writes the file.
//
// Indices are those of the file (format/program.fbs): of values, operators and delegates in the method's lists, of
// constants and initial values from 1 (0 is "none"), of arenas from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "format/write/sink.h"

namespace berth::format {

/// Where a planned tensor begins.
struct ArenaOffset {
  /// Arena `memory_id` is MethodDesc::arenas[memory_id - 1].
  uint32_t memory_id = 1;
  /// In bytes from the arena's start.
  uint64_t offset = 0;
  /// For the compiler alone: tensors with the same number share a buffer of its plan; -1: it does not say.
  int32_t buffer = -1;
};

struct TensorDesc {
  DType dtype = DType::kF32;
  /// Upper bounds if `bounded`.
  std::vector<int32_t> sizes;
  /// Dimensions from the outermost in memory to the innermost.
  std::vector<uint8_t> dim_order;
  /// Whether the sizes may change at run time; their product is then at most that of `sizes`.
  bool bounded = false;
  /// 0: no data. Otherwise the index of a constant, or of an initial value if the tensor is `planned`.
  uint32_t data_buffer_idx = 0;
  /// Of a planned tensor.
  std::optional<ArenaOffset> planned;
  Device device;
  /// The name of a parameter or buffer; may be empty.
  std::string name;
  /// Whether the data are in a data file, under `name`.
  bool external = false;
};

struct NullDesc {};
/// Indices of Int values.
struct IntListDesc {
  std::vector<int64_t> items;
};
struct DoubleListDesc {
  std::vector<double> items;
};
struct BoolListDesc {
  std::vector<bool> items;
};
/// Indices of Tensor values, each smaller than the list's own.
struct TensorListDesc {
  std::vector<int32_t> items;
};
/// The same, with -1 for none.
struct OptionalTensorListDesc {
  std::vector<int32_t> items;
};

using ValueDesc = std::variant<NullDesc, int64_t, bool, double, std::string, TensorDesc, IntListDesc, DoubleListDesc,
                               BoolListDesc, TensorListDesc, OptionalTensorListDesc>;

struct KernelCallDesc {
  int32_t op_index = 0;
  std::vector<int32_t> args;
};
struct DelegateCallDesc {
  int32_t delegate_index = 0;
  std::vector<int32_t> args;
};
struct MoveDesc {
  int32_t from = 0;
  int32_t to = 0;
};
struct JumpFalseDesc {
  int32_t condition = 0;
  int32_t destination = 0;
};
struct FreeDesc {
  int32_t value = 0;
};
using InstructionDesc = std::variant<KernelCallDesc, DelegateCallDesc, MoveDesc, JumpFalseDesc, FreeDesc>;

struct OperatorDesc {
  std::string name;      // "aten::add"
  std::string overload;  // "out"; may be empty
};

struct CompileSpecDesc {
  std::string key;
  std::vector<uint8_t> value;
};

struct DelegateDesc {
  /// The backend's registered name.
  std::string id;
  /// Index into ProgramDesc::payloads. Delegates may share a payload.
  uint32_t payload = 0;
  std::vector<CompileSpecDesc> compile_specs;
};

struct ArenaDesc {
  uint64_t bytes = 0;
  Device device;
};

/// A line of the model's source.
struct FrameDesc {
  std::string file;
  int32_t line = 0;
  std::string function;
  std::string text;
};

struct MethodDesc {
  std::string name;
  std::vector<ValueDesc> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<OperatorDesc> operators;
  std::vector<DelegateDesc> delegates;
  std::vector<InstructionDesc> instructions;
  /// Entry k is arena k + 1. If empty, one empty arena is written, as ExecuTorch does.
  std::vector<ArenaDesc> arenas;
  /// How inputs and outputs are nested in the Python model, as JSON; may be empty.
  std::string input_tree;
  std::string output_tree;
  /// Empty, or the frames of each instruction, innermost last.
  std::vector<std::vector<FrameDesc>> stacktrace;
};

struct NamedDataDesc {
  std::string key;
  Bytes bytes;
  /// The blob's offset in the file is a multiple of this and of the segment alignment.
  uint32_t alignment = 16;
  /// An earlier entry whose bytes in the file this one shares, `bytes` then being empty; -1: none.
  int32_t shares = -1;
};

struct ProgramDesc {
  std::vector<MethodDesc> methods;
  /// Entry i is constant i + 1 of TensorDesc::data_buffer_idx.
  std::vector<Bytes> constants;
  /// Entry i is initial value i + 1.
  std::vector<Bytes> initial_values;
  /// Payloads of DelegateDesc::payload.
  std::vector<Bytes> payloads;
  std::vector<NamedDataDesc> named_data;

  /// The alignment of each constant; a power of two.
  uint32_t constant_alignment = 16;
  /// The alignment of each segment and of the segment area; a power of two, at least constant_alignment.
  uint32_t segment_alignment = 128;
};

}  // namespace berth::format
