#include "compiler/import/pte/import_pte.h"

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "compiler/import/pte/method_importer.h"
#include "format/plan_check/verify_plan.h"
#include "format/verify.h"

namespace berth {
namespace pte {
namespace {

Failure failure_of(Error code, const format::Report& report) { return Failure{code, report.place, report.message}; }

Status check(Span<const uint8_t> bytes, format::ProgramView* program) {
  format::Report report;
  Error error = format::ProgramView::open(bytes, program, &report);
  if (error == Error::kOk) error = format::verify_program(*program, &report);
  std::vector<uint8_t> scratch;
  for (size_t i = 0; error == Error::kOk && i < program->method_count(); ++i) {
    scratch.resize(format::plan_scratch_bytes(*program, i));
    error = format::verify_plan(*program, i, {scratch.data(), scratch.size()}, nullptr, &report);
  }
  if (error != Error::kOk) return failure_of(error, report);
  return Done{};
}

bool has_open_sizes(const fb::ExecutionPlan& plan) {
  for (const int32_t slot : *plan.inputs()) {
    const fb::Tensor* tensor = format::tensor_at(plan, slot);
    if (tensor != nullptr && tensor->shape_dynamism() != fb::TensorShapeDynamism::STATIC) return true;
  }
  return false;
}

// Where sizes are open, what an operator does not take says more of them; then once more from the start.
Status import_method(Source& source, size_t index, ir::Module& module, Shared& shared) {
  constexpr int kMaxAttempts = 64;
  SizeFacts facts;
  if (!has_open_sizes(source.program.method(index))) {
    return MethodImporter(source, index, module, shared, facts).run();
  }
  for (int attempt = 1;; ++attempt) {
    ir::Module tried = module;
    Shared tried_shared = shared;
    MethodImporter importer(source, index, tried, tried_shared, facts);
    const Status status = importer.run();
    if (status.ok()) {
      module = std::move(tried);
      shared = std::move(tried_shared);
      return Done{};
    }
    if (!importer.learned() || attempt == kMaxAttempts) return status.error();
  }
}

ir::Blob blob_of(const std::shared_ptr<const MappedFile>& file, Span<const uint8_t> bytes) {
  if (file == nullptr || bytes.empty()) return ir::Blob::owned({bytes.begin(), bytes.end()});
  return ir::Blob::mapped(file, bytes.data() - file->bytes().data(), bytes.size());
}

// Delegates find their weights by name, in the program or beside it; only they know by which. Names may share a
// segment; segments that share bytes would make a small file a large program.
Status add_named_data(const Source& source, ir::Module* module) {
  std::set<std::string> keys = {format::kMetaKey};
  std::map<uint32_t, ir::Blob> segments;
  uint64_t bytes_left = source.program.layout().segment_bytes;
  const auto* own = source.program.root().named_data();
  for (flatbuffers::uoffset_t i = 0; i < format::length(own); ++i) {
    const fb::NamedData& entry = *own->Get(i);
    if (!keys.insert(format::text(entry.key())).second) continue;
    const auto [found, fresh] = segments.try_emplace(entry.segment_index());
    if (fresh) {
      Span<const uint8_t> bytes;
      if (source.program.segment(entry.segment_index(), &bytes) != Error::kOk || bytes.size() > bytes_left) {
        return Failure{Error::kInvalidProgram, "named_data[" + std::to_string(i) + "]",
                       "its bytes are not in the file, or belong to other data too"};
      }
      bytes_left -= bytes.size();
      found->second = blob_of(source.file, bytes);
    }
    module->named_data.push_back({format::text(entry.key()), found->second});
  }
  for (const auto& [key, blob] : source.external.blobs()) {
    if (keys.insert(key).second) module->named_data.push_back({key, blob_of(blob.file, blob.bytes())});
  }
  return Done{};
}

Expected<ir::Module> import(Span<const uint8_t> bytes, std::shared_ptr<const MappedFile> file, const std::string& path,
                            const ImportOptions& options) {
  if (!options.input_shapes.empty() || !options.where.empty()) {
    return Failure{Error::kNotSupported, options.where.empty() ? "--input-shape" : "--where",
                   "is for models whose inputs have no fixed shapes; a program says what its inputs may be"};
  }
  Source source;
  source.file = std::move(file);
  BERTH_TRY(check(bytes, &source.program));
  BERTH_ASSIGN_OR_RETURN(source.external, open_external_data(source.program, path, options.data_files));
  source.budget = 64 * source.program.flatbuffer().size() + (uint64_t{1} << 20);
  Expected<ir::Module> module{ir::Module()};
  module->operators = options.operators;
  module->files = source.external.files();
  Shared shared;
  for (size_t i = 0; i < source.program.method_count(); ++i) {
    BERTH_TRY(import_method(source, i, *module, shared));
  }
  if (!module->delegates.empty()) BERTH_TRY(add_named_data(source, &*module));
  return module;
}

}  // namespace
}  // namespace pte

bool looks_like_program(Span<const uint8_t> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "ET12", 4) == 0;
}

Expected<ir::Module> import_pte(const std::string& path, const ImportOptions& options) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.error();
  return pte::import((*file)->bytes(), *file, path, options);
}

Expected<ir::Module> import_pte(Span<const uint8_t> bytes, const ImportOptions& options) {
  return pte::import(bytes, nullptr, "", options);
}

}  // namespace berth
