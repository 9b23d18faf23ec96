#include "backends/nested/constant_store.h"

#include "base/check.h"

namespace berth {

namespace {

// Enough for vector loads, cuBLASLt and cuDNN.
constexpr size_t kDeviceAlignment = 256;

// The address of empty blobs.
alignas(64) const uint8_t kNoBytes[64] = {};

}  // namespace

ConstantStore::~ConstantStore() { BERTH_CHECK(blobs_.empty()); }

Result<FreeableBuffer> ConstantStore::get(const NamedDataMap& source, const char* key, const DeviceUse& use) {
  const std::lock_guard lock(mutex_);
  const Key identity(source.identity(), key, use.allocator, use.device.index);
  auto found = blobs_.find(identity);
  if (found == blobs_.end()) {
    Blob blob;
    BERTH_RETURN_IF_ERROR(upload(source, key, use, &blob));
    blob.store = this;
    found = blobs_.emplace(identity, std::move(blob)).first;
  }
  Blob& blob = found->second;
  ++blob.users;
  return FreeableBuffer(blob.reached, blob.bytes, &ConstantStore::release, &blob);
}

Error ConstantStore::upload(const NamedDataMap& source, const char* key, const DeviceUse& use, Blob* blob) const {
  BERTH_ASSIGN_OR_RETURN(FreeableBuffer host, source.get(key));
  blob->bytes = host.size();
  if (use.allocator == nullptr || host.size() == 0) {
    blob->reached = host.size() == 0 ? kNoBytes : host.data();
    blob->host = std::move(host);
    return Error::kOk;
  }
  BERTH_ASSIGN_OR_RETURN(void* const memory, use.allocator->allocate(host.size(), use.device.index, kDeviceAlignment));
  Error error = use.allocator->copy_host_to_device(memory, host.data(), host.size(), use.device.index, nullptr);
  // Without a stream, so that the upload is complete for all streams.
  const DeviceUse now = {use.device, use.allocator, nullptr};
  void* reached = nullptr;
  if (error == Error::kOk) error = space_->reach(now, memory, host.size(), &reached);
  if (error != Error::kOk) {
    use.allocator->deallocate(memory, use.device.index);
    return error;
  }
  blob->on_device = memory;
  blob->reached = reached;
  return Error::kOk;
}

void ConstantStore::release(void* blob, const void*, size_t) {
  static_cast<Blob*>(blob)->store->give_back(static_cast<Blob*>(blob));
}

void ConstantStore::give_back(Blob* blob) {
  const std::lock_guard lock(mutex_);
  if (--blob->users > 0) return;
  for (auto entry = blobs_.begin(); entry != blobs_.end(); ++entry) {
    if (&entry->second != blob) continue;
    auto* allocator = const_cast<DeviceAllocator*>(std::get<2>(entry->first));
    if (blob->on_device != nullptr) allocator->deallocate(blob->on_device, std::get<3>(entry->first));
    blobs_.erase(entry);
    return;
  }
}

size_t ConstantStore::blobs() const {
  const std::lock_guard lock(mutex_);
  return blobs_.size();
}

uint64_t ConstantStore::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [key, blob] : blobs_) bytes += blob.bytes;
  return bytes;
}

}  // namespace berth
