#include "runtime/host/file_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/mapped_file.h"

namespace berth {

Result<MappedFileLoader> MappedFileLoader::open(const char* path, format::Report* report) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (file.ok()) return MappedFileLoader(std::move(*file));
  return format::fail(report, file.error().code, file.error().place.c_str(), "%s", file.error().message.c_str());
}

uint64_t MappedFileLoader::size() const { return file_->bytes().size(); }

Result<FreeableBuffer> MappedFileLoader::load(uint64_t offset, size_t size) const {
  return BufferLoader(file_->bytes()).load(offset, size);
}

Error MappedFileLoader::load_into(uint64_t offset, size_t size, void* out) const {
  return BufferLoader(file_->bytes()).load_into(offset, size, out);
}

Result<FileLoader> FileLoader::open(const char* path, format::Report* report) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return format::fail(report, errno == ENOENT ? Error::kNotFound : Error::kAccessFailed, path, "%s",
                        std::strerror(errno));
  }
  FileLoader loader(descriptor, 0);
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return format::fail(report, Error::kAccessFailed, path, "not a regular file");
  }
  loader.size_ = static_cast<uint64_t>(status.st_size);
  return loader;
}

FileLoader::~FileLoader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<FreeableBuffer> FileLoader::load(uint64_t offset, size_t size) const {
  if (offset > size_ || size > size_ - offset) return Error::kInvalidArgument;
  if (size == 0) return FreeableBuffer();
  void* memory = std::malloc(size);
  if (memory == nullptr) return Error::kMemoryAllocationFailed;
  FreeableBuffer buffer(memory, size, [](void*, const void* data, size_t) { std::free(const_cast<void*>(data)); });
  BERTH_RETURN_IF_ERROR(load_into(offset, size, memory));
  return buffer;
}

Error FileLoader::load_into(uint64_t offset, size_t size, void* out) const {
  if (offset > size_ || size > size_ - offset) return Error::kInvalidArgument;
  uint8_t* next = static_cast<uint8_t*>(out);
  while (size > 0) {
    const ssize_t got = ::pread(descriptor_, next, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error::kAccessFailed;
    next += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return Error::kOk;
}

}  // namespace berth
