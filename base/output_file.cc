#include "base/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {
namespace {

Failure system_failure(const std::string& path, const char* what) {
  return Failure{errno == ENOENT ? Error::kNotFound : Error::kAccessFailed, path,
                 std::string(what) + ": " + std::strerror(errno)};
}

Status fill_and_close(const std::string& path, std::FILE* file, const std::function<Status(OutputFile&)>& fill) {
  OutputFile out(path, file);
  auto filled = fill(out);
  const bool closed = std::fclose(file) == 0;
  if (!filled.ok()) return filled.error();
  if (!closed) return system_failure(path, "cannot be written");
  return Done{};
}

}  // namespace

Status OutputFile::write(const void* data, size_t size) {
  if (size != 0 && std::fwrite(data, 1, size, file_) != size) return system_failure(path_, "cannot be written");
  return Done{};
}

bool is_special_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Status keep_files(const std::vector<std::string>& read, const std::string& path, const std::string& place) {
  struct stat written;
  if (::stat(path.c_str(), &written) != 0 || !S_ISREG(written.st_mode)) return Done{};
  for (const std::string& file : read) {
    struct stat kept;
    if (::stat(file.c_str(), &kept) != 0 || kept.st_dev != written.st_dev || kept.st_ino != written.st_ino) continue;
    return Failure{Error::kInvalidArgument, place, "is what is read, and would be lost; choose another name"};
  }
  return Done{};
}

Status write_whole_file(const std::string& path, const std::function<Status(OutputFile&)>& fill,
                        const std::function<Status(const std::string&)>& check) {
  if (is_special_file(path)) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return system_failure(path, "cannot be opened for writing");
    return fill_and_close(path, file, fill);
  }
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wbx");
  if (file == nullptr) return system_failure(path, "cannot be written");
  const auto finish = [&]() -> Status {
    BERTH_TRY(fill_and_close(path, file, fill));
    if (check != nullptr) BERTH_TRY(check(temporary));
    return Done{};
  };
  auto finished = finish();
  if (!finished.ok()) {
    std::remove(temporary.c_str());
    return finished.error();
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const Failure failure = system_failure(path, "cannot be put in place");
    std::remove(temporary.c_str());
    return failure;
  }
  return Done{};
}

}  // namespace berth
