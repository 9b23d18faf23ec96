#include "compiler/compile.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

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
#include "compiler/ir/verify.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/memory_options.h"
#include "compiler/method_settings.h"
#include "compiler/placement_options.h"
#include "compiler/plan_module.h"
#include "format/program_view.h"
#include "format/write/write_program.h"

namespace berth {
namespace {

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
  BERTH_ASSIGN_OR_RETURN(const placement::Options placing, placement_options(module, options));
  BERTH_ASSIGN_OR_RETURN(std::vector<memory::MemoryOptions> memory, memory_options(module, options));
  BERTH_TRY(ir::verify(module));
  BERTH_TRY(make_states(module, options));
  BERTH_ASSIGN_OR_RETURN(const memory::CallersMemory callers, callers_on_host(module, placing));
  for (memory::MemoryOptions& own : memory) {
    own.callers = callers;
    own.watch = &watch;
  }
  passes::Options pass_options;
  pass_options.fusion = options.fusion;
  pass_options.keep_quantized = options.fusion && fuse::keeps_quantized(placement::all_targets(placing));
  pass_options.keep_narrow = fuse::keeps_narrow(placement::all_targets(placing));
  pass_options.keep_first_steps = options.fusion && fuse::joins_steps(placement::all_targets(placing));
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
  BERTH_ASSIGN_OR_RETURN(PlannedModule planned, plan_module(std::move(module), options, placing, memory, pass_options));
  module = std::move(planned.module);
  report.runs = std::move(planned.runs);
  report.why = std::move(planned.why);
  watch.begin("program", kPassesPart + kMemoryPart);
  if (watch.ended()) return Watch::failure();
  emit::EmitOptions emit_options;
  emit_options.stack_traces = options.stack_traces;
  emit_options.constant_file = external.constant_file();
  BERTH_ASSIGN_OR_RETURN(emit::EmittedProgram emitted, emit::emit(module, planned.plans, emit_options));
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

std::vector<std::string> activation_types() { return {"float", "int8"}; }

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
    return format::write_program(emitted.program, [&](Span<const uint8_t> bytes) -> Status {
      if (waiting.ended()) return Watch::failure();
      return file.write(bytes.data(), bytes.size());
    });
  };
  const std::set<std::string> external = external_keys(emitted);
  const auto check = [&](const std::string& written) -> Status {
    BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(written));
    BERTH_TRY(check_program(file->bytes(), external));
    waiting.begin("file", 1);
    if (waiting.ended()) return Watch::failure();
    return Done{};
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
