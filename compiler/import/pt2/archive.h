// Archive: the records of a `.pt2` file, a ZIP archive with uncompressed entries.
//
// A record is a range of the file. Names are relative to the archive's single root folder ("models/model.json").
// Format: the ZIP application note; PyTorch's record layer writes every entry stored and at a multiple of 64 bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "base/span.h"

namespace berth::pt2 {

struct Record {
  size_t offset = 0;  // in the file
  size_t size = 0;
  bool compressed = false;
};

class Archive {
 public:
  /// Reads the directory. `bytes` is the whole file, borrowed for as long as the archive lives. InvalidProgram when it
  /// is not a ZIP, when a name leads out of the root folder or stands twice, when a record does not lie within the
  /// file.
  static Expected<Archive> open(Span<const uint8_t> bytes);

  /// The record `name`; NotFound, or NotSupported when it is compressed, with what to do.
  Expected<Record> find(std::string_view name) const;
  bool has(std::string_view name) const { return records_.find(name) != records_.end(); }
  std::string_view text(const Record& record) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + record.offset, record.size};
  }
  const std::map<std::string, Record, std::less<>>& records() const { return records_; }

 private:
  Span<const uint8_t> bytes_;
  std::map<std::string, Record, std::less<>> records_;
};

}  // namespace berth::pt2
