#include "compiler/import/pt2/user_input.h"

#include <algorithm>
#include <numeric>

#include "compiler/import/lowering/lowering.h"
#include "compiler/ir/shape_args.h"

namespace berth::pt2 {
namespace {

// From the longest stride to the shortest; dimensions of one element stay where they are. Empty for row-major, and
// for tensors with gaps or repeats: those the caller packs.
std::vector<uint8_t> dimension_order(const ir::TensorType& type, const std::vector<int64_t>& strides) {
  std::vector<uint8_t> order(strides.size());
  std::iota(order.begin(), order.end(), uint8_t{0});
  std::vector<uint8_t> moving;
  for (uint8_t d : order) {
    if (type.shape[d] != Dim(1)) moving.push_back(d);
    if (strides[d] < 1) return {};
  }
  std::stable_sort(moving.begin(), moving.end(), [&](uint8_t a, uint8_t b) { return strides[a] > strides[b]; });
  size_t next = 0;
  for (uint8_t& d : order) {
    if (type.shape[d] != Dim(1)) d = moving[next++];
  }
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] != d) return order;
  }
  return {};
}

}  // namespace

Failure input_failure(const std::string& name, std::string message, Error code) {
  return Failure{code, "pt2 input \"" + name + "\"", std::move(message)};
}

Status bind_input_sizes(const Program& program, const ImportOptions& options, SymbolTable& symbols) {
  std::vector<SizedInput> sized;
  std::map<std::string, Size> numbers;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Argument& input = program.graph.inputs[i];
    if (program.inputs[i].kind != InputKind::kUser || input.names.empty()) continue;
    const std::string& name = input.names[0];
    if (input.kind == ArgumentKind::kTensor) {
      const auto meta = program.graph.tensors.find(name);
      if (meta == program.graph.tensors.end()) return input_failure(name, "has no type", Error::kInvalidProgram);
      sized.push_back({name, &meta->second});
    } else if (input.kind == ArgumentKind::kSymInt) {
      const auto size = program.graph.sym_ints.find(name);
      if (size != program.graph.sym_ints.end()) numbers.emplace(name, size->second);
    }
  }
  return symbols.bind_inputs(sized, numbers, options);
}

Expected<ir::TensorType> user_input_type(const Graph& graph, const std::string& name, SymbolTable& symbols) {
  const ir::Symbols& known = symbols.symbols();
  const TensorMeta& meta = graph.tensors.at(name);
  if (!meta.strided) return input_failure(name, "is sparse; Berth reads dense tensors");
  if (meta.sizes.size() > kMaxRank) return input_failure(name, "has more than 16 dimensions");
  ir::TensorType type;
  type.dtype = meta.dtype;
  std::vector<int64_t> strides;
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    auto size = symbols.value(meta.sizes[d]);
    if (!size.ok()) return input_failure(name, "dimension " + std::to_string(d) + ": " + size.error().text());
    type.shape.push_back(*size);
    if (known.lower(*size) < 0 || known.upper(*size) > lowering::kMaxExtent) {
      return input_failure(
          name, "dimension " + std::to_string(d) + " may be " + known.text(*size) + "; sizes lie from 0 to 2^31 - 1",
          Error::kInvalidProgram);
    }
    auto stride = symbols.value(meta.strides[d]);
    strides.push_back(stride.ok() ? known.upper(*stride) : -1);
  }
  if (ir::max_numel(type, known) > lowering::kMaxElements) {
    return input_failure(name, "has more than 2^40 elements", Error::kInvalidProgram);
  }
  if (const std::string problem = ir::type_problem(type, known); !problem.empty()) {
    return input_failure(name, problem);
  }
  type.dim_order = dimension_order(type, strides);
  return type;
}

}  // namespace berth::pt2
