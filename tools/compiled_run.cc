#include "tools/compiled_run.h"

#include <memory>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "tools/arrays.h"
#include "tools/load_method.h"
#include "tools/method_inputs.h"

namespace berth::tool {
namespace {

struct CompiledMethod {
  std::vector<uint8_t> program;
  LoadRequest request;
  std::unique_ptr<LoadedMethod> loaded;
};

Expected<quantize::Arrays> run_compiled(CompiledMethod& compiled, const quantize::Arrays& inputs) {
  std::vector<Array> arrays;
  for (const eval::Array& input : inputs) arrays.push_back(array_of(input));
  BERTH_TRY(set_inputs(*compiled.loaded, arrays));
  Method& method = compiled.loaded->method->method();
  if (method.execute() != Error::kOk) return failure_of(compiled.request, method);
  quantize::Arrays outputs;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const EValue value = method.get_output(i);
    if (!value.is_tensor()) {
      outputs.push_back({DType::kBool, {0}, {}, {}});
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const Array output, array_of(value.tensor(), compiled.loaded->machine.registry(),
                                                        "output " + std::to_string(i)));
    outputs.push_back(evaluated(output, {}));
  }
  return outputs;
}

}  // namespace

Expected<quantize::Run> compiled(const ir::Module& module, const std::string& method, int threads) {
  auto made = std::make_shared<CompiledMethod>();
  CompileOptions options;
  options.target = "cpu";
  // It runs a few times; a small arena is not worth the search.
  options.planner = Planner::kGreedy;
  BERTH_ASSIGN_OR_RETURN(made->program, compile(module, options));
  made->request.program = "the model, compiled to be calibrated";
  made->request.bytes = made->program;
  made->request.method = method;
  made->request.threads = threads;
  BERTH_ASSIGN_OR_RETURN(made->loaded, load_method(made->request));
  return quantize::Run([made](const quantize::Arrays& inputs) { return run_compiled(*made, inputs); });
}

}  // namespace berth::tool
