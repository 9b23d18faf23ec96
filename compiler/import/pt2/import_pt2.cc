#include "compiler/import/pt2/import_pt2.h"

#include <algorithm>

#include "compiler/import/pt2/archive.h"
#include "compiler/import/pt2/import_program.h"

namespace berth {
namespace pt2 {
namespace {

/// The only model of the archive: torch.export.save calls it "model".
Expected<std::string> model_name(const Archive& archive) {
  if (archive.has("serialized_exported_program.json")) {
    return Failure{Error::kNotSupported, "pt2 archive",
                   "was saved by PyTorch 2.7 or older; load it there and save it with PyTorch 2.9 to 2.15"};
  }
  constexpr std::string_view kFolder = "models/";
  constexpr std::string_view kEnd = ".json";
  std::vector<std::string> names;
  for (const auto& [path, record] : archive.records()) {
    if (path.rfind(kFolder, 0) != 0 || path.size() <= kFolder.size() + kEnd.size()) continue;
    if (path.compare(path.size() - kEnd.size(), kEnd.size(), kEnd) != 0) continue;
    names.push_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnd.size()));
  }
  if (names.empty()) {
    return Failure{Error::kInvalidProgram, "pt2 archive",
                   "has no models/….json; is this what torch.export.save wrote?"};
  }
  const auto usual = std::find(names.begin(), names.end(), "model");
  if (usual != names.end()) return *usual;
  if (names.size() == 1) return names[0];
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return Failure{Error::kNotSupported, "pt2 archive", "holds several models (" + list + "); save one of them alone"};
}

Expected<ir::Module> import_archive(const std::shared_ptr<const MappedFile>& file, Span<const uint8_t> bytes,
                                    const ImportOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const Archive archive, Archive::open(bytes));
  BERTH_ASSIGN_OR_RETURN(const std::string name, model_name(archive));
  if (archive.has("byteorder")) {
    BERTH_ASSIGN_OR_RETURN(const Record order, archive.find("byteorder"));
    if (archive.text(order) != "little") {
      return Failure{Error::kNotSupported, "pt2 archive", "was written on a machine of another byte order"};
    }
  }
  const std::string path = "models/" + name + ".json";
  BERTH_ASSIGN_OR_RETURN(const Record record, archive.find(path));
  auto program = [&]() -> Expected<Program> {  // the JSON's memory goes before the model is built
    BERTH_ASSIGN_OR_RETURN(const Json json, parse_json(archive.text(record), path));
    return read_program(json, path);
  }();
  if (!program.ok()) return program.error();
  BERTH_ASSIGN_OR_RETURN(Payloads payloads, Payloads::read(archive, name, file, bytes));
  Expected<ir::Module> module{ir::Module()};
  module->operators = options.operators;
  BERTH_TRY(import_program(*program, std::move(payloads), options, *module));
  return module;
}

}  // namespace
}  // namespace pt2

Expected<ir::Module> import_pt2(const std::string& path, const ImportOptions& options) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.error();
  return pt2::import_archive(*file, (*file)->bytes(), options);
}

Expected<ir::Module> import_pt2(Span<const uint8_t> bytes, const ImportOptions& options) {
  return pt2::import_archive(nullptr, bytes, options);
}

}  // namespace berth
