#include "c/source.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "plugin/load_plugin.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_buffer.h"
#include "runtime/host/module_data.h"

namespace berth::c {
namespace {

constexpr size_t kSourceAlignment = 16;

// What reads a source needs to know; what is missing counts as zero.
Expected<berth_source> known_source(const berth_source* source) {
  if (source == nullptr) return is_null("berth_source");
  return known_part(source, "berth_source", BERTH_SIZE_UP_TO(berth_source, path));
}

// Where in memory a buffer of load() is, so that it can be freed.
void free_buffer(void* context, const void*, size_t) { delete static_cast<HostBuffer*>(context); }

}  // namespace

Error CallbackLoader::load_into(uint64_t offset, size_t size, void* out) const {
  if (size > source_.length || offset > source_.length - size) return Error::kInvalidArgument;
  if (size == 0) return Error::kOk;
  berth_message message = {};
  const int32_t code = call_plugin(&message, [&] { return source_.read(source_.self, offset, size, out, &message); });
  if (code == BERTH_OK) return Error::kOk;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (said_.text[0] == '\0') said_ = message;
  return plugin_error(code);
}

std::string CallbackLoader::said() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return text_of(said_);
}

Result<FreeableBuffer> CallbackLoader::load(uint64_t offset, size_t size) const {
  if (size > source_.length || offset > source_.length - size) return Error::kInvalidArgument;
  BERTH_ASSIGN_OR_RETURN(HostBuffer buffer, HostBuffer::make(size));
  BERTH_RETURN_IF_ERROR(load_into(offset, size, buffer.bytes().data()));
  const void* const data = buffer.bytes().data();
  return FreeableBuffer(data, size, free_buffer, new HostBuffer(std::move(buffer)));
}

Status SourceLoader::open(const berth_source& source) {
  format::Report report;
  if (source.path != nullptr) {
    place_ = source.path;
    if (source.copies != 0) {
      auto file = FileLoader::open(source.path, &report);
      if (!file.ok()) return failure_of(file.error(), report, place_);
      other_ = std::make_unique<FileLoader>(std::move(file).value());
    } else {
      auto file = MappedFileLoader::open(source.path, &report);
      if (!file.ok()) return failure_of(file.error(), report, place_);
      other_ = std::make_unique<MappedFileLoader>(std::move(file).value());
    }
    loader_ = other_.get();
    return Done{};
  }
  if (source.bytes.data != nullptr) {
    if (reinterpret_cast<uintptr_t>(source.bytes.data) % kSourceAlignment != 0) {
      return Failure{Error::kInvalidArgument, "berth_source.bytes", "expected an address that is a multiple of 16"};
    }
    buffer_.emplace(Span<const uint8_t>(static_cast<const uint8_t*>(source.bytes.data), source.bytes.size));
    loader_ = &*buffer_;
    return Done{};
  }
  if (source.read == nullptr) {
    return Failure{Error::kInvalidArgument, "berth_source", "has neither a path nor bytes nor a function that reads"};
  }
  auto callback = std::make_unique<CallbackLoader>(source);
  callback_ = callback.get();
  other_ = std::move(callback);
  loader_ = other_.get();
  return Done{};
}

Failure SourceLoader::failure(Error code, const format::Report& report) const {
  Failure failure = failure_of(code, report, place_);
  const std::string said = callback_ == nullptr ? "" : callback_->said();
  if (!said.empty()) failure.message += "; the function that reads says: " + said;
  return failure;
}

Status DataSet::open(const Program& program, const berth_source* sources, size_t count) {
  if (count > 0 && sources == nullptr) return is_null("berth_load_options.data");
  std::vector<std::unique_ptr<File>> files;
  for (size_t i = 0; i < count; ++i) {
    BERTH_ASSIGN_OR_RETURN(const berth_source source, known_source(entry(sources, i)));
    auto file = std::make_unique<File>();
    BERTH_TRY(file->source.open(source));
    format::Report report;
    auto opened = DataFile::open(file->source.loader(), &report);
    if (!opened.ok()) {
      return file->source.failure(opened.error(), report);
    }
    file->file.emplace(std::move(opened).value());
    files.push_back(std::move(file));
  }
  files_ = std::move(files);
  program_ = &program;
  return Done{};
}

