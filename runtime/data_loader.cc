#include "runtime/data_loader.h"

#include <cstring>

namespace berth {

Result<FreeableBuffer> BufferLoader::load(uint64_t offset, size_t size) const {
  if (offset > file_.size() || size > file_.size() - offset) return Error::kInvalidArgument;
  return FreeableBuffer(file_.data() + offset, size);
}

Error BufferLoader::load_into(uint64_t offset, size_t size, void* out) const {
  if (offset > file_.size() || size > file_.size() - offset) return Error::kInvalidArgument;
  if (size > 0) std::memcpy(out, file_.data() + offset, size);
  return Error::kOk;
}

}  // namespace berth
