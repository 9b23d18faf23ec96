#include "compiler/import/pte/external_data.h"

#include <sys/stat.h>

#include <cstring>
#include <set>

#include "base/backend_facts.h"
#include "base/check.h"
#include "format/data_file.h"
#include "format/nested.h"
#include "format/tensor_facts.h"
#include "format/verify.h"

namespace berth {
namespace {

using format::Storage;

bool same_layout(const fb::data::Layout& layout, const fb::Tensor& tensor) {
  if (layout.scalar_type() != static_cast<int8_t>(tensor.scalar_type())) return false;
  if (format::length(layout.sizes()) != format::length(tensor.sizes())) return false;
  if (format::length(layout.dim_order()) != format::length(tensor.dim_order())) return false;
  for (uint32_t i = 0; i < format::length(tensor.sizes()); ++i) {
    if (layout.sizes()->Get(i) != tensor.sizes()->Get(i)) return false;
  }
  for (uint32_t i = 0; i < format::length(tensor.dim_order()); ++i) {
    if (layout.dim_order()->Get(i) != tensor.dim_order()->Get(i)) return false;
  }
  return true;
}

// "weights/model.ptd" for "weights/model.pte".
std::string beside(const std::string& program) {
  constexpr std::string_view kEnd = ".pte";
  const bool usual =
      program.size() > kEnd.size() && program.compare(program.size() - kEnd.size(), kEnd.size(), kEnd) == 0;
  return (usual ? program.substr(0, program.size() - kEnd.size()) : program) + ".ptd";
}

}  // namespace

Expected<ExternalData> ExternalData::open(const std::vector<std::string>& paths) {
  ExternalData data;
  for (const std::string& path : paths) BERTH_TRY(data.add(path));
  data.files_ = paths;
  return data;
}

Status ExternalData::add(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  const Span<const uint8_t> bytes = file->bytes();
  format::Report report;
  format::DataLayout layout;
  const fb::data::DataFile* root = nullptr;
  Error error = format::parse_data_layout(bytes, bytes.size(), &layout, &report);
  if (error == Error::kOk) {
    error = format::verify_data_file(bytes.subspan(0, layout.flatbuffer_size), layout, &root, &report);
  }
  if (error != Error::kOk) return Failure{error, path + ": " + report.place, report.message};
  for (uint32_t i = 0; i < format::length(root->blobs()); ++i) {
    const fb::data::Blob& entry = *root->blobs()->Get(i);
    const fb::data::Segment& segment = *root->segments()->Get(entry.segment_index());
    ExternalBlob blob;
    blob.key = format::text(entry.key());
    blob.file = file;
    blob.offset = layout.segment_base + segment.offset();
    blob.size = segment.size();
    blob.layout = entry.layout();
    const std::string key = blob.key;
    const auto [found, fresh] = blobs_.emplace(key, std::move(blob));
    if (fresh) continue;
    return Failure{Error::kInvalidExternalData, path,
                   "\"" + key + "\" is there already, in " + found->second.file->path()};
  }
  return Done{};
}

const ExternalBlob* ExternalData::find(std::string_view key) const {
  const auto found = blobs_.find(key);
  return found == blobs_.end() ? nullptr : &found->second;
}

Expected<const ExternalBlob*> ExternalData::find(const ExternalUse& use) const {
  const ExternalBlob* blob = find(use.key);
  const std::string name = "\"" + use.key + "\"";
  if (blob == nullptr) {
    return Failure{Error::kNotFound, "",
                   "needs " + name + " of " + std::to_string(use.bytes) +
                       " bytes, which lies in a data file (.ptd), and " +
                       (empty() ? "there is none; give it with --data FILE.ptd"
                                : "those that were given have no such key; give the right one with --data FILE.ptd")};
  }
  if (blob->size < use.bytes || (blob->layout != nullptr && !same_layout(*blob->layout, *use.tensor))) {
    return Failure{Error::kInvalidExternalData, blob->file->path(),
                   name + " is another tensor than the program's, which has " + std::to_string(use.bytes) +
                       " bytes; are program and data file of the same model?"};
  }
  return blob;
}

bool looks_like_data_file(Span<const uint8_t> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "FT01", 4) == 0;
}

namespace {

class UseFinder {
 public:
  explicit UseFinder(const format::ProgramView& program) : program_(program) {
    const auto* own = program.root().named_data();
    for (uint32_t i = 0; i < format::length(own); ++i) known_.insert(format::text(own->Get(i)->key()));
  }

  std::vector<ExternalUse> run() {
    add_methods(program_);
    for (size_t m = 0; m < program_.method_count(); ++m) {
      const auto* delegates = program_.method(m).delegates();
      for (uint32_t i = 0; i < format::length(delegates); ++i) add_nested(*delegates->Get(i));
    }
    return std::move(uses_);
  }

  /// Whether there are payloads of Berth's that the view does not hold: a program that runs reads them when it loads a
  /// method, and only they know what they read.
  bool has_unseen_payloads() const { return unseen_; }

 private:
  void add_methods(const format::ProgramView& program) {
    for (size_t m = 0; m < program.method_count(); ++m) {
      const fb::ExecutionPlan& plan = program.method(m);
      for (uint32_t i = 0; i < format::length(plan.values()); ++i) {
        const fb::Tensor* tensor = format::tensor_at(plan, i);
        if (tensor == nullptr) continue;
        const Storage storage = format::storage_of(*tensor);
        if (storage != Storage::kExternalConstant && storage != Storage::kExternalState) continue;
        ExternalUse use{format::text(tensor->extra_tensor_info()->fully_qualified_name()), tensor, 0};
        BERTH_CHECK(format::tensor_nbytes(*tensor, &use.bytes));  // verify_program() counted them
        if (known_.insert(use.key).second) uses_.push_back(std::move(use));
      }
    }
  }

  // The nested program of a delegate of Berth's, which nothing has verified yet: a damaged one needs nothing.
  void add_nested(const fb::BackendDelegate& delegate) {
    Span<const uint8_t> payload;
    if (!runs_nested_programs(format::text(delegate.id()))) return;
    if (program_.delegate_payload(delegate, &payload) != Error::kOk) {
      unseen_ = true;
      return;
    }
    if (!payloads_.insert(payload.data()).second) return;
    const auto bytes = format::open_nested(payload, nullptr);
    if (!bytes.ok() || format::verify_program(*bytes, nullptr) != Error::kOk) return;
    format::ProgramView nested;
    if (format::ProgramView::open(*bytes, &nested, nullptr) == Error::kOk) add_methods(nested);
  }

  const format::ProgramView& program_;
  std::set<std::string> known_;  // what the program has itself, and what is in the list
  std::set<const uint8_t*> payloads_;
  bool unseen_ = false;
  std::vector<ExternalUse> uses_;
};

}  // namespace

std::vector<ExternalUse> external_uses(const format::ProgramView& program) { return UseFinder(program).run(); }

std::string data_file_beside(const format::ProgramView& program, const std::string& path) {
  struct stat status = {};
  const std::string file = beside(path);
  if (path.empty() || ::stat(file.c_str(), &status) != 0) return "";
  UseFinder finder(program);
  return finder.run().empty() && !finder.has_unseen_payloads() ? "" : file;
}

Expected<ExternalData> open_external_data(const format::ProgramView& program, const std::string& path,
                                          const std::vector<std::string>& given) {
  if (!given.empty()) return ExternalData::open(given);
  const std::string file = data_file_beside(program, path);
  return file.empty() ? ExternalData() : ExternalData::open({file});
}

}  // namespace berth
