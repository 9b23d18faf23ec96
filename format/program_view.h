// ProgramView: a program file in memory, found its way about. It owns nothing and copies nothing; every Span that it
// gives points into the file, which must stay where it is for as long as anything uses them.
//
//     ProgramView program;
//     BERTH_RETURN_IF_ERROR(ProgramView::open(file, &program, &report));
//     BERTH_RETURN_IF_ERROR(verify_program(program, &report));
//     const fb::ExecutionPlan& plan = program.method(0);
//
// The tables are read with the generated accessors (format/schema.h), which trust the file: verify it first
// (format/verify.h). What returns an Error here checks its own index and range each time and needs only open().
// A view is immutable, may be copied and may be used by many threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/span.h"
#include "format/header.h"
#include "format/report.h"
#include "format/schema.h"

namespace berth::format {

/// The named-data blob that format/meta.fbs describes, and the version that this code writes and reads.
constexpr char kMetaKey[] = "berth.meta";
constexpr uint32_t kMetaVersion = 1;

class ProgramView {
 public:
  ProgramView() = default;

  /// Checks the header, the identifier, that `file` lies at a multiple of kProgramAlignment and that the root table
  /// lies inside the FlatBuffer; nothing beyond. `report` may be null. InvalidProgram; InvalidArgument for the address.
  static Error open(Span<const uint8_t> file, ProgramView* view, Report* report) {
    return open(file, file.size(), view, report);
  }
  /// The same for a loader that brings the segments separately: `bytes` is the start of a file of `file_size` bytes, at
  /// least its FlatBuffer. Segments outside of `bytes` are found by segment_range(); segment() and what builds on it
  /// give InvalidState for them.
  static Error open(Span<const uint8_t> bytes, uint64_t file_size, ProgramView* view, Report* report);

  const FileLayout& layout() const { return layout_; }
  /// The bytes that the view was opened with.
  Span<const uint8_t> file() const { return file_; }
  /// Gives the view the bytes of "berth.meta", aligned to 16, when its segment is not among the bytes of open(). They
  /// must stay where they are, and pass verify_meta() before meta() is used.
  void attach_meta(Span<const uint8_t> blob) { meta_ = blob; }
  /// The blob of "berth.meta", attached or in its segment. NotFound or InvalidState when there is none in memory.
  Error meta_blob(Span<const uint8_t>* bytes) const;

  /// The FlatBuffer, header included.
  Span<const uint8_t> flatbuffer() const { return file_.subspan(0, static_cast<size_t>(layout_.program_size)); }
  const fb::Program& root() const { return *root_; }

  // REQUIRES for these: verify_program() accepted the file.
  size_t method_count() const { return root_->execution_plan()->size(); }
  const fb::ExecutionPlan& method(size_t i) const {
    return *root_->execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  /// Index of the method of that name, or -1.
  int find_method(const char* name) const;
  /// The content of "berth.meta"; null when there is none, one of a version above kMetaVersion, or one that is not in
  /// memory. REQUIRES also, when it was attached: verify_meta() accepted it.
  const fb::Meta* meta() const;

  /// Where Program.segments[index] lies in the file. NotFound when there is no such segment, InvalidProgram when it
  /// does not lie in the segment area.
  Error segment_range(uint32_t index, uint64_t* offset, uint64_t* size) const;
  /// Its bytes; errors as segment_range().
  Error segment(uint32_t index, Span<const uint8_t>* bytes) const;
  /// The first `nbytes` bytes of constant `index` > 0, from the constant segment or, in old files, from inside the
  /// FlatBuffer. InvalidProgram when the file has not got them.
  Error constant(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const;
  /// The same for the initial value `index` > 0 of a mutable tensor. NotFound when the file has no initial values.
  Error initial_value(uint32_t index, uint64_t nbytes, Span<const uint8_t>* bytes) const;
  /// The named-data blob. NotFound when no entry has this key.
  Error named_data(const char* key, Span<const uint8_t>* bytes) const;
  /// What the delegate's backend gets.
  Error delegate_payload(const fb::BackendDelegate& delegate, Span<const uint8_t>* bytes) const;

  /// Where a constant's or an initial value's bytes lie in the file, for loaders that read them themselves; errors as
  /// constant() and initial_value(). Constants inside the FlatBuffer of old files have no range: NotFound.
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

/// Entries of a vector that may be absent.
template <typename T>
flatbuffers::uoffset_t length(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// Text of a string that may be absent: then "". Strings in a verified file end in a zero.
inline const char* text(const flatbuffers::String* string) { return string == nullptr ? "" : string->c_str(); }

}  // namespace berth::format
