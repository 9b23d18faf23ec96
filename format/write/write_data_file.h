// Writing a data file (.ptd): tensors by key, for programs that do not contain them. The same DataFileDesc gives the
// same bytes, on every machine.
//
// Layout of the file (format/data_file.h has the header's bytes):
//
//     FlatBuffer | zeros | a segment for each blob
//                        ^ a multiple of DataFileDesc::alignment, as is the start of each segment
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "format/write/sink.h"

namespace berth::format {

struct DataBlobDesc {
  std::string key;
  DType dtype = DType::kF32;
  std::vector<int32_t> sizes;
  /// Dimensions from the outermost in memory to the innermost.
  std::vector<uint8_t> dim_order;
  Bytes bytes;
  /// An earlier blob whose bytes in the file this one shares, `bytes` then being empty; -1: none.
  int32_t shares = -1;
};

struct DataFileDesc {
  std::vector<DataBlobDesc> blobs;
  /// Of the start of each segment; a power of two.
  uint32_t alignment = 128;
};

/// Streams the file to `sink`, front to back, each byte once. InvalidArgument when the alignment is not a power of two;
/// Internal when a Bytes gives another number of bytes than it said; or what the sink and the Bytes return. Keys are
/// not checked: verify the file. REQUIRES: `shares` names an earlier blob that shares nothing itself.
Status write_data_file(const DataFileDesc& file, const Sink& sink);

}  // namespace berth::format
