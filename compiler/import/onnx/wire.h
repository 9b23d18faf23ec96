// WireReader: walks the fields of one protobuf message in memory without copying anything.
//
// Source of the encoding: https://protobuf.dev/programming-guides/encoding. A message is a run of fields, each a tag
// (number << 3 | wire type, as a varint) and a payload; nested messages, strings and packed numbers are payloads with
// a length in front. Groups (wire types 3 and 4) do not occur in ONNX and count as damage.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class WireReader {
 public:
  /// The reader borrows `message`.
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Reads the next field. False at the end of the message or if it is damaged; failed() tells which.
  bool next();
  bool failed() const { return failed_; }

  /// The field that next() read.
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  /// The payload of a number: the varint, or the bits of the fixed-size number.
  uint64_t number() const { return number_; }
  int64_t integer() const { return static_cast<int64_t>(number_); }
  float real() const;
  /// The payload as it stands in the file: of kBytes without its length, of numbers their encoding.
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view rest_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool failed_ = false;
};

/// Takes one varint (at most ten bytes) from the front of `bytes`; false when it is damaged.
bool take_varint(std::string_view& bytes, uint64_t* out);

/// Appends the integers of one field, packed or not. False when they are damaged or `out` would hold more than `limit`.
bool append_integers(const WireReader& reader, size_t limit, std::vector<int64_t>& out);
/// The same for floats.
bool append_floats(const WireReader& reader, size_t limit, std::vector<float>& out);

}  // namespace berth::onnx
