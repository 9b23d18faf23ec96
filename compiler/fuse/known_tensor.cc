#include "compiler/fuse/known_tensor.h"

#include <cstring>
#include <utility>

#include "compiler/eval/evaluate.h"

namespace berth::fuse {

using ir::Argument;
using ir::Node;
using ir::ValueId;

constexpr int64_t kMostKnownBytes = int64_t{1} << 32;

std::vector<int64_t> KnownTensor::sizes() const {
  std::vector<int64_t> sizes;
  for (const ir::Dim& d : type.shape) sizes.push_back(d.value);
  return sizes;
}

std::vector<float> KnownTensor::floats() const {
  if (type.dtype == DType::kF32) {
    std::vector<float> values(blob.size() / sizeof(float));
    blob.read(0, Span<uint8_t>(reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(float)));
    return values;
  }
  const std::vector<uint8_t> bytes = blob.to_vector();
  std::vector<float> values(bytes.size() / element_size(type.dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(passes::element_number(type.dtype, bytes, static_cast<int64_t>(i)));
  }
  return values;
}

KnownTensor known_floats(const std::vector<int64_t>& sizes, const std::vector<float>& values) {
  KnownTensor made;
  made.type.shape = ir::dims(sizes);
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  made.blob = ir::Blob::owned(std::move(bytes));
  return made;
}

std::optional<KnownTensor> KnownReader::known(ValueId value) {
  if (!visit()) return std::nullopt;
  if (const ir::Constant* constant = context_.constant(Argument(value))) {
    if (!constant->type.is_contiguous()) return std::nullopt;
    return KnownTensor{constant->type, constant->blob};
  }
  const Node* node = context_.maker(value);
  const bool plain = node != nullptr && node->results.size() == 1 && node->op->infer != nullptr &&
                     node->op->own == nullptr && !node->op->is_random() && node->regions.empty();
  if (!plain) return std::nullopt;
  std::vector<KnownTensor> inputs;
  bool all = true;
  for (const Argument& a : node->args) {
    ir::for_each_value(a, [&](const ValueId& v) {
      std::optional<KnownTensor> input = all && v.valid() ? known(v) : std::nullopt;
      all = all && input.has_value();
      if (all) inputs.push_back(std::move(*input));
    });
  }
  return all && !inputs.empty() ? run(*node, inputs) : std::nullopt;
}

std::optional<KnownTensor> KnownReader::run(const Node& node, const std::vector<KnownTensor>& inputs) const {
  ir::Module scratch;
  scratch.methods.emplace_back();
  ir::Method& method = scratch.methods[0];
  ir::Builder build(scratch, method, method.body);
  std::vector<Argument> args = node.args;
  size_t next = 0;
  for (Argument& a : args) {
    ir::for_each_value(a, [&](ValueId& v) {
      v = build.constant(inputs[next].type, inputs[next].blob);
      ++next;
    });
  }
  auto made = build.create(*node.op, std::move(args), "");
  if (!made.ok() || made->size() != 1 || method.value((*made)[0]).tensor() == nullptr) return std::nullopt;
  const ir::TensorType result = method.tensor((*made)[0]);
  if (!result.is_static() || !result.is_contiguous()) return std::nullopt;
  auto blobs = eval::evaluate_node(scratch, method, method.nodes.back(), kMostKnownBytes);
  if (!blobs.ok() || static_cast<int64_t>((*blobs)[0].size()) != ir::max_bytes(result, scratch.symbols)) {
    return std::nullopt;
  }
  return KnownTensor{result, (*blobs)[0]};
}

}  // namespace berth::fuse
