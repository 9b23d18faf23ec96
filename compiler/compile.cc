#include "compiler/compile.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "base/backend_facts.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "compiler/check_delegates.h"
#include "compiler/check_program.h"
#include "compiler/emit/emit.h"
#include "compiler/fuse/fuse.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/pt2/import_pt2.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/passes/check_elements.h"
#include "compiler/passes/pipeline.h"
#include "compiler/place/device_io.h"
#include "compiler/place/place.h"
#include "format/program_view.h"
#include "format/write/write_program.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxIrText = size_t{1} << 30;

// A `.pt2` archive is a ZIP; neither protobuf nor text begins as one does.
bool looks_like_archive(Span<const uint8_t> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
}

// IR text is text; a model in protobuf has bytes that no text has within its first few.
bool looks_like_text(Span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size() && i < 256; ++i) {
    if (bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\t' && bytes[i] != '\r') return false;
  }
  return !bytes.empty();
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Expected<ir::Module> load_text(const MappedFile& file) {
  if (file.bytes().size() > kMaxIrText) return Failure{Error::kNotSupported, file.path(), "is over 1 GiB of text"};
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return ir::parse(text, file.path(), folder_of(file.path()));
}

// What a program's delegates have for payloads goes into the new program as it is: damage to it is found here, where it
// is still the file's.
Expected<ir::Module> load_program(const MappedFile& file, const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(ir::Module module, import_pte(file.path(), options));
  format::ProgramView view;
  format::Report report;
  const Error error = format::ProgramView::open(file.bytes(), &view, &report);
  if (error != Error::kOk) return Failure{error, report.place, report.message};
  BERTH_TRY(check_payloads(view));
  return module;
}

Expected<emit::EmitOptions> emit_options(const CompileOptions& options) {
  emit::EmitOptions emit;
  emit.planner = options.planner == Planner::kNaive    ? emit::Planner::kNaive
                 : options.planner == Planner::kGreedy ? emit::Planner::kGreedy
                                                       : emit::Planner::kBest;
  emit.in_place = options.in_place;
  if (!options.in_place_operators.empty()) {
    if (!options.in_place || options.planner == Planner::kNaive) {
      return Failure{Error::kInvalidArgument, "in-place operators (--inplace)",
                     "would have no effect: with --no-inplace, --no-reuse or the naive planner no result shares the "
                     "bytes of an input; leave one of the two out"};
    }
    BERTH_ASSIGN_OR_RETURN(emit.in_place_set, emit::InPlaceSet::only(options.in_place_operators));
  }
  emit.alias = options.alias;
  emit.reorder = options.reorder;
  emit.time_limit = options.time_limit;
  return emit;
}

// Whether the program may have operators of Berth's own. Where "portable" is the only target it must not, unless it
// calls delegates that no other runtime has.
bool takes_berths_runtime(const ir::Module& module, const std::vector<targets::Target>& targets) {
  return !std::all_of(targets.begin(), targets.end(), [](const auto& target) { return target.is_portable(); }) ||
         std::any_of(module.delegates.begin(), module.delegates.end(),
                     [](const ir::Delegate& delegate) { return is_berths_own(delegate.backend.c_str()); });
}

Expected<place::Options> place_options(const ir::Module& module, const CompileOptions& options) {
  place::Options placing;
  BERTH_ASSIGN_OR_RETURN(placing.targets, targets::parse_targets(options.target));
  const char* const known[] = {"native", "generic", "avx2", "avx512"};
  if (std::find(std::begin(known), std::end(known), options.cpu) == std::end(known)) {
    return Failure{Error::kInvalidArgument, "instruction set '" + options.cpu + "'",
                   "expected one of native, generic, avx2, avx512"};
  }
  for (targets::Target& target : placing.targets) {
    if (!target.isa.empty()) target.isa = options.cpu == "generic" ? "" : options.cpu;
  }
  for (const std::string& text : options.place) {
    BERTH_ASSIGN_OR_RETURN(place::Rule rule, place::parse_rule(text));
    placing.rules.push_back(std::move(rule));
  }
  for (const std::string& text : options.device_io) {
    BERTH_ASSIGN_OR_RETURN(place::DeviceIo io, place::parse_device_io(text));
    placing.device_io.push_back(std::move(io));
  }
  placing.node_device = options.node_device;
  placing.split = options.split;
  placing.direct_copies = takes_berths_runtime(module, placing.targets);
  return placing;
}

// The inputs and outputs that are the caller's memory on the host, by their positions, which no pass changes.
Expected<std::function<bool(const ir::Method&, ir::ValueId)>> callers_on_host(const ir::Module& module,
                                                                              const place::Options& placing) {
  struct Ports {
    std::vector<bool> inputs;
    std::vector<bool> outputs;
  };
  std::map<std::string, Ports> callers;
  bool any = false;
  BERTH_ASSIGN_OR_RETURN(const auto asked, place::find_device_io(module, placing.device_io));
  for (size_t m = 0; m < module.methods.size(); ++m) {
    const auto on_host = [&](ir::ValueId id) {
      const auto said = asked[m].find(id);
      const bool is = said != asked[m].end() && said->second.is_cpu();
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

void fill_report(const emit::EmittedProgram& emitted, CompileReport& report) {
  for (const emit::ArenaReport& arena : emitted.arenas) {
    report.arenas.push_back({arena.method, static_cast<int>(arena.id), arena.device, static_cast<int64_t>(arena.bytes),
                             static_cast<int64_t>(arena.lower_bound), arena.optimal});
  }
  for (const emit::DelegateReport& delegate : emitted.delegates) {
    report.delegates.push_back({delegate.method, delegate.name, delegate.backend, delegate.device,
                                static_cast<int64_t>(delegate.nodes), static_cast<int64_t>(delegate.payload_bytes),
                                static_cast<int64_t>(delegate.scratch_bytes),
                                static_cast<int64_t>(delegate.own_scratch_bytes)});
  }
  for (const emit::CopyReport& copy : emitted.copies) {
    report.copies.push_back({copy.method, copy.from, copy.to, static_cast<int64_t>(copy.count),
                             static_cast<int64_t>(copy.bytes), static_cast<int64_t>(copy.per_turn)});
  }
  report.instructions = static_cast<int64_t>(emitted.instructions);
  report.views = static_cast<int64_t>(emitted.views);
  report.saved_by_order = emitted.saved_by_order;
  report.in_place = static_cast<int64_t>(emitted.in_place);
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
  for (const format::MethodDesc& method : program.methods) {
    for (const format::OperatorDesc& op : method.operators) {
      if (op.name != "berth::_d2d_copy") continue;
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
  BERTH_ASSIGN_OR_RETURN(const place::Options placing, place_options(module, options));
  BERTH_ASSIGN_OR_RETURN(emit::EmitOptions emitting, emit_options(options));
  BERTH_TRY(ir::verify(module));
  BERTH_ASSIGN_OR_RETURN(emitting.callers, callers_on_host(module, placing));
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
  // In one list, so that dumps are numbered through.
  const Span<const passes::Pass> pipeline = passes::pipeline();
  std::vector<passes::Pass> all(pipeline.begin(), pipeline.end());
  // Here, where nodes still stand as the model has them and those that nobody reads are gone.
  all.push_back({"check_elements", passes::check_elements, true});
  for (passes::Pass& pass : place::place_passes(placing)) all.push_back(std::move(pass));
  if (options.fusion) {
    for (passes::Pass& pass : fuse::fuse_passes(placing.targets)) all.push_back(std::move(pass));
  }
  BERTH_TRY(passes::run(all, module, pass_options));
  BERTH_TRY(ir::verify_devices(module));
  BERTH_TRY(fuse::check_outside(module));
  if (passes::wants_why(pass_options, "reuse")) emitting.why_reuse = &report.why;
  auto emitted = emit::emit(module, emitting);
  if (!emitted.ok()) return emitted.error();
  if (!placing.direct_copies) BERTH_TRY(check_portable(emitted->program));
  fill_report(*emitted, report);
  return emitted;
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

bool named_like_a_model(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  return suffix == ".onnx" || suffix == ".pt2" || suffix == ".pte" || suffix == ".ir";
}

Expected<ir::Module> load_model(const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  if (file->bytes().empty()) return Failure{Error::kInvalidProgram, path, "is empty"};
  if (!options.data_files.empty() && !looks_like_program(file->bytes())) {
    return Failure{Error::kInvalidArgument, "--data",
                   "is for programs (.pte) whose constants lie beside them; " + path + " is none"};
  }
  const bool text = looks_like_text(file->bytes());
  const bool program = !text && looks_like_program(file->bytes());
  const bool archive = !text && looks_like_archive(file->bytes());
  auto module = text      ? load_text(*file)
                : program ? load_program(*file, options)
                : archive ? import_pt2(path, options)
                          : import_onnx(path, options);
  if (module.ok()) {
    module->files.push_back(path);
    return module;
  }
  Failure failure = module.error();
  if (failure.place.rfind(path, 0) != 0) failure.place = failure.place.empty() ? path : path + ": " + failure.place;
  // What no kind of file can be told from is taken for ONNX, and may be anything.
  if (!program && !named_like_a_model(path)) {
    failure.message += std::string(" (read as ") +
                       (text      ? "the IR's text"
                        : archive ? "a .pt2 archive"
                                  : "ONNX") +
                       "; models are .onnx, .pt2, .pte and .ir files)";
  }
  return failure;
}

Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options, CompileReport* report) {
  const Clock::time_point start = Clock::now();
  CompileReport filled;
  BERTH_ASSIGN_OR_RETURN(const emit::EmittedProgram emitted, lower(module, options, filled));
  BERTH_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, format::program_bytes(emitted.program));
  BERTH_TRY(check_program(bytes));
  filled.total_ms = milliseconds_since(start);
  if (report != nullptr) *report = std::move(filled);
  return bytes;
}

Status compile_to_file(ir::Module module, const CompileOptions& options, const std::string& path,
                       CompileReport* report) {
  const Clock::time_point start = Clock::now();
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
  filled.total_ms = milliseconds_since(start);
  if (report != nullptr) *report = std::move(filled);
  return Done{};
}

}  // namespace berth
