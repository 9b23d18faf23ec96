#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace berth {
namespace {

// Written in whole large pages, a file lies in such in the system's cache, and is mapped in such.
constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kFirstBuffer = size_t{256} << 10;
constexpr int kMostLinks = 40;  // as many as Linux follows

Failure system_failure(const std::string& path, const char* what) {
  return Failure{errno == ENOENT ? Error::kNotFound : Error::kAccessFailed, path,
                 std::string(what) + ": " + std::strerror(errno)};
}

// `name` is called when all is in the file, before it is closed; may be null.
Status fill_and_close(const std::string& path, int file, const std::function<Status(OutputFile&)>& fill,
                      const std::function<Status()>& name) {
  OutputFile out(path, file);
  const auto write = [&]() -> Status {
    BERTH_TRY(fill(out));
    BERTH_TRY(out.flush());
    return name == nullptr ? Status(Done{}) : name();
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

// The descriptor of this process that `path` names behind links, such as 1 for /dev/stdout; -1 where it names none. As
// links, those of /proc lead to the file behind the descriptor, which others write, too.
int descriptor_of(std::string path) {
  char own[PATH_MAX], folder[PATH_MAX];
  if (::realpath("/proc/self/fd", own) == nullptr) return -1;
  for (int links = 0; links < kMostLinks && !path.empty(); ++links, path = link_target(path)) {
    const size_t name = path.rfind('/') + 1;
    if (::realpath(path.substr(0, name).c_str(), folder) == nullptr || std::strcmp(own, folder) != 0) continue;
    int descriptor = -1;
    const char* const end = path.data() + path.size();
    const auto read = std::from_chars(path.data() + name, end, descriptor);
    return read.ec == std::errc() && read.ptr == end ? descriptor : -1;
  }
  return -1;
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

// A file beside the one that it replaces in the end. Where the system has files without a name (O_TMPFILE, open(2)) it
// is one until it is whole, so that nothing is left of a process that is killed.
struct Temporary {
  std::string path;  // empty: it has no name yet
  int file = -1;     // a descriptor; negative where none could be opened
};

// Calls `make` with names beside `path` until one is not taken: a process that was killed may have left others. False
// with errno where `make` fails otherwise.
bool name_beside(const std::string& path, Temporary* temporary, const std::function<bool(const char*)>& make) {
  constexpr int kMostLeft = 1000;
  const std::string first = path + ".tmp" + std::to_string(::getpid());
  for (int left = 0; left < kMostLeft; ++left) {
    const std::string name = left == 0 ? first : first + "." + std::to_string(left);
    if (make(name.c_str())) {
      temporary->path = name;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

Temporary open_beside(const std::string& path, mode_t mode) {
  Temporary temporary;
#ifdef O_TMPFILE
  const size_t name = path.rfind('/') + 1;
  const std::string folder = name == 0 ? "." : path.substr(0, name);
  if (::access("/proc/self/fd", X_OK) == 0) {
    temporary.file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  }
  if (temporary.file >= 0) return temporary;
#endif
  name_beside(path, &temporary, [&](const char* free) {
    temporary.file = ::open(free, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    return temporary.file >= 0;
  });
  return temporary;
}

// It has the permissions of `path` where that exists, and until then is the owner's alone.
Temporary open_temporary(const std::string& path) {
  constexpr mode_t kOwner = 0600, kAll = 0666, kPermissions = 0777;
  struct stat before;
  const bool exists = ::stat(path.c_str(), &before) == 0;
  Temporary temporary = open_beside(path, exists ? kOwner : kAll);
  const int file = temporary.file;
  if (file < 0) return temporary;
  // Another user's file stays theirs where the system allows it; otherwise its group gets nothing that it had not.
  const bool given = exists && ::fchown(file, before.st_uid, before.st_gid) == 0;
  const bool same = exists && (given || (before.st_uid == ::geteuid() && before.st_gid == ::getegid()));
  const mode_t kept = exists && !same ? before.st_mode & kOwner : exists ? before.st_mode & kPermissions : 0;
  if (!exists || ::fchmod(file, kept) == 0) return temporary;
  const int error = errno;
  ::close(file);
  if (!temporary.path.empty()) std::remove(temporary.path.c_str());
  errno = error;
  return {};
}

// Gives a file that has none a name beside `path`. False with errno where it gets none.
bool named(const std::string& path, Temporary* temporary) {
  if (!temporary->path.empty()) return true;
  const std::string own = "/proc/self/fd/" + std::to_string(temporary->file);
  return name_beside(path, temporary, [&](const char* free) {
    return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, free, AT_SYMLINK_FOLLOW) == 0;
  });
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

bool is_standard_output(const std::string& path) { return descriptor_of(path) == STDOUT_FILENO; }

bool is_special_file(const std::string& path) {
  struct stat status;
  if (descriptor_of(path) >= 0) return true;
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
    const int given = descriptor_of(path);
    const int file = given < 0 ? ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC) : ::dup(given);
    if (file < 0) return system_failure(path, "cannot be opened for writing");
    return fill_and_close(path, file, fill, nullptr);
  }
  BERTH_ASSIGN_OR_RETURN(const std::string target, behind_links(path));
  Temporary temporary = open_temporary(target);
  if (temporary.file < 0) return system_failure(path, "cannot be written");
  const auto name = [&]() -> Status {
    if (!named(target, &temporary)) return system_failure(path, "cannot be put in place");
    return Done{};
  };
  const auto finish = [&]() -> Status {
    BERTH_TRY(fill_and_close(path, temporary.file, fill, name));
    if (check != nullptr) BERTH_TRY(check(temporary.path));
    if (std::rename(temporary.path.c_str(), target.c_str()) != 0) return system_failure(path, "cannot be put in place");
    return Done{};
  };
  auto finished = finish();
  if (!finished.ok() && !temporary.path.empty()) std::remove(temporary.path.c_str());
  return finished;
}

}  // namespace berth
