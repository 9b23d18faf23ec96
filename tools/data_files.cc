#include "tools/data_files.h"

#include <algorithm>

namespace berth::tool {
namespace {

template <typename T>
bool same(const flatbuffers::Vector<T>* stored, Span<const T> wanted) {
  return format::length(stored) == wanted.size() &&
         (wanted.empty() || std::equal(wanted.begin(), wanted.end(), stored->data()));
}

}  // namespace

Status check_external_data(const ExternalData& data, const format::ProgramView& program, const std::string& path) {
  for (const ExternalUse& use : external_uses(program)) {
    const auto found = data.find(use);
    if (found.ok()) continue;
    const Failure& failure = found.error();
    return Failure{failure.code, failure.place.empty() ? path : failure.place, failure.message};
  }
  return Done{};
}

Status DataFiles::open(const Program& program, const std::string& path, const std::vector<std::string>& given) {
  program_ = &program;
  BERTH_ASSIGN_OR_RETURN(data_, open_external_data(program.view(), path, given));
  return check_external_data(data_, program.view(), path);
}

Result<FreeableBuffer> DataFiles::get(const char* key) const {
  const ExternalBlob* blob = data_.find(key);
  if (blob != nullptr) return FreeableBuffer(blob->bytes().data(), blob->size);
  if (program_ == nullptr) return Error::kNotFound;
  return program_->named_data(key);
}

Error DataFiles::check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
  const ExternalBlob* blob = data_.find(key);
  if (blob == nullptr || blob->layout == nullptr) return Error::kOk;
  const fb::data::Layout& layout = *blob->layout;
  const bool agrees = layout.scalar_type() == static_cast<int8_t>(dtype) && same(layout.sizes(), sizes) &&
                      same(layout.dim_order(), dim_order);
  return agrees ? Error::kOk : Error::kInvalidExternalData;
}

void add_data(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("--data", files,
                  "FILE.ptd: constants that the program does not contain; may be repeated; default: the "
                  "data file with PROGRAM's name in the same folder, if the program needs one")
      ->allow_extra_args(false);
}

}  // namespace berth::tool
