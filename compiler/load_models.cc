// load_models: several models as one module.
#include <sys/stat.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "compiler/compile.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"

namespace berth {
namespace {

bool exists(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_program(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file.ok() && looks_like_program((*file)->bytes());
}

std::string names_of(const std::vector<ModelFile>& models) {
  std::string names;
  for (const ModelFile& model : models) {
    if (!model.method.empty()) names += (names.empty() ? "" : ", ") + model.method;
  }
  return names;
}

/// What an option says, without the method, and of which model.
struct Meant {
  size_t model = 0;
  std::string text;
};

Expected<Meant> model_of(const std::vector<ModelFile>& models, const std::string& text, const std::string& option,
                         const std::string& example) {
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string& method = models[i].method;
    if (!method.empty() && text.rfind(method + ":", 0) == 0) return Meant{i, text.substr(method.size() + 1)};
  }
  if (models.size() == 1) return Meant{0, text};
  const std::string names = names_of(models);
  return Failure{Error::kInvalidArgument, option + " " + ir::quoted(text),
                 "of which model? Write METHOD:" + example +
                     (names.empty() ? ", and give the models names: METHOD=MODEL"
                                    : ", with METHOD among those that were given: " + names)};
}

/// The shapes and relations for each model, without the names of methods.
Expected<std::vector<ImportOptions>> options_of(const std::vector<ModelFile>& models, const ImportOptions& options) {
  std::vector<ImportOptions> own(models.size());
  for (ImportOptions& one : own) one.operators = options.operators;
  for (const auto& [name, shape] : options.input_shapes) {
    BERTH_ASSIGN_OR_RETURN(const Meant meant, model_of(models, name, "--input-shape", "NAME=SHAPE"));
    own[meant.model].input_shapes.emplace_back(meant.text, shape);
  }
  for (const std::string& text : options.where) {
    BERTH_ASSIGN_OR_RETURN(const Meant meant, model_of(models, text, "--where", "RELATION"));
    own[meant.model].where.push_back(meant.text);
  }
  bool taken = false;
  for (size_t i = 0; i < models.size() && !options.data_files.empty(); ++i) {
    if (models.size() > 1 && !is_program(models[i].path)) continue;
    own[i].data_files = options.data_files;
    taken = true;
  }
  if (!taken) own[0].data_files = options.data_files;
  return own;
}

Status name_method(const ModelFile& model, ir::Module& module) {
  if (model.method.empty()) return Done{};
  if (module.methods.size() == 1) {
    module.methods[0].name = model.method;
    return Done{};
  }
  std::string names;
  for (const ir::Method& method : module.methods) names += (names.empty() ? "" : ", ") + method.name;
  return Failure{Error::kInvalidArgument, model.method + "=" + model.path,
                 "has " + std::to_string(module.methods.size()) + " methods (" + names +
                     "), and a name is for one; without it they keep their own"};
}

}  // namespace

Expected<ModelFile> parse_model_file(const std::string& text) {
  const size_t equals = text.find('=');
  const bool named = equals != std::string::npos && text.find('/') > equals && !exists(text);
  if (!named) return ModelFile{text, ""};
  ModelFile model{text.substr(equals + 1), text.substr(0, equals)};
  if (model.path.empty() || model.method.empty()) {
    return Failure{Error::kInvalidArgument, text, "expected METHOD=MODEL, such as decode=decode.onnx"};
  }
  return model;
}

Expected<ir::Module> load_models(const std::vector<ModelFile>& models, const ImportOptions& options,
                                 const ir::MergeOptions& merging) {
  if (models.empty()) return Failure{Error::kInvalidArgument, "", "there is no model"};
  BERTH_ASSIGN_OR_RETURN(const std::vector<ImportOptions> own, options_of(models, options));
  std::vector<ir::Module> modules;
  for (size_t i = 0; i < models.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(ir::Module module, load_model(models[i].path, own[i]));
    BERTH_TRY(name_method(models[i], module));
    // What merging relies on; compile() verifies the whole again.
    if (models.size() > 1) BERTH_TRY(ir::verify(module));
    modules.push_back(std::move(module));
  }
  return ir::merge(std::move(modules), merging);
}

}  // namespace berth