Status DataSet::open_beside(const Program& program, const std::string& program_path) {
  program_ = &program;
  if (program_path.empty() || !internal::needs_data_file(program)) return Done{};
  const std::string path = internal::path_beside(program_path);
  berth_source source = {};
  source.size = sizeof source;
  source.path = path.c_str();
  return open(program, &source, 1);
}

Result<FreeableBuffer> DataSet::get(const char* key) const {
  for (const auto& file : files_) {
    Result<FreeableBuffer> blob = file->file->get(key);
    if (blob.ok() || blob.error() != Error::kNotFound) return blob;
  }
  if (program_ == nullptr) return Error::kNotFound;
  return program_->named_data(key);
}

Error DataSet::check(const char* key, DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) const {
  for (const auto& file : files_) {
    if (file->file->get(key).ok()) return file->file->check(key, dtype, sizes, dim_order);
  }
  return Error::kOk;
}

namespace {

Failure no_file_in_memory(const char* what) {
  return Failure{Error::kAccessFailed, "berth_source", std::string(what) + ": " + std::strerror(errno)};
}

// Writes all of it, in pieces that `next` gives.
template <typename Next>
Status write_pieces(int descriptor, uint64_t length, Next next) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (uint64_t at = 0; at < length;) {
    const size_t size = std::min<uint64_t>(length - at, kPiece);
    BERTH_ASSIGN_OR_RETURN(const void* const piece, next(at, size));
    const ssize_t written = write(descriptor, piece, size);
    if (written <= 0) return no_file_in_memory("a copy of the bytes cannot be made");
    at += static_cast<size_t>(written);
  }
  return Done{};
}

Status write_source(int descriptor, const berth_source& source) {
  if (source.bytes.data != nullptr) {
    const char* const bytes = static_cast<const char*>(source.bytes.data);
    return write_pieces(descriptor, source.bytes.size,
                        [&](uint64_t at, size_t) { return Expected<const void*>(bytes + at); });
  }
  std::vector<char> buffer(std::min<uint64_t>(source.length, size_t{1} << 20));
  return write_pieces(descriptor, source.length, [&](uint64_t at, size_t size) -> Expected<const void*> {
    berth_message message = {};
    const int32_t code =
        call_plugin(&message, [&] { return source.read(source.self, at, size, buffer.data(), &message); });
    if (code == BERTH_OK) return static_cast<const void*>(buffer.data());
    const std::string why = text_of(message);
    return Failure{
        plugin_error(code), "berth_source.read",
        why.empty() ? std::string("cannot read ") + std::to_string(size) + " bytes from " + std::to_string(at) : why};
  });
}

}  // namespace

SourcePath::~SourcePath() {
  if (descriptor_ >= 0) close(descriptor_);
}

Expected<SourcePath> SourcePath::make(const berth_source* given) {
  BERTH_ASSIGN_OR_RETURN(const berth_source source, known_source(given));
  SourcePath made;
  if (source.path != nullptr) {
    made.path_ = source.path;
    return made;
  }
  if (source.bytes.data == nullptr && source.read == nullptr) {
    return Failure{Error::kInvalidArgument, "berth_source", "has neither a path nor bytes nor a function that reads"};
  }
  made.descriptor_ = memfd_create("berth", MFD_CLOEXEC);
  if (made.descriptor_ < 0) return no_file_in_memory("a file in memory cannot be made");
  BERTH_TRY(write_source(made.descriptor_, source));
  made.path_ = "/proc/self/fd/" + std::to_string(made.descriptor_);
  return made;
}

std::string SourcePath::without_path(std::string text) const {
  if (descriptor_ < 0) return text;
  for (size_t at = text.find(path_); at != std::string::npos; at = text.find(path_, at)) {
    text.replace(at, path_.size(), "the bytes");
  }
  return text;
}

}  // namespace berth::c
