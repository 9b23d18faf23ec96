#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

namespace berth {
namespace {

// Written in whole large pages, a file lies in such in the system's cache, and is mapped in such.
constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kFirstBuffer = size_t{256} << 10;

Failure system_failure(const std::string& path, const char* what) {
  return Failure{errno == ENOENT ? Error::kNotFound : Error::kAccessFailed, path,
                 std::string(what) + ": " + std::strerror(errno)};
}

Status fill_and_close(const std::string& path, int file, const std::function<Status(OutputFile&)>& fill) {
  OutputFile out(path, file);
  const auto write = [&]() -> Status {
    BERTH_TRY(fill(out));
    return out.flush();
  };
  auto written = write();
  const bool closed = ::close(file) == 0;
  if (!written.ok()) return written;
  if (!closed) return system_failure(path, "cannot be written");
  return Done{};
}

// What the symbolic link `path` leads to; empty where it is not one.
std::string link_target(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size <= 0) return "";
  const std::string text(target, static_cast<std::string::size_type>(size));
  return text[0] == '/' ? text : path.substr(0, path.rfind('/') + 1) + text;
}

// Whether another user may have put the link there, to have a file of their choice replaced: what Linux refuses to
// follow where fs.protected_symlinks is on (proc_sys_fs(5)).
bool is_planted(const std::string& link) {
  const std::string folder = link.substr(0, link.rfind('/') + 1);
  struct stat own, around;
  if (::lstat(link.c_str(), &own) != 0 || ::stat(folder.empty() ? "." : folder.c_str(), &around) != 0) return false;
  const bool shared = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
  return shared && own.st_uid != ::geteuid() && own.st_uid != around.st_uid;
}

// The file that `path` names, behind symbolic links, also where the last one leads to nothing yet. AccessFailed where
// they lead in a circle.
Expected<std::string> behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::string file = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::string target = link_target(file);
    if (target.empty()) return file;
    if (is_planted(file)) {
      errno = EACCES;
      return system_failure(path, "cannot be written through another user's link");
    }
    file = std::move(target);
  }
  errno = ELOOP;
  return system_failure(path, "cannot be written");
}

struct Temporary {
  std::string path;
  int file = -1;  // a descriptor; negative where none could be opened
};

// A file beside `path` that did not exist: a process that was killed may have left one of the same name. It has the
// permissions of `path` where that exists, and until then is the owner's alone.
Temporary open_temporary(const std::string& path) {
  constexpr int kMostLeft = 1000;
  constexpr mode_t kOwner = 0600, kAll = 0666, kPermissions = 0777;
  struct stat before;
  const bool exists = ::stat(path.c_str(), &before) == 0;
  const std::string first = path + ".tmp" + std::to_string(::getpid());
  Temporary temporary;
  int file = -1;
  for (int left = 0; left < kMostLeft && file < 0; ++left) {
    temporary.path = left == 0 ? first : first + "." + std::to_string(left);
    file = ::open(temporary.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? kOwner : kAll);
    if (file < 0 && errno != EEXIST) return temporary;
  }
  if (file < 0) return temporary;
  // Another user's file stays theirs where the system allows it; otherwise its group gets nothing that it had not.
  const bool given = exists && ::fchown(file, before.st_uid, before.st_gid) == 0;
  const bool same = exists && (given || (before.st_uid == ::geteuid() && before.st_gid == ::getegid()));
  const mode_t kept = exists && !same ? before.st_mode & kOwner : exists ? before.st_mode & kPermissions : 0;
  if (!exists || ::fchmod(file, kept) == 0) {
    temporary.file = file;
    return temporary;
  }
  const int error = errno;
  ::close(file);
  std::remove(temporary.path.c_str());
  errno = error;
  return temporary;
}

}  // namespace

Status OutputFile::write(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    size_t taken = size / kLargePage * kLargePage;
    if (filled_ == 0 && taken > 0) {
      BERTH_TRY(put(bytes, taken));
    } else {
      if (filled_ == buffer_.size()) BERTH_TRY(make_room());
      taken = std::min(size, buffer_.size() - filled_);
      std::memcpy(buffer_.data() + filled_, bytes, taken);
      filled_ += taken;
    }
    bytes += taken;
    size -= taken;
  }
  return Done{};
}

Status OutputFile::flush() {
  BERTH_TRY(put(buffer_.data(), filled_));
  filled_ = 0;
  return Done{};
}

// A huge page takes longer to clear than a small file to write: the buffer is one only when it must hold more.
Status OutputFile::make_room() {
  if (buffer_.size() == kLargePage) return flush();
  HugePageBuffer larger;
  if (!larger.allocate(buffer_.size() == 0 ? kFirstBuffer : kLargePage)) {
    return Failure{Error::kMemoryAllocationFailed, path_, "cannot be written: there is no memory for a buffer"};
  }
  if (filled_ > 0) std::memcpy(larger.data(), buffer_.data(), filled_);
  buffer_ = std::move(larger);
  return Done{};
}

Status OutputFile::put(const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path_, "cannot be written");
    data += written;
    size -= static_cast<size_t>(written);
  }
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
    const int file = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) return system_failure(path, "cannot be opened for writing");
    return fill_and_close(path, file, fill);
  }
  BERTH_ASSIGN_OR_RETURN(const std::string target, behind_links(path));
  const Temporary temporary = open_temporary(target);
  if (temporary.file < 0) return system_failure(path, "cannot be written");
  const auto finish = [&]() -> Status {
    BERTH_TRY(fill_and_close(path, temporary.file, fill));
    if (check != nullptr) BERTH_TRY(check(temporary.path));
    if (std::rename(temporary.path.c_str(), target.c_str()) != 0) return system_failure(path, "cannot be put in place");
    return Done{};
  };
  auto finished = finish();
  if (!finished.ok()) std::remove(temporary.path.c_str());
  return finished;
}

}  // namespace berth
