// The parts of an ONNX model file as plain structs. Strings and tensor bytes are views of the file, which must stay
// mapped while a Model lives; nothing of a weight is read here.
//
// Source: the field numbers of ONNX's published onnx.proto; onnx.proto beside this file lists the same fields for the
// tests, which write models with protobuf's own encoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/failure.h"

namespace berth::onnx {

/// TensorProto.DataType.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3Fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2Fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

/// Which repeated field holds the elements of a tensor that has no raw bytes.
enum class TypedData : uint8_t { kNone, kFloat, kInt32, kString, kInt64, kDouble, kUint64 };

struct Tensor {
  std::string_view name;
  int32_t element_type = 0;
  std::vector<int64_t> dims;
  bool has_raw = false;
  std::string_view raw;
  TypedData typed = TypedData::kNone;
  std::vector<std::string_view> typed_chunks;  // encoded numbers, in order
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_entries;
};

struct SparseTensor {
  Tensor values;
  Tensor indices;
  std::vector<int64_t> dims;
};

/// AttributeProto.AttributeType, of those that we read.
enum class AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
};

struct Graph;

struct Attribute {
  std::string_view name;
  std::string_view reference;  // in function bodies: the attribute of the call that this one stands for
  AttributeType type = AttributeType::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Tensor> tensors;         // one for kTensor
  std::vector<SparseTensor> sparses;   // one for kSparseTensor
  std::shared_ptr<const Graph> graph;  // of kGraph
};

struct Node {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;  // "" where an optional input is left out
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
};

struct Dimension {
  bool has_value = false;
  int64_t value = 0;
  std::string_view symbol;  // dim_param; may be empty
};

struct ValueInfo {
  std::string_view name;
  bool is_tensor = false;    // or its elements are, where it is a sequence or optional
  bool is_sequence = false;  // of tensors, perhaps an optional one
  bool is_optional = false;
  int32_t element_type = 0;
  bool has_shape = false;
  std::vector<Dimension> shape;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

struct OpsetImport {
  std::string_view domain;  // "" is ai.onnx
  int64_t version = 0;
};

struct Function {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;
  std::vector<Attribute> attribute_defaults;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::string_view producer;  // "pytorch": torch.onnx.export
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<Function> functions;
};

/// Reads the structure of the model in `file`. InvalidProgram, with the part of the file as place, when it is damaged;
/// OutOfResources when the structs would take more than 4 × the file + 256 MB.
Expected<Model> read_model(std::string_view file);

}  // namespace berth::onnx
