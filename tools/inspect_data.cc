#include "tools/inspect_data.h"

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/mapped_file.h"
#include "compiler/import/pte/external_data.h"
#include "tools/inspect_sizes.h"
#include "tools/tool.h"

namespace berth::tool {

Expected<std::string> inspect_data(const InspectOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const ExternalData data, ExternalData::open({options.file}));
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(options.file));
  const int64_t total = static_cast<int64_t>(file->bytes().size());
  if (options.json) {
    Json json = {{"file", options.file}, {"format", "ptd"}, {"bytes", total}, {"blobs", Json::array()}};
    for (const auto& [key, blob] : data.blobs()) {
      Json one = {{"key", key}, {"bytes", blob.size}};
      if (blob.layout != nullptr) {
        one["dtype"] = to_string(static_cast<DType>(blob.layout->scalar_type()));
        one["shape"] = list_of(blob.layout->sizes());
      }
      json["blobs"].push_back(std::move(one));
    }
    return json.text() + "\n";
  }
  std::string text;
  text += fmt::format("{}: a data file of {} bytes ({}) with {} tensors and blobs\n", options.file, total,
                      bytes_text(total), data.blobs().size());
  for (const auto& [key, blob] : data.blobs()) {
    const std::string type =
        blob.layout == nullptr
            ? std::string("raw bytes")
            : std::string(to_string(static_cast<DType>(blob.layout->scalar_type()))) + shape_text(blob.layout->sizes());
    text += fmt::format("  {}: {} {} bytes\n", key, type, blob.size);
  }
  return text;
}

}  // namespace berth::tool
