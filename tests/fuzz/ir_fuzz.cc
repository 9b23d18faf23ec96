// Reads any bytes as IR text; what it accepts prints, parses back to the same, survives every pass, and gives outputs
// of the same types before and after them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "compiler/eval/evaluate.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/passes/check_elements.h"
#include "compiler/passes/pipeline.h"
#include "tests/fuzz/own_operators.h"

namespace {

using namespace berth;

// Little work, so that many texts are tried.
eval::EvaluateOptions little() {
  eval::EvaluateOptions options;
  options.max_bytes = int64_t{1} << 20;
  options.max_nodes = 1000;
  return options;
}

bool zeros(const ir::Module& module, const ir::Method& method, std::vector<eval::Item>* inputs) {
  for (ir::ValueId id : method.body.inputs) {
    const ir::TensorType* type = method.value(id).tensor();
    if (type == nullptr || ir::max_bytes(*type, module.symbols) > 65536) return false;
    eval::Array array;
    array.dtype = type->dtype;
    array.dim_order = type->dim_order;
    for (ir::Dim dim : type->shape) array.sizes.push_back(static_cast<int32_t>(module.symbols.upper(dim)));
    array.bytes.resize(ir::max_bytes(*type, module.symbols));
    inputs->emplace_back(std::in_place_type<eval::Array>, std::move(array));
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module =
      ir::parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz", "", fuzz::own_operators());
  if (!module.ok()) return 0;
  const std::string text = ir::print(*module);
  const auto again = ir::parse(text, "again", "", fuzz::own_operators());
  BERTH_CHECK(again.ok());
  BERTH_CHECK(ir::print(*again) == text);

  passes::Options options;
  options.verify = true;
  options.fold_limit = int64_t{1} << 20;
  BERTH_CHECK(passes::run(passes::pipeline(), *module, options).ok());
  // Elements may be of any type; what computes with them is found, never assumed.
  static_cast<void>(passes::check_elements(*module, options));
  for (size_t m = 0; m < module->methods.size(); ++m) {
    std::vector<eval::Item> inputs;
    if (!zeros(*again, again->methods[m], &inputs)) continue;
    const auto before = eval::evaluate(*again, again->methods[m], inputs, little());
    if (!before.ok()) continue;
    const auto after = eval::evaluate(*module, module->methods[m], inputs, little());
    BERTH_CHECK(after.ok() && after->size() == before->size());
    for (size_t i = 0; i < before->size(); ++i) BERTH_CHECK((*before)[i].index() == (*after)[i].index());
  }
  return 0;
}
