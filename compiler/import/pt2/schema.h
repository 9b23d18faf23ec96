// The description of a model in a `.pt2` archive, as plain structs: the parts of torch.export's schema 8 that Berth
// uses.
//
// Source: the schema's text in torch/_export/serde (versions 8.14 to 8.20: PyTorch 2.9 to 2.15). Missing fields have
// the schema's defaults, unused fields are ignored.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "compiler/import/pt2/json.h"

namespace berth::pt2 {

/// A size: a number, or an expression in symbols ("Mul(Integer(2), Symbol('s77'))").
struct Size {
  int64_t number = 0;
  std::string expression;  // when not empty, the number means nothing
  int64_t hint = -1;       // what the expression was in the example of the export; -1: the file does not say it
};

struct TensorMeta {
  DType dtype = DType::kF32;
  std::vector<Size> sizes;
  std::vector<Size> strides;  // in elements
  Size storage_offset;        // in elements
  bool strided = true;        // false: sparse
};

struct Graph;

enum class ArgumentKind {
  kNone,
  kTensor,      // names[0]
  kTensors,     // names; "" for None
  kInt,         // ints[0]
  kInts,        // ints
  kSymInt,      // names[0], or ints[0] when that is ""
  kSymInts,     // the same for each
  kFloat,       // floats[0]
  kFloats,      // floats
  kSymFloat,    // names[0], or floats[0]
  kSymBool,     // names[0], or ints[0] as a truth value
  kBool,        // ints[0]
  kBools,       // ints
  kComplex,     // floats: real part, imaginary part
  kString,      // text
  kScalarType,  // ints[0] in the schema's numbers
  kGraph,       // graph
  kOperator,    // text: its target
  kMemoryFormat,
  kLayout,
  kDevice,  // read and dropped
  kOther,   // text: the variant's name
};

struct Argument {
  ArgumentKind kind = ArgumentKind::kNone;
  std::vector<std::string> names;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::string text;
  std::shared_ptr<Graph> graph;
};

struct NamedArgument {
  std::string name;  // empty for the positional arguments of higher-order operators
  Argument value;
};

struct Node {
  std::string target;  // torch.ops.aten.relu.default
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string name;         // may be empty
  std::string stack_trace;  // of the user's Python
  std::string module_path;  // "layer1.0.conv1"; may be empty
};

struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Size> sym_ints;
};

enum class InputKind { kParameter, kBuffer, kTensorConstant, kUser, kConstant, kToken, kCustomObject };

struct InputSpec {
  InputKind kind = InputKind::kUser;
  std::string target;  // the parameter's, buffer's or constant's full name
  bool persistent = true;
};

enum class OutputKind { kUser, kBufferMutation, kParameterMutation, kUserInputMutation, kToken, kTraining };

struct OutputSpec {
  OutputKind kind = OutputKind::kUser;
  std::string target;  // the buffer's, parameter's or input's name
};

/// An inclusive range; absent ends are open.
struct Range {
  bool has_min = false, has_max = false;
  int64_t min = 0, max = 0;
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;    // one for each of graph.inputs
  std::vector<OutputSpec> outputs;  // one for each of graph.outputs
  std::map<std::string, Range> ranges;
  int64_t major = 0, minor = 0;
  std::string torch_version;
};

/// The schema's number of an element type; fails for those that have none here.
DType read_dtype(JsonReader& reader, int64_t number, const std::string& where);
TensorMeta read_tensor_meta(JsonReader& reader, const Json& json, const std::string& where);

/// The whole of models/<name>.json. InvalidProgram with the field that is wrong; NotSupported for other schemas than 8.
Expected<Program> read_program(const Json& json, const std::string& place);

}  // namespace berth::pt2
