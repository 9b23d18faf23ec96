#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/math.h"

namespace berth {
namespace {

Failure system_failure(const std::string& path, const char* what) {
  const int number = errno;
  const Error code = number == ENOENT ? Error::kNotFound : Error::kAccessFailed;
  return Failure{code, path, std::string(what) + ": " + std::strerror(number)};
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

// All live mappings. Unmapping one, or releasing pages of one, holds the lock.
struct Mappings {
  std::mutex lock;
  std::vector<const MappedFile*> files;

  // The mapping that contains `address`; null when there is none.
  const MappedFile* find(const uint8_t* address) const {
    for (const MappedFile* file : files) {
      const auto begin = reinterpret_cast<uintptr_t>(file->bytes().data());
      const auto at = reinterpret_cast<uintptr_t>(address);
      if (at >= begin && at - begin < file->bytes().size()) return file;
    }
    return nullptr;
  }
};

Error read_at(int descriptor, size_t offset, size_t size, uint8_t* to) {
  while (size > 0) {
    const ssize_t got = ::pread(descriptor, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error::kAccessFailed;
    to += got;
    offset += got;
    size -= got;
  }
  return Error::kOk;
}

Mappings& mappings() {
  static auto* const all = new Mappings;
  return *all;
}

}  // namespace

MappedFile::MappedFile(std::string path, int descriptor, const uint8_t* data, size_t size)
    : path_(std::move(path)), descriptor_(descriptor), data_(data), size_(size) {
  Mappings& all = mappings();
  const std::lock_guard<std::mutex> guard(all.lock);
  all.files.push_back(this);
}

Expected<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return system_failure(path, "cannot be opened");
  struct stat status;
  if (::fstat(file.fd, &status) != 0) return system_failure(path, "cannot be examined");
  if (!S_ISREG(status.st_mode)) return Failure{Error::kAccessFailed, path, "is not a regular file"};
  const size_t size = status.st_size;
  const uint8_t* data = nullptr;
  if (size > 0) {
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapping == MAP_FAILED) return system_failure(path, "cannot be mapped");
    data = static_cast<const uint8_t*>(mapping);
#ifdef MADV_HUGEPAGE
    // What is read from the disk now comes in large pages, where the file system has such.
    constexpr size_t kLargeFile = size_t{16} << 20;
    if (size >= kLargeFile) ::madvise(mapping, size, MADV_HUGEPAGE);
#endif
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, file.release(), data, size));
}

MappedFile::~MappedFile() {
  Mappings& all = mappings();
  const std::lock_guard<std::mutex> guard(all.lock);
  all.files.erase(std::find(all.files.begin(), all.files.end(), this));
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
  ::close(descriptor_);
}

void MappedFile::release(size_t offset, size_t size) const {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  if (offset > size_ || size > size_ - offset) return;
  const size_t first = align_up(offset, page);
  const size_t last = (offset + size) / page * page;
  if (first < last) ::madvise(const_cast<uint8_t*>(data_) + first, last - first, MADV_DONTNEED);
}

void MappedFile::release_memory(Span<const uint8_t> bytes) {
  Mappings& all = mappings();
  const std::lock_guard<std::mutex> guard(all.lock);
  const MappedFile* file = all.find(bytes.data());
  if (file != nullptr) file->release(bytes.data() - file->data_, bytes.size());
}

Error MappedFile::read(Span<const uint8_t> bytes, void* to) {
  Mappings& all = mappings();
  const MappedFile* file = nullptr;
  {
    const std::lock_guard<std::mutex> guard(all.lock);
    file = all.find(bytes.data());
  }
  if (bytes.empty()) return Error::kOk;
  if (file == nullptr) {
    std::memcpy(to, bytes.data(), bytes.size());
    return Error::kOk;
  }
  const size_t offset = bytes.data() - file->data_;
  return read_at(file->descriptor_, offset, bytes.size(), static_cast<uint8_t*>(to));
}

}  // namespace berth
