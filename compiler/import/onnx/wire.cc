#include "compiler/import/onnx/wire.h"

#include <cstring>

namespace berth::onnx {
namespace {

// Fixed-size numbers are little-endian in the file, whatever the machine.
uint64_t little_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

float float_of_bits(uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  float x;
  std::memcpy(&x, &low, sizeof x);
  return x;
}

}  // namespace

bool take_varint(std::string_view& bytes, uint64_t* out) {
  uint64_t number = 0;
  for (size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    number |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    bytes.remove_prefix(i + 1);
    *out = number;
    return true;
  }
  return false;
}

float WireReader::real() const { return float_of_bits(number_); }

bool WireReader::next() {
  if (failed_ || rest_.empty()) return false;
  failed_ = true;  // until the field is whole
  uint64_t tag = 0;
  if (!take_varint(rest_, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field_ = static_cast<uint32_t>(tag >> 3);
  size_t size = 0;
  switch (tag & 7) {
    case 0: {
      const std::string_view before = rest_;
      if (!take_varint(rest_, &number_)) return false;
      type_ = WireType::kVarint;
      bytes_ = before.substr(0, before.size() - rest_.size());
      failed_ = false;
      return true;
    }
    case 1:
      type_ = WireType::kFixed64;
      size = 8;
      break;
    case 2: {
      uint64_t length = 0;
      if (!take_varint(rest_, &length) || length > rest_.size()) return false;
      type_ = WireType::kBytes;
      size = length;
      break;
    }
    case 5:
      type_ = WireType::kFixed32;
      size = 4;
      break;
    default: return false;
  }
  if (size > rest_.size()) return false;
  bytes_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  number_ = type_ == WireType::kBytes ? 0 : little_endian(bytes_);
  failed_ = false;
  return true;
}

bool append_integers(const WireReader& reader, size_t limit, std::vector<int64_t>& out) {
  if (reader.type() == WireType::kVarint) {
    out.push_back(reader.integer());
    return out.size() <= limit;
  }
  if (reader.type() != WireType::kBytes) return false;
  std::string_view rest = reader.bytes();
  while (!rest.empty()) {
    uint64_t number = 0;
    if (out.size() >= limit || !take_varint(rest, &number)) return false;
    out.push_back(static_cast<int64_t>(number));
  }
  return true;
}

bool append_floats(const WireReader& reader, size_t limit, std::vector<float>& out) {
  if (reader.type() == WireType::kFixed32) {
    out.push_back(reader.real());
    return out.size() <= limit;
  }
  if (reader.type() != WireType::kBytes || reader.bytes().size() % 4 != 0) return false;
  for (size_t i = 0; i < reader.bytes().size(); i += 4) {
    if (out.size() >= limit) return false;
    out.push_back(float_of_bits(little_endian(reader.bytes().substr(i, 4))));
  }
  return true;
}

}  // namespace berth::onnx
