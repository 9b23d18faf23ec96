// Elements that lie in a file beside the model: where that file may be, and which part of it.
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "base/math.h"
#include "compiler/import/onnx/literal.h"

namespace berth::onnx {
namespace {

Failure refused(const Tensor& tensor, std::string message) {
  return Failure{Error::kInvalidExternalData, "onnx tensor \"" + std::string(tensor.name) + "\"", std::move(message)};
}

/// A number of decimal digits alone.
bool parse_size(std::string_view text, size_t* out) {
  if (text.empty()) return false;
  size_t number = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || !checked_mul(number, size_t{10}, &number) ||
        !checked_add(number, static_cast<size_t>(c - '0'), &number)) {
      return false;
    }
  }
  *out = number;
  return true;
}

/// `path` with every link resolved; false when it does not exist.
bool resolve(const std::string& path, std::filesystem::path* out) {
  std::error_code error;
  *out = std::filesystem::canonical(path, error);
  return !error;
}

bool lies_below(const std::filesystem::path& directory, const std::filesystem::path& file) {
  auto part = file.begin();
  for (const auto& folder : directory) {
    if (part == file.end() || *part != folder) return false;
    ++part;
  }
  return part != file.end();
}

}  // namespace

Expected<std::shared_ptr<const MappedFile>> LiteralReader::open_external(const Tensor& tensor,
                                                                         std::string_view location) {
  if (auto known = externals_.find(location); known != externals_.end()) return known->second;
  const std::string shown = "external data location \"" + std::string(location) + "\" ";
  if (file_ == nullptr) return refused(tensor, "has external data, but the model was not read from a file");
  if (location.empty() || location.find('\0') != std::string_view::npos) {
    return refused(tensor, shown + "is not a file name");
  }
  if (location[0] == '/') return refused(tensor, shown + "is absolute; it must be relative to the model's folder");
  const std::filesystem::path model(file_->path());
  const std::string folder = model.has_parent_path() ? model.parent_path().string() : ".";
  std::filesystem::path directory;
  std::filesystem::path target;
  if (!resolve(folder, &directory) || !resolve(folder + "/" + std::string(location), &target)) {
    return refused(tensor, shown + "names no file; it should lie beside the model, in " + folder);
  }
  if (!lies_below(directory, target)) {
    return refused(tensor, shown + "leads out of the model's folder, to " + target.string());
  }
  auto opened = MappedFile::open(target.string());
  if (!opened.ok()) return refused(tensor, shown + "cannot be read: " + opened.error().message);
  externals_.emplace(location, *opened);
  return *opened;
}

std::vector<std::string> LiteralReader::external_files() const {
  std::vector<std::string> files;
  for (const auto& [location, file] : externals_) files.push_back(file->path());
  return files;
}

Expected<ir::Blob> LiteralReader::external_blob(const Tensor& tensor, size_t size) {
  std::string_view location;
  size_t offset = 0;
  size_t length = size;
  for (const auto& [key, value] : tensor.external_entries) {
    if (key == "location") location = value;
    if (key == "offset" && !parse_size(value, &offset))
      return refused(tensor, "has an external offset that is not a number");
    if (key == "length" && !parse_size(value, &length))
      return refused(tensor, "has an external length that is not a number");
  }
  auto file = open_external(tensor, location);
  if (!file.ok()) return file.error();
  const size_t available = (*file)->bytes().size();
  if (offset > available || length > available - offset) {
    return refused(tensor, "bytes [" + std::to_string(offset) + ", +" + std::to_string(length) + ") lie outside " +
                               std::string(location) + ", which has " + std::to_string(available));
  }
  if (length != size) {
    return refused(tensor, "needs " + std::to_string(size) + " bytes for its shape, its external length is " +
                               std::to_string(length));
  }
  return ir::Blob::mapped(*file, offset, size);
}

}  // namespace berth::onnx
