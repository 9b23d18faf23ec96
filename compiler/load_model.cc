// load_model: the input formats, one row each.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>

#include "base/mapped_file.h"
#include "compiler/check_delegates.h"
#include "compiler/compile.h"
#include "compiler/implied_sizes.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/pt2/import_pt2.h"
#include "compiler/import/pte/external_data.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/text.h"
#include "format/program_view.h"

namespace berth {
namespace {

constexpr size_t kMaxIrText = size_t{1} << 30;

// A model in protobuf has bytes that no text has within its first few.
bool looks_like_text(Span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size() && i < 256; ++i) {
    if (bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\t' && bytes[i] != '\r') return false;
  }
  return !bytes.empty();
}

// A `.pt2` archive is a ZIP; neither protobuf nor text begins as one does.
bool looks_like_archive(Span<const uint8_t> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\x03\x04", 4) == 0;
}

bool looks_like_any(Span<const uint8_t>) { return true; }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Expected<ir::Module> load_text(const MappedFile& file, const ImportOptions& options) {
  if (!options.where.empty()) {
    return Failure{Error::kNotSupported, "--where", "is for models; the IR's text has its relations: where H <= W"};
  }
  if (file.bytes().size() > kMaxIrText) return Failure{Error::kNotSupported, file.path(), "is over 1 GiB of text"};
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return ir::parse(text, file.path(), folder_of(file.path()), options.operators);
}

// What Berth's delegates read is in the module: from the program, or from a data file.
Status check_delegates_data(const format::ProgramView& program, const ir::Module& module, const std::string& path) {
  if (module.delegates.empty()) return Done{};
  std::map<std::string_view, uint64_t> held;
  for (const ir::NamedData& data : module.named_data) held[data.key] = data.blob.size();
  for (const ExternalUse& use : external_uses(program)) {
    const auto found = held.find(use.key);
    if (found != held.end() && found->second >= use.bytes) continue;
    return Failure{Error::kNotFound, path,
                   ir::quoted(use.key) +
                       ", which its delegates read, is neither in the program nor in a data file "
                       "(--data), or is shorter than " +
                       std::to_string(use.bytes) + " bytes"};
  }
  return Done{};
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
  BERTH_TRY(check_delegates_data(view, module, file.path()));
  return module;
}

Expected<ir::Module> load_archive(const MappedFile& file, const ImportOptions& options) {
  return import_pt2(file.path(), options);
}

Expected<ir::Module> load_onnx(const MappedFile& file, const ImportOptions& options) {
  return import_onnx(file.path(), options);
}

struct InputFormat {
  const char* suffix;
  const char* name;  // as messages say it
  bool (*looks_like)(Span<const uint8_t> bytes);
  Expected<ir::Module> (*load)(const MappedFile& file, const ImportOptions& options);
  bool is_certain;  // nothing else begins as its files do
  bool takes_where;
};

// A file has the first format that it looks like. Sentences name them the other way round.
constexpr InputFormat kFormats[] = {
    {".ir", "the IR's text", looks_like_text, load_text, false, false},
    {".pte", "a program", looks_like_program, load_program, true, false},
    {".pt2", "a .pt2 archive", looks_like_archive, load_archive, false, true},
    // Protobuf has no mark of its own.
    {".onnx", "ONNX", looks_like_any, load_onnx, false, true},
};

// Once more where the model implies something about its sizes.
Expected<ir::Module> load_as(const InputFormat& format, const MappedFile& file, const ImportOptions& options) {
  Expected<ir::Module> module = format.load(file, options);
  if (!module.ok() || !format.takes_where) return module;
  const std::vector<std::string> implied = implied_sizes(*module);
  if (implied.empty()) return module;
  ImportOptions narrower = options;
  narrower.where.insert(narrower.where.end(), implied.begin(), implied.end());
  Expected<ir::Module> narrowed = format.load(file, narrower);
  return narrowed.ok() ? std::move(narrowed) : std::move(module);
}

}  // namespace

bool named_like_a_model(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  return std::any_of(std::begin(kFormats), std::end(kFormats),
                     [&](const InputFormat& format) { return suffix == format.suffix; });
}

std::string model_extensions(const char* conjunction, bool with_programs) {
  std::string text;
  const char* between = "";
  for (const InputFormat& format : kFormats) {
    if (format.load == load_program && !with_programs) continue;
    text = format.suffix + (between + text);
    between = text == format.suffix ? conjunction : ", ";
  }
  return text;
}

Expected<ir::Module> load_model(const std::string& path, const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  if (file->bytes().empty()) return Failure{Error::kInvalidProgram, path, "is empty"};
  if (!options.data_files.empty() && !looks_like_program(file->bytes())) {
    return Failure{Error::kInvalidArgument, "--data",
                   "is for programs (.pte) whose constants lie beside them; " + path + " is not one"};
  }
  const InputFormat& format = *std::find_if(std::begin(kFormats), std::end(kFormats),
                                            [&](const InputFormat& one) { return one.looks_like(file->bytes()); });
  auto module = load_as(format, *file, options);
  if (module.ok()) {
    module->files.push_back(path);
    return module;
  }
  Failure failure = module.error();
  if (failure.place.rfind(path, 0) != 0) failure.place = failure.place.empty() ? path : path + ": " + failure.place;
  if (!format.is_certain && !named_like_a_model(path)) {
    failure.message +=
        std::string(" (read as ") + format.name + "; models are " + model_extensions(" and ") + " files)";
  }
  return failure;
}

}  // namespace berth
