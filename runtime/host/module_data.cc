#include "runtime/host/module_data.h"

#include <cstdio>

#include "base/backend_facts.h"
#include "format/tensor_facts.h"

namespace berth::internal {

std::string path_beside(const std::string& program) {
  const size_t slash = program.rfind('/');
  const size_t dot = program.rfind('.');
  const bool extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  return (extension ? program.substr(0, dot) : program) + ".ptd";
}

bool needs_data_file(const Program& program) {
  const format::ProgramView view = program.view();
  for (size_t m = 0; m < view.method_count(); ++m) {
    const fb::ExecutionPlan& plan = view.method(m);
    for (uint32_t v = 0; v < format::length(plan.values()); ++v) {
      const fb::Tensor* tensor = format::tensor_at(plan, v);
      if (tensor == nullptr) continue;
      const format::Storage storage = format::storage_of(*tensor);
      if (storage == format::Storage::kExternalConstant || storage == format::Storage::kExternalState) return true;
    }
  }
  return false;
}

Error ModuleData::add(const std::string& path, Report* report) {
  BERTH_ASSIGN_OR_RETURN(MappedFileLoader loader, MappedFileLoader::open(path.c_str(), report));
  loaders_.push_back(std::make_unique<MappedFileLoader>(std::move(loader)));
  BERTH_ASSIGN_OR_RETURN(DataFile file, DataFile::open(*loaders_.back(), report));
  files_.push_back(std::make_unique<DataFile>(std::move(file)));
  return Error::kOk;
}

namespace {

/// Whether it calls delegates of Berth's, of which only they know what they read.
bool calls_delegates(const Program& program) {
  const format::ProgramView view = program.view();
  for (size_t m = 0; m < view.method_count(); ++m) {
    const auto* delegates = view.method(m).delegates();
    for (uint32_t i = 0; i < format::length(delegates); ++i) {
      if (runs_nested_programs(format::text(delegates->Get(i)->id()))) return true;
    }
  }
  return false;
}

bool is_there(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file != nullptr) std::fclose(file);
  return file != nullptr;
}

}  // namespace

Error ModuleData::open(const Program& program, const char* program_path, const std::vector<std::string>& paths,
                       Report* report) {
  program_ = &program;
  for (const std::string& path : paths) BERTH_RETURN_IF_ERROR(add(path, report));
  if (!paths.empty()) return Error::kOk;
  const std::string beside = path_beside(program_path);
  const bool wanted = needs_data_file(program) || (calls_delegates(program) && is_there(beside));
  return wanted ? add(beside, report) : Error::kOk;
}

Result<FreeableBuffer> ModuleData::get(const char* key) const {
  for (const auto& file : files_) {
    Result<FreeableBuffer> blob = file->get(key);
    if (blob.ok() || blob.error() != Error::kNotFound) return blob;
  }
  if (program_ == nullptr) return Error::kNotFound;
  return program_->named_data(key);
}

Error ModuleData::check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
  for (const auto& file : files_) {
    if (file->get(key).ok()) return file->check(key, dtype, sizes, dim_order);
  }
  return Error::kOk;
}

}  // namespace berth::internal
