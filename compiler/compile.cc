#include "compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <system_error>

#include "base/backend_facts.h"
#include "base/mapped_file.h"
#include "base/math.h"
#include "base/output_file.h"
#include "base/stopwatch.h"
#include "compiler/check_program.h"
#include "compiler/data_files.h"
#include "compiler/emit/emit.h"
#include "compiler/fuse/fuse.h"
#include "compiler/fuse/narrow_weights.h"
#include "compiler/ir/operators.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory/remarks.h"
#include "compiler/memory/spill.h"
#include "compiler/pipeline.h"
#include "compiler/placement/device_io.h"
#include "compiler/placement/options.h"
#include "format/program_view.h"
#include "format/write/write_program.h"

namespace berth {
namespace {

/// `options` as they are for one method.
CompileOptions options_of(const CompileOptions& options, const std::string& method) {
  CompileOptions own = options;
  const auto found = options.methods.find(method);
  if (found == options.methods.end()) return own;
  const auto set = [](auto& value, const auto& of_method) {
    if (of_method.has_value()) value = *of_method;
  };
  const MethodSettings& settings = found->second;
  set(own.target, settings.target);
  set(own.split, settings.split);
  set(own.banks, settings.banks);
  set(own.planner, settings.planner);
  set(own.alignment, settings.alignment);
  set(own.in_place, settings.in_place);
  set(own.in_place_operators, settings.in_place_operators);
  set(own.alias, settings.alias);
  set(own.reorder, settings.reorder);
  return own;
}

Status check_method_names(const ir::Module& module, const CompileOptions& options) {
  for (const auto& entry : options.methods) {
    if (module.find_method(entry.first) != nullptr) continue;
    std::string names;
    for (const ir::Method& method : module.methods) names += (names.empty() ? "" : ", ") + method.name;
    return Failure{Error::kInvalidArgument, "settings of method " + ir::quoted(entry.first),
                   "there is no such method; there are: " + names};
  }
  return Done{};
}

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

/// `memory`: of each method. A pin for all methods holds in those that have its bank.
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

Failure in_place_without_effect() {
  return Failure{
      Error::kInvalidArgument, "in-place operators (--inplace)",
      "would have no effect: with --no-inplace, --no-reuse or the naive planner no result shares the bytes of "
      "an input; leave one of the two out"};
}

/// Of one method. `operators`: of one's own, or null.
Expected<memory::MemoryOptions> memory_options(const CompileOptions& options, const ir::OperatorSet* operators) {
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
  return memory;
}

Expected<std::vector<memory::MemoryOptions>> memory_options(const ir::Module& module, const CompileOptions& options) {
  std::vector<memory::MemoryOptions> all;
  bool has_effect = options.in_place_operators.empty() || module.methods.empty();
  for (const ir::Method& method : module.methods) {
    BERTH_ASSIGN_OR_RETURN(memory::MemoryOptions own,
                           memory_options(options_of(options, method.name), module.operators.get()));
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

// Whether the program may have operators of Berth's own. Where "portable" is the only target it must not, unless it
// calls delegates that no other runtime has.
bool takes_berths_runtime(const ir::Module& module, const std::vector<targets::Target>& targets) {
  return !std::all_of(targets.begin(), targets.end(), [](const auto& target) { return target.is_portable(); }) ||
         std::any_of(module.delegates.begin(), module.delegates.end(),
                     [](const ir::Delegate& delegate) { return runs_nested_programs(delegate.backend.c_str()); });
}

Status check_instruction_set(const std::string& name) {
  std::string known;
  for (const std::string& one : instruction_sets()) {
    if (one == name) return Done{};
    known += (known.empty() ? "" : ", ") + one;
  }
  return Failure{Error::kInvalidArgument, "instruction set '" + name + "'", "expected one of " + known};
}

Expected<DType> weights_of(const std::string& precision) {
  DType type = DType::kF32;
  const std::vector<std::string> known = precisions();
  if (std::find(known.begin(), known.end(), precision) != known.end() &&
      parse_dtype(precision.data(), precision.size(), &type)) {
    return type;
  }
  return Failure{Error::kInvalidArgument, "precision '" + precision + "'", "expected one of f32, bf16, f16"};
}

// A precision that nothing would have is a mistake.
Status check_precision(const placement::Options& placing, const CompileOptions& options) {
  const auto narrows = [](const targets::Target& target) { return target.weights != DType::kF32; };
  const auto any = [&](const std::vector<targets::Target>& targets) {
    return std::any_of(targets.begin(), targets.end(), narrows);
  };
  if (options.precision == "f32" || any(placing.targets)) return Done{};
  for (const auto& [method, own] : placing.methods) {
    if (any(own.targets)) return Done{};
  }
  return Failure{Error::kInvalidArgument, "precision '" + options.precision + "'",
                 "only the target cpu keeps weights so, and the targets are " + options.target};
}

Expected<std::vector<targets::Target>> targets_of(const CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const DType weights, weights_of(options.precision));
  BERTH_ASSIGN_OR_RETURN(std::vector<targets::Target> targets, targets::parse_targets(options.target, options.plugins));
  for (targets::Target& target : targets) {
    if (target.isa.empty()) continue;
    target.isa = options.cpu == "generic" ? "" : options.cpu;
    target.weights = weights;
  }
  return targets;
}

/// Of one method, or of all where `method` is empty.
Status add_rules(const std::vector<std::string>& place, const std::vector<std::string>& device_io,
                 const std::string& method, placement::Options* placing) {
  for (const std::string& text : place) {
    BERTH_ASSIGN_OR_RETURN(placement::Rule rule, placement::parse_rule(text));
    rule.method = method;
    placing->rules.push_back(std::move(rule));
  }
  for (const std::string& text : device_io) {
    BERTH_ASSIGN_OR_RETURN(placement::DeviceIo io, placement::parse_device_io(text));
    io.method = method;
    placing->device_io.push_back(std::move(io));
  }
  return Done{};
}

/// To the targets of all methods.
Status add_spec(const std::string& text, placement::Options* placing) {
  BERTH_ASSIGN_OR_RETURN(bool found, targets::add_spec(text, &placing->targets));
  for (auto& [method, own] : placing->methods) {
    BERTH_ASSIGN_OR_RETURN(const bool here, targets::add_spec(text, &own.targets));
    found = found || here;
  }
  if (found) return Done{};
  return Failure{Error::kInvalidArgument, "spec '" + text + "'", "its target is not among those that make delegates"};
}

Expected<placement::Options> place_options(const ir::Module& module, const CompileOptions& options) {
  placement::Options placing;
  BERTH_TRY(check_instruction_set(options.cpu));
  BERTH_ASSIGN_OR_RETURN(placing.targets, targets_of(options));
  BERTH_TRY(add_rules(options.place, options.device_io, "", &placing));
  placing.node_device = options.node_device;
  placing.split = options.split;
  placing.direct_copies = takes_berths_runtime(module, placing.targets);
  for (const auto& [method, settings] : options.methods) {
    BERTH_TRY(add_rules(settings.place, settings.device_io, method, &placing));
    const CompileOptions own = options_of(options, method);
    placement::MethodTargets& targets = placing.methods[method];
    BERTH_ASSIGN_OR_RETURN(targets.targets, targets_of(own));
    targets.split = own.split;
    targets.direct_copies = takes_berths_runtime(module, targets.targets);
  }
  for (const std::string& text : options.specs) BERTH_TRY(add_spec(text, &placing));
  BERTH_TRY(check_precision(placing, options));
  return placing;
}

// The inputs and outputs that are the caller's memory on the host, by their positions, which no pass changes.
Expected<std::function<bool(const ir::Method&, ir::ValueId)>> callers_on_host(const ir::Module& module,
                                                                              const placement::Options& placing) {
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
  std::function<bool(const ir::Method&, ir::ValueId)> is_callers;
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

Status check_file_alignment(const char* what, uint32_t alignment) {
  if (is_power_of_two(alignment) && alignment >= 16 && alignment <= kMostFileAlignment) return Done{};
  return Failure{Error::kInvalidArgument, std::string(what) + " alignment " + std::to_string(alignment),
                 "expected a power of two from 16 to " + std::to_string(kMostFileAlignment)};
}

void align_files(const CompileOptions& options, emit::EmittedProgram& emitted) {
  emitted.program.constant_alignment = options.constant_alignment;
  emitted.program.segment_alignment = std::max(options.segment_alignment, options.constant_alignment);
  for (emit::ExternalFile& file : emitted.external) file.data.alignment = emitted.program.segment_alignment;
}

void fill_report(emit::EmittedProgram& emitted, CompileReport& report) {
  report.arenas = std::move(emitted.arenas);
  report.delegates = std::move(emitted.delegates);
  report.copies = std::move(emitted.copies);
  report.banks = std::move(emitted.banks);
  for (const emit::ExternalFile& file : emitted.external) {
    report.external.push_back({file.path, static_cast<int64_t>(file.data.blobs.size()), file.bytes});
  }
  report.instructions = emitted.instructions;
  report.views = emitted.views;
  report.saved_by_order = emitted.saved_by_order;
  report.in_place = emitted.in_place;
  report.plan_ms = emitted.plan_ms;
  report.truncated = emitted.truncated;
  report.order_optimal = emitted.order_optimal;
  for (const format::NamedDataDesc& named : emitted.program.named_data) {
    if (named.key != format::kMetaKey) report.constant_bytes += static_cast<int64_t>(named.bytes.size);
  }
  for (const format::Bytes& constant : emitted.program.constants) {
    report.constant_bytes += static_cast<int64_t>(constant.size);
  }
}

// What is copied within a device has no form in ExecuTorch's operators.
Status check_portable(const ir::Module& module, const placement::Options& placing, const format::ProgramDesc& program) {
  const std::string_view direct = ir::operator_of(ir::OpId::d2d_copy_out).name;
  for (const format::MethodDesc& method : program.methods) {
    if (placement::options_of(placing, *module.find_method(method.name)).direct_copies) continue;
    for (const format::OperatorDesc& op : method.operators) {
      if (op.name != direct) continue;
      return Failure{Error::kNotSupported, "method " + method.name,
                     "an output, or a state, on a device is to be a copy of another value there, which takes " +
                         op.name +
                         ", and ExecuTorch's library has no such operator; have it on the host, or compile for Berth's "
                         "own runtime (--target portable,cpu)"};
    }
  }
  return Done{};
}

// From a module to the tables of a program; nothing is written yet.
Expected<emit::EmittedProgram> lower(ir::Module& module, const CompileOptions& options, Watch& watch,
                                     CompileReport& report) {
  BERTH_TRY(check_method_names(module, options));
  BERTH_TRY(check_file_alignment("constant", options.constant_alignment));
  BERTH_TRY(check_file_alignment("segment", options.segment_alignment));
  BERTH_ASSIGN_OR_RETURN(ExternalRules external, ExternalRules::parse(options.external_constants));
  BERTH_ASSIGN_OR_RETURN(const placement::Options placing, place_options(module, options));
  BERTH_ASSIGN_OR_RETURN(std::vector<memory::MemoryOptions> memory, memory_options(module, options));
  BERTH_TRY(ir::verify(module));
  BERTH_ASSIGN_OR_RETURN(const memory::CallersMemory callers, callers_on_host(module, placing));
  for (memory::MemoryOptions& own : memory) {
    own.callers = callers;
    own.watch = &watch;
  }
  passes::Options pass_options;
  pass_options.fusion = options.fusion;
  pass_options.keep_quantized = options.fusion && fuse::keeps_quantized(placement::all_targets(placing));
  pass_options.watch = &watch;
  pass_options.dump_dir = options.dump_ir;
  if (!options.dump_ir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_ir, error);
    if (error) return Failure{Error::kAccessFailed, options.dump_ir, "cannot be made: " + error.message()};
  }
  pass_options.verify = options.verify_ir;
  pass_options.why = options.why;
  pass_options.name_methods = module.methods.size() > 1;
  pass_options.why_lines = options.why.empty() ? nullptr : &report.why;
  BERTH_TRY(passes::run(pipeline(placing, options.fusion), module, pass_options));
  BERTH_TRY(ir::verify_devices(module));
  BERTH_TRY(fuse::check_outside(module));
  BERTH_TRY(add_banks(module, options, &memory));
  BERTH_TRY(memory::spill_to_far_banks(&module, &memory));
  BERTH_ASSIGN_OR_RETURN(const std::vector<memory::MemoryPlan> plans, memory::plan_memory(module, std::move(memory)));
  if (passes::wants_why(pass_options, "reuse")) memory::remark_reuse(module, plans, &report.why);
  watch.begin("program", kPassesPart + kMemoryPart);
  if (watch.ended()) return Watch::failure();
  emit::EmitOptions emit_options;
  emit_options.stack_traces = options.stack_traces;
  emit_options.constant_file = external.constant_file();
  BERTH_ASSIGN_OR_RETURN(emit::EmittedProgram emitted, emit::emit(module, plans, emit_options));
  BERTH_TRY(external.check_matched());
  align_files(options, emitted);
  BERTH_TRY(check_portable(module, placing, emitted.program));
  fill_report(emitted, report);
  if (options.precision != "f32") report.narrow_bytes = fuse::narrow_constant_bytes(module);
  return emitted;
}

std::set<std::string> external_keys(const emit::EmittedProgram& emitted) {
  std::set<std::string> keys;
  for (const emit::ExternalFile& file : emitted.external) {
    for (const format::DataBlobDesc& blob : file.data.blobs) keys.insert(blob.key);
  }
  return keys;
}

}  // namespace

std::vector<std::string> precisions() { return {"f32", "bf16", "f16"}; }

std::vector<std::string> instruction_sets() { return {"native", "generic", "avx2", "avx512"}; }

Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options, CompileReport* report) {
  const Stopwatch watch;
  if (!options.external_constants.empty()) {
    return Failure{Error::kInvalidArgument, "external constants",
                   "compile() gives the bytes of a program alone; compile_to_file() writes data files too"};
  }
  CompileReport filled;
  Watch waiting(options.progress);
  BERTH_ASSIGN_OR_RETURN(const emit::EmittedProgram emitted, lower(module, options, waiting, filled));
  BERTH_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, format::program_bytes(emitted.program));
  BERTH_TRY(check_program(bytes));
  filled.total_ms = watch.milliseconds();
  if (report != nullptr) *report = std::move(filled);
  return bytes;
}

