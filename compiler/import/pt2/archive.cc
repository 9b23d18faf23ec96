#include "compiler/import/pt2/archive.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace berth::pt2 {
namespace {

constexpr size_t kMaxRecords = size_t{1} << 20;
constexpr size_t kMaxName = 4096;

// A file in memory, as minizip reads it.
struct Reader {
  Span<const uint8_t> bytes;
  size_t at = 0;
};

Reader& reader_of(voidpf stream) { return *static_cast<Reader*>(stream); }

voidpf open_reader(voidpf opaque, const void*, int) { return opaque; }

uLong read_bytes(voidpf, voidpf stream, void* out, uLong size) {
  Reader& reader = reader_of(stream);
  const size_t count = std::min<size_t>(size, reader.bytes.size() - reader.at);
  if (count > 0) std::memcpy(out, reader.bytes.data() + reader.at, count);
  reader.at += count;
  return count;
}

ZPOS64_T tell(voidpf, voidpf stream) { return reader_of(stream).at; }

long seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  Reader& reader = reader_of(stream);
  const size_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? reader.at
                      : origin == ZLIB_FILEFUNC_SEEK_END ? reader.bytes.size()
                                                         : 0;
  if (offset > reader.bytes.size() - base) return -1;
  reader.at = base + offset;
  return 0;
}

int close_reader(voidpf, voidpf) { return 0; }
int no_error(voidpf, voidpf) { return 0; }

struct CloseZip {
  void operator()(void* zip) const { unzClose(zip); }
};
using Zip = std::unique_ptr<void, CloseZip>;

// minizip says of too little memory what it says of a damaged file.
void expect_memory() { errno = 0; }
void check_memory() {
  if (errno == ENOMEM) throw std::bad_alloc();
}

Failure wrong(std::string message) { return Failure{Error::kInvalidProgram, "pt2 archive", std::move(message)}; }

Failure damaged() { return wrong("its directory is damaged; is the file whole?"); }

// Folders and files only, below the root, without a way up.
bool is_plain(std::string_view name) {
  if (name.empty() || name[0] == '/' || name.find('\\') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos || name.find(':') != std::string_view::npos) {
    return false;
  }
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == ".." || part == ".") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

struct Named {
  std::string name;
  Record record;
};

// The entry that `zip` stands at.
Expected<Named> read_entry(void* zip, size_t file_size) {
  unz_file_info64 info;
  Named entry;
  if (unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) return damaged();
  if (info.size_filename == 0 || info.size_filename > kMaxName) return wrong("an entry's name is empty or too long");
  entry.name.resize(info.size_filename);
  if (unzGetCurrentFileInfo64(zip, &info, entry.name.data(), info.size_filename, nullptr, 0, nullptr, 0) != UNZ_OK) {
    return damaged();
  }
  if (!is_plain(entry.name)) return wrong("entry \"" + entry.name + "\" leads out of the archive");
  if ((info.flag & 1u) != 0) return wrong("entry \"" + entry.name + "\" is encrypted");
  int method = 0;
  int level = 0;
  expect_memory();
  if (unzOpenCurrentFile2(zip, &method, &level, 1) != UNZ_OK) {
    check_memory();
    if (info.compression_method != 0) {  // one that minizip does not know
      entry.record.compressed = true;
      return entry;
    }
    return wrong("entry \"" + entry.name + "\" is damaged");
  }
  const ZPOS64_T offset = unzGetCurrentFileZStreamPos64(zip);
  unzCloseCurrentFile(zip);
  entry.record.compressed = method != 0;
  if (entry.record.compressed) return entry;
  if (info.compressed_size != info.uncompressed_size || offset > file_size ||
      info.uncompressed_size > file_size - offset) {
    return wrong("entry \"" + entry.name + "\" says that it has " + std::to_string(info.uncompressed_size) +
                 " bytes at " + std::to_string(offset) + ", which do not lie within the file");
  }
  entry.record.offset = offset;
  entry.record.size = info.uncompressed_size;
  return entry;
}

}  // namespace

Expected<Archive> Archive::open(Span<const uint8_t> bytes) {
  Reader reader{bytes};
  zlib_filefunc64_def functions{};
  functions.zopen64_file = open_reader;
  functions.zread_file = read_bytes;
  functions.ztell64_file = tell;
  functions.zseek64_file = seek;
  functions.zclose_file = close_reader;
  functions.zerror_file = no_error;
  functions.opaque = &reader;
  expect_memory();
  const Zip zip(unzOpen2_64("", &functions));
  if (zip == nullptr) check_memory();
  if (zip == nullptr) return wrong("this is not a ZIP archive, or its end is missing");
  Archive archive;
  archive.bytes_ = bytes;
  std::string root;
  size_t count = 0;
  int status = unzGoToFirstFile(zip.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(zip.get())) {
    if (++count > kMaxRecords) return wrong("it has more than " + std::to_string(kMaxRecords) + " entries");
    BERTH_ASSIGN_OR_RETURN(Named entry, read_entry(zip.get(), bytes.size()));
    const size_t slash = entry.name.find('/');
    if (slash != std::string::npos) {
      if (root.empty()) root = entry.name.substr(0, slash + 1);
      if (entry.name.compare(0, root.size(), root) == 0) entry.name.erase(0, root.size());
    }
    if (!archive.records_.emplace(entry.name, entry.record).second) {
      return wrong("two entries are named \"" + entry.name + "\"");
    }
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) return damaged();
  return archive;
}

Expected<Record> Archive::find(std::string_view name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) {
    return Failure{Error::kNotFound, "pt2 archive", "has no entry \"" + std::string(name) + "\""};
  }
  if (found->second.compressed) {
    return Failure{Error::kNotSupported, "pt2 archive",
                   "entry \"" + std::string(name) +
                       "\" is compressed; Berth maps weights where they lie, so save the model with "
                       "torch.export.save, or repack the archive with `zip -0`"};
  }
  return found->second;
}

}  // namespace berth::pt2
