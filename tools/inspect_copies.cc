#include "tools/inspect_copies.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/operators.h"
#include "format/tensor_facts.h"
#include "tools/names.h"

namespace berth::tool {
namespace {

bool is_copy(const fb::Operator& op) {
  const ir::Operator* row = ir::find_out_variant(format::text(op.name()), format::text(op.overload()));
  return row != nullptr && row->is_device_copy();
}

// For each instruction of a chain, whether it is inside a loop.
std::vector<bool> in_loops(const flatbuffers::Vector<flatbuffers::Offset<fb::Instruction>>& instructions) {
  std::vector<int> loops(instructions.size() + 1);  // how many more begin there than end
  for (uint32_t k = 0; k < instructions.size(); ++k) {
    const auto* jump = instructions.Get(k)->instr_args_as_JumpFalseCall();
    if (jump == nullptr || jump->destination_instruction() > static_cast<int64_t>(k)) continue;
    ++loops[jump->destination_instruction()];
    --loops[k + 1];
  }
  std::vector<bool> inside(instructions.size());
  int open = 0;
  for (size_t k = 0; k < inside.size(); ++k) inside[k] = (open += loops[k]) > 0;
  return inside;
}

struct CopySums {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t in_loops = 0;
};

}  // namespace

Json copies_json(const fb::ExecutionPlan& method) {
  std::map<std::pair<std::string, std::string>, CopySums> copies;
  for (const fb::Chain* chain : *method.chains()) {
    if (chain->instructions() == nullptr) continue;
    const std::vector<bool> looped = in_loops(*chain->instructions());
    for (uint32_t k = 0; k < chain->instructions()->size(); ++k) {
      const auto* call = chain->instructions()->Get(k)->instr_args_as_KernelCall();
      if (call == nullptr || call->args()->size() < 2) continue;
      const fb::Operator& op = *method.operators()->Get(static_cast<uint32_t>(call->op_index()));
      if (!is_copy(op)) continue;
      const fb::Tensor* from = format::tensor_at(method, call->args()->Get(0));
      const fb::Tensor* to = format::tensor_at(method, call->args()->Get(1));
      uint64_t bytes = 0;
      if (from == nullptr || to == nullptr || !format::tensor_nbytes(*from, &bytes)) continue;
      CopySums& sums = copies[{device_name(format::tensor_device(*from)), device_name(format::tensor_device(*to))}];
      ++sums.count;
      sums.bytes += static_cast<int64_t>(bytes);
      sums.in_loops += looped[k] ? 1 : 0;
    }
  }
  Json list = Json::array();
  for (const auto& [ends, sums] : copies) {
    list.push_back({{"from", ends.first},
                    {"to", ends.second},
                    {"count", sums.count},
                    {"bytes", sums.bytes},
                    {"in_loops", sums.in_loops}});
  }
  return list;
}

}  // namespace berth::tool
