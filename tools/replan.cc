// berth replan: improves the memory plan of an existing program.
#include "compiler/memory/replan/replan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "compiler/import/pte/external_data.h"
#include "tools/names.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct ReplanOptions {
  std::string program;
  std::string output;
  bool json = false;
};

Json arenas_json(const replan::Replanned& result) {
  Json arenas = Json::array();
  for (const replan::ArenaChange& arena : result.arenas) {
    arenas.push_back({{"method", arena.method},
                      {"id", arena.id},
                      {"device", device_name(arena.device)},
                      {"before", arena.before},
                      {"bytes", arena.after},
                      {"lower_bound", arena.lower_bound},
                      {"optimal", arena.optimal}});
  }
  return arenas;
}

// Releases the pages of a mapped file that were written, so that a file of 100 MB is not in memory as a whole.
Status write(const MappedFile& file, const format::ReplacedProgram& program, OutputFile& out) {
  constexpr size_t kPiece = size_t{4} << 20;
  return program.write([&](Span<const uint8_t> bytes) -> Status {
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
      BERTH_TRY(out.write(piece.data(), piece.size()));
      const uint8_t* start = file.bytes().data();
      const bool mapped = bytes.data() >= start && bytes.data() < start + file.bytes().size();
      if (mapped) file.release(piece.data() - start, piece.size());
    }
    return Done{};
  });
}

Expected<std::string> run_replan(const ReplanOptions& options, std::vector<uint8_t>* bytes) {
  const Stopwatch watch;
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.program));
  auto result = replan::replan(file->bytes());
  if (!result.ok()) {
    const Failure& failure = result.error();
    return if_no_program(
        options.program,
        Failure{failure.code, options.program + (failure.place.empty() ? "" : ": " + failure.place), failure.message});
  }
  // The nested programs of delegates and the data files do not change.
  BERTH_ASSIGN_OR_RETURN(const ProgramFile program, open_program(options.program));
  BERTH_ASSIGN_OR_RETURN([[maybe_unused]] const PayloadCheck payloads, check_payloads(program));
  const std::string beside = data_file_beside(program.view, options.program);
  if (!options.output.empty())
    BERTH_TRY(keep_files({options.program, beside}, options.output, "--output " + options.output));
  if (options.output.empty()) {
    BERTH_TRY(result->program.write([&](Span<const uint8_t> piece) -> Status {
      bytes->insert(bytes->end(), piece.begin(), piece.end());
      return Done{};
    }));
  } else {
    BERTH_TRY(write_whole_file(options.output, [&](OutputFile& out) { return write(*file, result->program, out); }));
  }
  if (options.json) {
    const Json json = {{"arenas", arenas_json(*result)},
                       {"before", result->before()},
                       {"after", result->after()},
                       {"total_ms", watch.seconds() * 1e3}};
    return json.text() + "\n";
  }
  std::string text;
  for (const replan::ArenaChange& arena : result->arenas) {
    text += fmt::format("{}: arena {} on {}: {} before, {} now ({} bytes), lower bound {}{}\n", arena.method, arena.id,
                        device_name(arena.device), bytes_text(arena.before), bytes_text(arena.after), arena.after,
                        bytes_text(arena.lower_bound), arena.optimal ? ", optimal" : "");
  }
  text += fmt::format("{}: {} saved of {}, in {}\n", options.output, bytes_text(result->before() - result->after()),
                      bytes_text(result->before()), duration_text(watch.seconds()));
  return text;
}

}  // namespace

void add_replan(CLI::App& app, Session& session) {
  auto options = std::make_shared<ReplanOptions>();
  CLI::App* command = app.add_subcommand("replan", "Improve the memory plan of a program, and change nothing else");
  command->add_option("PROGRAM", options->program, "a .pte program, Berth's or ExecuTorch's")->required();
  command->add_option("-o,--output", options->output, "the program to write")->required(session.program == nullptr);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer("example: berth replan theirs.pte -o smaller.pte");
  command->callback([options, &session] { session.finish(run_replan(*options, session.program), options->output); });
}

}  // namespace berth::tool