Status compile_to_file(ir::Module module, const CompileOptions& options, const std::string& path,
                       CompileReport* report) {
  const Stopwatch watch;
  BERTH_TRY(keep_files(module.files, path, path));
  CompileReport filled;
  Watch waiting(options.progress);
  BERTH_ASSIGN_OR_RETURN(const emit::EmittedProgram emitted, lower(module, options, waiting, filled));
  BERTH_TRY(check_data_files(emitted.external, path, module.files));
  const auto write = [&](OutputFile& file) {
    return format::write_program(emitted.program,
                                 [&](Span<const uint8_t> bytes) { return file.write(bytes.data(), bytes.size()); });
  };
  const std::set<std::string> external = external_keys(emitted);
  const auto check = [&](const std::string& written) -> Status {
    BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(written));
    return check_program(file->bytes(), external);
  };
  BERTH_TRY(write_data_files(emitted.external, [&]() -> Status {
    if (!is_special_file(path)) return write_whole_file(path, write, check);
    // What is written in place cannot be taken back: it is checked before.
    BERTH_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, format::program_bytes(emitted.program));
    BERTH_TRY(check_program(bytes, external));
    return write_whole_file(path, [&](OutputFile& file) { return file.write(bytes.data(), bytes.size()); });
  }));
  filled.total_ms = watch.milliseconds();
  if (report != nullptr) *report = std::move(filled);
  return Done{};
}

}  // namespace berth
