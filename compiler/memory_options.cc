#include "compiler/memory_options.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/math.h"
#include "compiler/ir/text.h"
#include "compiler/memory/banks.h"
#include "compiler/memory/plan_overlap.h"
#include "compiler/method_settings.h"
#include "compiler/placement/device_io.h"

namespace berth {
namespace {

/// Those for all methods, then those of each.
Expected<std::vector<memory::BankPin>> all_pins(const CompileOptions& options) {
  std::vector<memory::BankPin> pins;
  const auto add = [&](const std::vector<std::string>& texts, const std::string& method) -> Status {
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(memory::BankPin pin, memory::parse_bank_pin(text));
      pin.method = method;
      pins.push_back(std::move(pin));
    }
    return Done{};
  };
  BERTH_TRY(add(options.pins, ""));
  for (const auto& [method, settings] : options.methods) BERTH_TRY(add(settings.pins, method));
  return pins;
}

Failure in_place_without_effect() {
  return Failure{
      Error::kInvalidArgument, "in-place operators (--inplace)",
      "would have no effect: with --no-inplace, --no-reuse or the naive planner no result shares the bytes of "
      "an input; leave one of the two out"};
}

Status check_overlap(const CompileOptions& options) {
  const auto refused = [&](const char* why) {
    return Failure{Error::kInvalidArgument, "overlap " + ir::quoted(options.overlap), why};
  };
  if (!options.reorder) return refused("is another order of the nodes, and none is allowed (--no-reorder)");
  if (options.planner != Planner::kBest) return refused("takes the best planner, as all other orders than the model's");
  if (!options.banks.empty()) return refused("does not know what memory costs in banks: choose one of both");
  return Done{};
}

/// Of one method. `operators`: of one's own, or null.
Expected<memory::MemoryOptions> options_of_one(const CompileOptions& options, const ir::OperatorSet* operators) {
  memory::MemoryOptions memory;
  memory.planner = options.planner;
  if (options.alignment < memory.alignments.host || options.alignment > packing::kMaxAlignment ||
      !is_power_of_two(static_cast<uint64_t>(options.alignment))) {
    return Failure{Error::kInvalidArgument, "alignment " + std::to_string(options.alignment),
                   "expected a power of two from 16 to 2^30"};
  }
  memory.alignments.host = options.alignment;
  memory.alignments.device = std::max(memory.alignments.device, options.alignment);
  memory.in_place = options.in_place;
  if (!options.in_place_operators.empty()) {
    BERTH_ASSIGN_OR_RETURN(memory.in_place_set, memory::InPlaceSet::only(options.in_place_operators, operators));
  }
  memory.alias = options.alias;
  memory.reorder = options.reorder;
  memory.time_limit = options.time_limit;
  if (!options.overlap.empty()) {
    BERTH_ASSIGN_OR_RETURN(memory.overlap, memory::parse_overlap(options.overlap));
    BERTH_TRY(check_overlap(options));
  }
  return memory;
}

}  // namespace

Expected<std::vector<memory::MemoryOptions>> memory_options(const ir::Module& module, const CompileOptions& options) {
  std::vector<memory::MemoryOptions> all;
  bool has_effect = options.in_place_operators.empty() || module.methods.empty();
  for (const ir::Method& method : module.methods) {
    BERTH_ASSIGN_OR_RETURN(memory::MemoryOptions own,
                           options_of_one(options_of(options, method.name), module.operators.get()));
    const auto settings = options.methods.find(method.name);
    const bool has_list = settings != options.methods.end() && settings->second.in_place_operators.has_value();
    if (has_list && !settings->second.in_place_operators->empty() && !own.allows_in_place()) {
      return in_place_without_effect();
    }
    has_effect = has_effect || (!has_list && own.allows_in_place());
    all.push_back(std::move(own));
  }
  if (!has_effect) return in_place_without_effect();
  return all;
}

Status add_banks(const ir::Module& module, const CompileOptions& options, std::vector<memory::MemoryOptions>* memory) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<memory::BankPin> pins, all_pins(options));
  BERTH_TRY(memory::check_pins(pins, module));
  const auto has = [](const memory::MemoryOptions& own, const memory::BankPin& pin) {
    return std::any_of(own.banks.begin(), own.banks.end(), [&](const auto& bank) { return bank.name == pin.bank; });
  };
  for (size_t m = 0; m < module.methods.size(); ++m) {
    for (const std::string& text : options_of(options, module.methods[m].name).banks) {
      BERTH_ASSIGN_OR_RETURN(memory::MemoryBank bank, memory::parse_bank(text));
      (*memory)[m].banks.push_back(std::move(bank));
    }
  }
  for (size_t m = 0; m < module.methods.size(); ++m) {
    std::vector<memory::BankPin> own;
    for (const memory::BankPin& pin : pins) {
      if (!pin.method.empty() && pin.method != module.methods[m].name) continue;
      const bool elsewhere =
          std::any_of(memory->begin(), memory->end(), [&](const auto& other) { return has(other, pin); });
      if (pin.method.empty() && elsewhere && !has((*memory)[m], pin)) continue;
      own.push_back(pin);
    }
    BERTH_ASSIGN_OR_RETURN((*memory)[m].bank_of, memory::bank_of_pins(own, (*memory)[m].banks));
  }
  return Done{};
}

Expected<memory::CallersMemory> callers_on_host(const ir::Module& module, const placement::Options& placing) {
  struct Ports {
    std::vector<bool> inputs;
    std::vector<bool> outputs;
  };
  std::map<std::string, Ports> callers;
  bool any = false;
  BERTH_ASSIGN_OR_RETURN(const auto requested, placement::find_device_io(module, placing.device_io));
  for (size_t m = 0; m < module.methods.size(); ++m) {
    const auto on_host = [&](ir::ValueId id) {
      const auto said = requested[m].find(id);
      const bool is = said != requested[m].end() && said->second.is_cpu();
      any = any || is;
      return is;
    };
    const ir::Graph& body = module.methods[m].body;
    Ports& ports = callers[module.methods[m].name];
    for (const ir::ValueId id : body.inputs) ports.inputs.push_back(on_host(id));
    for (const ir::Argument& output : body.outputs) {
      const ir::ValueId* id = std::get_if<ir::ValueId>(&output);
      ports.outputs.push_back(id != nullptr && on_host(*id));
    }
  }
  memory::CallersMemory is_callers;
  if (!any) return is_callers;
  is_callers = [callers](const ir::Method& method, ir::ValueId port) {
    const Ports& ports = callers.at(method.name);
    for (size_t i = 0; i < ports.inputs.size(); ++i) {
      if (ports.inputs[i] && method.body.inputs[i] == port) return true;
    }
    for (size_t k = 0; k < ports.outputs.size(); ++k) {
      const ir::ValueId* id = std::get_if<ir::ValueId>(&method.body.outputs[k]);
      if (ports.outputs[k] && id != nullptr && *id == port) return true;
    }
    return false;
  };
  return is_callers;
}

}  // namespace berth
