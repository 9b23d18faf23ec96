// TestArchive: ZIP archives for tests and fuzzing, written here byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::pt2 {

/// A ZIP of stored entries, each at a multiple of 64 bytes, after the application note of the format.
class TestArchive {
 public:
  struct Options {
    uint16_t method = 0;  // 8: says that it is deflated
    uint16_t flags = 0;   // 1: encrypted
    int64_t lie = 0;      // added to the sizes in the directory
  };

  void add(const std::string& name, const std::string& content) { add(name, content, Options()); }
  void add(const std::string& name, const std::string& content, Options options) {
    Entry entry{name, options, static_cast<uint32_t>(content.size()), static_cast<uint32_t>(bytes_.size()),
                crc(content)};
    const size_t header = 30 + name.size() + 4;
    const size_t padding = (64 - (bytes_.size() + header) % 64) % 64;
    number(0x04034b50, 4);
    middle(entry);
    number(name.size(), 2);
    number(4 + padding, 2);
    bytes_ += name;
    number(0x4246, 2);  // a field of padding, called FB
    number(padding, 2);
    bytes_ += std::string(padding, 'Z') + content;
    entries_.push_back(entry);
  }

  std::string bytes() const {
    TestArchive all = *this;
    const size_t start = all.bytes_.size();
    for (const Entry& entry : entries_) {
      all.number(0x02014b50, 4);
      all.number(20, 2);
      all.middle(entry);
      all.number(entry.name.size(), 2);
      all.number(0, 2);
      all.number(0, 2);
      all.number(0, 2);
      all.number(0, 2);
      all.number(0, 4);
      all.number(entry.offset, 4);
      all.bytes_ += entry.name;
    }
    const size_t size = all.bytes_.size() - start;
    all.number(0x06054b50, 4);
    all.number(0, 4);
    all.number(entries_.size(), 2);
    all.number(entries_.size(), 2);
    all.number(size, 4);
    all.number(start, 4);
    all.number(0, 2);
    return all.bytes_;
  }

 private:
  struct Entry {
    std::string name;
    Options options;
    uint32_t size, offset, crc;
  };

  void number(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }

  // What local headers and the directory have alike.
  void middle(const Entry& entry) {
    const uint64_t size = static_cast<uint64_t>(static_cast<int64_t>(entry.size) + entry.options.lie);
    number(20, 2);
    number(entry.options.flags, 2);
    number(entry.options.method, 2);
    number(0, 4);
    number(entry.crc, 4);
    number(size, 4);
    number(size, 4);
  }

  static uint32_t crc(const std::string& content) {
    uint32_t crc = ~0u;
    for (char c : content) {
      crc ^= static_cast<uint8_t>(c);
      for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0);
    }
    return ~crc;
  }

  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace berth::pt2
