#include "compiler/import/onnx/import_onnx.h"

#include <algorithm>

#include "compiler/import/onnx/composite_inputs.h"
#include "compiler/import/onnx/import_graph.h"
#include "compiler/import/onnx/input_shapes.h"
#include "compiler/import/onnx/missing.h"

namespace berth {
namespace onnx {
namespace {

constexpr int64_t kMinIrVersion = 3;
// Versions 9 to 14 added element types, of which each tensor says its own; nothing of what was there changed.
constexpr int64_t kMaxIrVersion = 14;
constexpr int64_t kMinOpset = 7;
constexpr int64_t kMaxOpset = 28;

// Then there is nothing whose meaning a version of ai.onnx would say.
bool only_other_domains(const Graph& graph) {
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto has_graph = [](const Attribute& a) { return a.graph != nullptr; };
    return is_standard(node.domain) || std::any_of(node.attributes.begin(), node.attributes.end(), has_graph);
  });
}

// Operators that opset 7 has as opset 1 did: a file of an older opset that has no others is read as one of 7.
constexpr std::string_view kUnchanged[] = {"ArgMax",        "ArgMin",        "Constant",
                                           "Conv",          "ConvTranspose", "DepthToSpace",
                                           "Flatten",       "Gather",        "GlobalAveragePool",
                                           "GlobalMaxPool", "Hardmax",       "Identity",
                                           "LRN",           "LogSoftmax",    "Not",
                                           "ReduceL1",      "ReduceL2",      "ReduceLogSum",
                                           "ReduceMax",     "ReduceMean",    "ReduceMin",
                                           "ReduceProd",    "ReduceSum",     "ReduceSumSquare",
                                           "Shape",         "Size",          "Slice",
                                           "Softmax",       "Softplus",      "Softsign",
                                           "SpaceToDepth",  "Squeeze",       "TopK",
                                           "Transpose",     "Unsqueeze",     "ReduceLogSumExp"};

bool means_the_same_since_1(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto end = std::end(kUnchanged);
    return is_standard(node.domain) && std::find(std::begin(kUnchanged), end, node.op_type) != end;
  });
}

Status check_versions(const Model& model) {
  const auto wrong = [](Error code, std::string message) { return Failure{code, "onnx model", std::move(message)}; };
  if (model.ir_version < kMinIrVersion || model.ir_version > kMaxIrVersion) {
    return wrong(Error::kNotSupported, "IR version " + std::to_string(model.ir_version) + " is not read; " +
                                           std::to_string(kMinIrVersion) + " to " + std::to_string(kMaxIrVersion) +
                                           " are; a model may say an older version if it has no newer element types");
  }
  const int64_t opset = opset_of(model.opsets);
  if (opset == 0 && !model.opsets.empty() && only_other_domains(model.graph)) return Done{};
  if (opset == 0) return wrong(Error::kInvalidProgram, "it does not say which opset of ai.onnx it uses");
  if (opset >= 1 && opset < kMinOpset && means_the_same_since_1(model.graph)) return Done{};
  if (opset < kMinOpset || opset > kMaxOpset) {
    return wrong(Error::kNotSupported, "opset " + std::to_string(opset) + " of ai.onnx is not read; " +
                                           std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset) +
                                           " are; onnx.version_converter can convert it");
  }
  return Done{};
}

/// Inputs that the caller sets: those without an initialiser of the same name (in old files every initialiser is an
/// input as well; in newer ones an input with an initialiser has it as its default).
std::vector<const ValueInfo*> real_inputs(const Graph& graph, const Scope& scope) {
  std::vector<const ValueInfo*> inputs;
  for (const ValueInfo& input : graph.inputs) {
    if (scope.operands.count(input.name) == 0) inputs.push_back(&input);
  }
  return inputs;
}

Expected<ir::Module> import_model(const std::shared_ptr<const MappedFile>& file, std::string_view bytes,
                                  const ImportOptions& options) {
  auto model = read_model(bytes);
  if (!model.ok()) return model.error();
  BERTH_TRY(check_versions(*model));
  BERTH_TRY(check_operators(*model, options.operators.get()));

  Expected<ir::Module> result{ir::Module()};
  ir::Module& module = *result;
  module.operators = options.operators;
  module.methods.emplace_back();
  ir::Method& method = module.methods.back();
  method.name = "forward";
  LiteralReader literals(file, bytes);
  ImportState state{module, method, ir::Builder(module, method, method.body), literals};
  state.by_pytorch = model->producer == "pytorch";

  Scope scope;
  for (const Tensor& t : model->graph.initializers) scope.operands[t.name].initializer = &t;
  for (const SparseTensor& t : model->graph.sparse_initializers) scope.operands[t.values.name].sparse_initializer = &t;
  const std::vector<const ValueInfo*> inputs = real_inputs(model->graph, scope);
  const auto caller = caller_inputs(inputs, options);
  if (!caller.ok()) return caller.error();
  auto types = input_types(module.symbols, caller->tensors, caller->options);
  if (!types.ok()) return types.error();
  for (const InputParts& parts : caller->parts) {
    const auto [place, fresh] = scope.operands.try_emplace(parts.input->name);
    if (!fresh) {
      return Failure{Error::kInvalidProgram, "onnx model",
                     "two inputs are named \"" + std::string(parts.input->name) + "\""};
    }
    std::vector<Operand> tensors(parts.count);
    for (size_t i = 0; i < parts.count; ++i) {
      tensors[i].id = method.add_input(std::move((*types)[parts.first + i]), caller->tensors[parts.first + i]->name);
    }
    Operand& operand = place->second;
    operand.is_nothing = parts.is_nothing;
    if (parts.input->is_sequence && !parts.is_nothing) {
      operand.sequence = std::make_shared<const std::vector<Operand>>(std::move(tensors));
    } else if (!parts.is_nothing) {
      operand = tensors[0];
    }
  }

  GraphImporter importer(state, *model);
  BERTH_TRY(importer.import_graph(model->graph, scope));
  module.files = literals.external_files();
  return result;
}

}  // namespace
}  // namespace onnx

Expected<ir::Module> import_onnx(const std::string& path, const ImportOptions& options) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.error();
  const Span<const uint8_t> bytes = (*file)->bytes();
  return onnx::import_model(*file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
}

Expected<ir::Module> import_onnx(Span<const uint8_t> bytes, const ImportOptions& options) {
  return onnx::import_model(nullptr, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
}

}  // namespace berth
