#include "compiler/emit/external_constants.h"

#include <utility>

#include "compiler/emit/content_key.h"
#include "compiler/emit/data_pool.h"

namespace berth::emit {

namespace {

// Whether the tensor is the constant itself and not a view of it.
bool is_whole(const ir::Constant& constant, const format::TensorDesc& tensor) {
  const ir::TensorType& type = constant.type;
  if (type.dtype != tensor.dtype || type.shape.size() != tensor.sizes.size()) return false;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (type.shape[d].value != tensor.sizes[d]) return false;
  }
  return true;
}

}  // namespace

ExternalConstants::ExternalConstants(const ir::Module& module, ConstantFile file_of)
    : module_(module), file_of_(std::move(file_of)) {}

std::string ExternalConstants::path_of(ir::ConstantId id) const {
  const ir::Constant& constant = module_.constants[id];
  return file_of_ && constant.blob.size() != 0 ? file_of_(constant) : "";
}

std::string ExternalConstants::key(ir::ConstantId id, const format::TensorDesc& tensor) {
  Entry entry;
  entry.path = path_of(id);
  if (entry.path.empty()) return "";
  const ir::Constant& constant = module_.constants[id];
  entry.blob = blobs_.add(constant.blob);
  entry.dtype = tensor.dtype;
  entry.sizes = tensor.sizes;
  entry.dim_order = tensor.dim_order;
  std::string name = constant.name.empty() ? content_key(constant.blob) : constant.name;
  if (!is_whole(constant, tensor)) name += ".view";
  std::string key = name;
  for (int number = 2;; ++number) {
    const auto [found, fresh] = entries_.emplace(key, entry);
    if (fresh || found->second == entry) return key;
    key = name + "." + std::to_string(number);
  }
}

std::vector<ExternalFile> ExternalConstants::take() && {
  const std::vector<ir::Blob> blobs = std::move(blobs_).take();
  std::map<std::string, ExternalFile> files;
  std::map<std::pair<std::string, uint32_t>, int32_t> first;  // of the blobs of a file
  for (auto& [key, entry] : entries_) {
    ExternalFile& file = files[entry.path];
    file.path = entry.path;
    const auto number = static_cast<int32_t>(file.data.blobs.size());
    const auto [holder, fresh] = first.emplace(std::make_pair(entry.path, entry.blob), number);
    format::DataBlobDesc blob{key, entry.dtype, std::move(entry.sizes), std::move(entry.dim_order), {}, -1};
    if (fresh) {
      blob.bytes = bytes_of(blobs[entry.blob - 1]);
      file.bytes += static_cast<int64_t>(blob.bytes.size);
    } else {
      blob.shares = holder->second;
    }
    file.data.blobs.push_back(std::move(blob));
  }
  std::vector<ExternalFile> all;
  for (auto& [path, file] : files) all.push_back(std::move(file));
  return all;
}

}  // namespace berth::emit
