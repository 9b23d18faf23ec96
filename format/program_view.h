// ProgramView: read-only accessors over a program file in memory. Owns and copies nothing: every Span that it returns
// points into the file, which must outlive it.
//
//     ProgramView program;
//     BERTH_RETURN_IF_ERROR(ProgramView::open(file, &program, &report));
//     BERTH_RETURN_IF_ERROR(verify_program(program, &report));
//     const fb::ExecutionPlan& plan = program.method(0);
//
// Tables are read with generated accessors (format/schema.h), which trust the file, so verify it first
// (format/verify.h). Functions here that return an Error check their own index and range and need only open(). A view
// is immutable, copyable and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/span.h"
#include "format/header.h"
#include "format/report.h"
#include "format/schema.h"

namespace berth::format {

/// The key of the named-data blob that format/meta.fbs describes, and the version that this code writes and reads.
constexpr char kMetaKey[] = "berth.meta";
constexpr uint32_t kMetaVersion = 1;

class ProgramView {
 public:
  ProgramView() = default;

  /// Opens a file, aligned to kProgramAlignment. Checks the header, the identifier, and that the root table lies inside
  /// the FlatBuffer; nothing else. `report` may be null. InvalidProgram for an invalid file; InvalidArgument for a
  /// misaligned one.
  static Error open(Span<const uint8_t> file, ProgramView* view, Report* report) {
    return open(file, file.size(), view, report);
  }
  /// The same for loaders that load segments separately: `bytes` is the beginning of a file of `file_size` bytes, at
  /// least its FlatBuffer. For segments outside of `bytes` use segment_range(); segment() and functions that use it
  /// return InvalidState.
  static Error open(Span<const uint8_t> bytes, uint64_t file_size, ProgramView* view, Report* report);

  const FileLayout& layout() const { return layout_; }
  /// The bytes passed to open().
  Span<const uint8_t> file() const { return file_; }
  /// Sets the bytes of "berth.meta", aligned to 16, if its segment is not among the bytes passed to open(). They must
  /// outlive the view, and be verified with verify_meta() before meta() is used.
  void attach_meta(Span<const uint8_t> blob) { meta_ = blob; }
  /// The blob of "berth.meta", attached or from its segment. NotFound or InvalidState when it is not in memory.
  Error meta_blob(Span<const uint8_t>* bytes) const;

  /// The FlatBuffer, header included.
  Span<const uint8_t> flatbuffer() const { return file_.subspan(0, static_cast<size_t>(layout_.program_size)); }
  const fb::Program& root() const { return *root_; }

  // These REQUIRE that verify_program() accepted the file.
  size_t method_count() const { return root_->execution_plan()->size(); }
  const fb::ExecutionPlan& method(size_t i) const {
    return *root_->execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  /// Index of the method of that name, or -1.
  int find_method(const char* name) const;
  /// The content of "berth.meta"; null when it is absent, of a version above kMetaVersion, or not in memory. If it was
  /// attached, also REQUIRES that verify_meta() accepted it.
  const fb::Meta* meta() const;

  /// The range of Program.segments[index] in the file. NotFound when there is no such segment, InvalidProgram when it
  /// is outside of the segment area.
  Error segment_range(uint32_t index, uint64_t* offset, uint64_t* size) const;
  /// The bytes of a segment; errors as segment_range().
  Error segment(uint32_t index, Span<const uint8_t>* bytes) const;
  /// The first `nbytes` bytes of constant `index` > 0, in the constant segment or, in old files, in the FlatBuffer.
  /// InvalidProgram when the file does not have them.
  Error constant(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const;
  /// The same for the initial value `index` > 0 of a mutable tensor. NotFound when the file has no initial values.
  Error initial_value(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const;
  /// The named-data blob of `key`. NotFound when there is none.
  Error named_data(const char* key, Span<const uint8_t>* bytes) const;
  /// The delegate's payload.
  Error delegate_payload(const fb::BackendDelegate& delegate, Span<const uint8_t>* bytes) const;

  /// The offset in the file of a constant or an initial value, for loaders that read them themselves; errors as
  /// constant() and initial_value(), and NotFound for constants inside the FlatBuffer of old files.
  Error constant_range(uint32_t index, uint64_t nbytes, uint64_t* offset) const;
  Error initial_value_range(uint32_t index, uint64_t nbytes, uint64_t* offset) const;

 private:
  Error blob_range(const fb::SubsegmentOffsets& table, uint32_t index, uint64_t nbytes, uint64_t* offset) const;
  Error resident(uint64_t offset, uint64_t size, Span<const uint8_t>* bytes) const;

  Span<const uint8_t> file_;
  Span<const uint8_t> meta_;
  FileLayout layout_;
  const fb::Program* root_ = nullptr;
};

/// The length of a vector that may be absent.
template <typename T>
flatbuffers::uoffset_t length(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// The text of a string, "" if it is absent. Strings in a verified file are null-terminated.
inline const char* text(const flatbuffers::String* string) { return string == nullptr ? "" : string->c_str(); }

}  // namespace berth::format
