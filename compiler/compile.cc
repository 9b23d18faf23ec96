#include "compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "base/backend_facts.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/stopwatch.h"
#include "compiler/check_program.h"
#include "compiler/emit/emit.h"
#include "compiler/fuse/fuse.h"
#include "compiler/ir/operators.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory/remarks.h"
#include "compiler/pipeline.h"
#include "compiler/placement/device_io.h"
#include "compiler/placement/options.h"
#include "format/program_view.h"
#include "format/write/write_program.h"

namespace berth {
namespace {

Status add_banks(const ir::Module& module, const CompileOptions& options, memory::MemoryOptions* memory) {
  for (const std::string& text : options.banks) {
    BERTH_ASSIGN_OR_RETURN(memory::MemoryBank bank, memory::parse_bank(text));
    memory->banks.push_back(std::move(bank));
  }
  std::vector<memory::BankPin> pins;
  for (const std::string& text : options.pins) {
    BERTH_ASSIGN_OR_RETURN(memory::BankPin pin, memory::parse_bank_pin(text));
    pins.push_back(std::move(pin));
  }
  BERTH_TRY(memory::check_pins(pins, module));
  BERTH_ASSIGN_OR_RETURN(memory->bank_of, memory::bank_of_pins(pins, memory->banks));
  return Done{};
}

Expected<memory::MemoryOptions> memory_options(const CompileOptions& options) {
  memory::MemoryOptions memory;
  memory.planner = options.planner;
  memory.in_place = options.in_place;
  if (!options.in_place_operators.empty()) {
    if (!memory.allows_in_place()) {
      return Failure{Error::kInvalidArgument, "in-place operators (--inplace)",
                     "would have no effect: with --no-inplace, --no-reuse or the naive planner no result shares the "
                     "bytes of an input; leave one of the two out"};
    }
    BERTH_ASSIGN_OR_RETURN(memory.in_place_set, memory::InPlaceSet::only(options.in_place_operators));
  }
  memory.alias = options.alias;
  memory.reorder = options.reorder;
  memory.time_limit = options.time_limit;
  return memory;
}

// Whether the program may have operators of Berth's own. Where "portable" is the only target it must not, unless it
// calls delegates that no other runtime has.
bool takes_berths_runtime(const ir::Module& module, const std::vector<targets::Target>& targets) {
  return !std::all_of(targets.begin(), targets.end(), [](const auto& target) { return target.is_portable(); }) ||
         std::any_of(module.delegates.begin(), module.delegates.end(),
                     [](const ir::Delegate& delegate) { return is_berths_own(delegate.backend.c_str()); });
}

Status check_instruction_set(const std::string& name) {
  std::string known;
  for (const std::string& one : instruction_sets()) {
    if (one == name) return Done{};
    known += (known.empty() ? "" : ", ") + one;
  }
  return Failure{Error::kInvalidArgument, "instruction set '" + name + "'", "expected one of " + known};
}

Expected<placement::Options> place_options(const ir::Module& module, const CompileOptions& options) {
  placement::Options placing;
  BERTH_ASSIGN_OR_RETURN(placing.targets, targets::parse_targets(options.target));
  BERTH_TRY(check_instruction_set(options.cpu));
  for (targets::Target& target : placing.targets) {
    if (!target.isa.empty()) target.isa = options.cpu == "generic" ? "" : options.cpu;
  }
  for (const std::string& text : options.place) {
    BERTH_ASSIGN_OR_RETURN(placement::Rule rule, placement::parse_rule(text));
    placing.rules.push_back(std::move(rule));
  }
  for (const std::string& text : options.device_io) {
    BERTH_ASSIGN_OR_RETURN(placement::DeviceIo io, placement::parse_device_io(text));
    placing.device_io.push_back(std::move(io));
  }
  placing.node_device = options.node_device;
  placing.split = options.split;
  placing.direct_copies = takes_berths_runtime(module, placing.targets);
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

void fill_report(emit::EmittedProgram& emitted, CompileReport& report) {
  report.arenas = std::move(emitted.arenas);
  report.delegates = std::move(emitted.delegates);
  report.copies = std::move(emitted.copies);
  report.banks = std::move(emitted.banks);
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
Status check_portable(const format::ProgramDesc& program) {
  const std::string_view direct = ir::operator_of(ir::OpId::d2d_copy_out).name;
  for (const format::MethodDesc& method : program.methods) {
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
Expected<emit::EmittedProgram> lower(ir::Module& module, const CompileOptions& options, CompileReport& report) {
  BERTH_ASSIGN_OR_RETURN(const placement::Options placing, place_options(module, options));
  BERTH_ASSIGN_OR_RETURN(memory::MemoryOptions memory, memory_options(options));
  BERTH_TRY(ir::verify(module));
  BERTH_ASSIGN_OR_RETURN(memory.callers, callers_on_host(module, placing));
  passes::Options pass_options;
  pass_options.fusion = options.fusion;
  pass_options.dump_dir = options.dump_ir;
  if (!options.dump_ir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_ir, error);
    if (error) return Failure{Error::kAccessFailed, options.dump_ir, "cannot be made: " + error.message()};
  }
  pass_options.verify = options.verify_ir;
  pass_options.why = options.why;
  pass_options.why_lines = options.why.empty() ? nullptr : &report.why;
  BERTH_TRY(passes::run(pipeline(placing, options.fusion), module, pass_options));
  BERTH_TRY(ir::verify_devices(module));
  BERTH_TRY(fuse::check_outside(module));
  BERTH_TRY(add_banks(module, options, &memory));
  BERTH_ASSIGN_OR_RETURN(const std::vector<memory::MemoryPlan> plans, memory::plan_memory(module, memory));
  if (passes::wants_why(pass_options, "reuse")) memory::remark_reuse(module, plans, &report.why);
  BERTH_ASSIGN_OR_RETURN(emit::EmittedProgram emitted, emit::emit(module, plans));
  if (!placing.direct_copies) BERTH_TRY(check_portable(emitted.program));
  fill_report(emitted, report);
  return emitted;
}

}  // namespace

std::vector<std::string> instruction_sets() { return {"native", "generic", "avx2", "avx512"}; }

Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options, CompileReport* report) {
  const Stopwatch watch;
  CompileReport filled;
  BERTH_ASSIGN_OR_RETURN(const emit::EmittedProgram emitted, lower(module, options, filled));
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
  if (is_special_file(path)) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, compile(std::move(module), options, report));
    return write_whole_file(path, [&](OutputFile& file) { return file.write(bytes.data(), bytes.size()); });
  }
  CompileReport filled;
  BERTH_ASSIGN_OR_RETURN(const emit::EmittedProgram emitted, lower(module, options, filled));
  const auto write = [&](OutputFile& file) {
    return format::write_program(emitted.program,
                                 [&](Span<const uint8_t> bytes) { return file.write(bytes.data(), bytes.size()); });
  };
  const auto check = [](const std::string& written) -> Status {
    BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(written));
    return check_program(file->bytes());
  };
  BERTH_TRY(write_whole_file(path, write, check));
  filled.total_ms = watch.milliseconds();
  if (report != nullptr) *report = std::move(filled);
  return Done{};
}

}  // namespace berth
