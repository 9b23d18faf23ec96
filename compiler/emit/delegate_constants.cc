#include "compiler/emit/delegate_constants.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/emit/content_key.h"

namespace berth::emit {
namespace {

constexpr uint32_t kAlignment = 64;

}  // namespace

// Other bytes never get the key of data that the module names.
DelegateConstants::DelegateConstants(const ir::Module& module, ExternalConstants* external)
    : module_(module), external_(external), keys_(module.constants.size()), expected_(module.constants.size()) {
  for (const ir::NamedData& data : module.named_data) holders_.emplace(data.key, 0);
}

void DelegateConstants::expect(const IdVector<ir::ConstantId, ir::ConstantId>& constants) {
  std::vector<ir::Blob> blobs;
  std::vector<ir::ConstantId> fresh;
  for (const ir::ConstantId id : constants) {
    const bool known = !keys_[id].empty() || !expected_[id].empty();
    if (known || (external_ != nullptr && external_->holds(id))) continue;
    blobs.push_back(module_.constants[id].blob);
    fresh.push_back(id);
  }
  std::vector<std::string> keys = content_keys(blobs);
  for (size_t i = 0; i < fresh.size(); ++i) expected_[fresh[i]] = std::move(keys[i]);
}

std::string DelegateConstants::key(ir::ConstantId id, const format::TensorDesc& tensor) {
  const std::string outside = external_ == nullptr ? "" : external_->key(id, tensor);
  return outside.empty() ? key_of_blob(id) : outside;
}

const std::string& DelegateConstants::key_of_blob(ir::ConstantId id) {
  std::string& known = keys_[id];
  if (!known.empty()) return known;
  const ir::Blob& blob = module_.constants[id].blob;
  const uint32_t number = blobs_.add(blob);
  if (number > blob_keys_.size()) {
    // Blobs that differ must not have one key, however unlikely that is.
    uint64_t salt = 0;
    std::string fresh = expected_[id].empty() ? content_key(blob) : expected_[id];
    while (!holders_.emplace(fresh, number).second) fresh = content_key(blob, ++salt);
    blob_keys_.push_back(std::move(fresh));
  }
  known = blob_keys_[number - 1];
  return known;
}

std::vector<format::NamedDataDesc> DelegateConstants::take() && {
  std::vector<format::Bytes> bytes = std::move(blobs_).take();
  std::vector<format::NamedDataDesc> named;
  for (size_t i = 0; i < bytes.size(); ++i) named.push_back({blob_keys_[i], std::move(bytes[i]), kAlignment});
  const auto made_elsewhere = [](const ir::Delegate& delegate) { return delegate.payload.has_value(); };
  if (!std::any_of(module_.delegates.begin(), module_.delegates.end(), made_elsewhere)) return named;
  // Keys of one blob share its bytes, as they did where they come from.
  std::map<std::pair<const uint8_t*, size_t>, int32_t> first;
  for (const ir::NamedData& data : module_.named_data) {
    const auto number = static_cast<int32_t>(named.size());
    const auto [found, fresh] = first.try_emplace({data.blob.bytes().data(), data.blob.size()}, number);
    if (!fresh) {
      named.push_back({data.key, {}, kAlignment, found->second});
      continue;
    }
    named.push_back({data.key, data.blob.size() == 0 ? format::Bytes::of({}) : bytes_of(data.blob), kAlignment});
  }
  return named;
}

}  // namespace berth::emit
