#include "compiler/emit/data_pool.h"

#include <algorithm>
#include <array>

namespace berth::emit {
namespace {

constexpr size_t kPoolChunk = size_t{1} << 16;

Status write_splat(const ir::Blob& blob, const format::Sink& sink) {
  std::vector<uint8_t> chunk(std::min(blob.size(), kPoolChunk / blob.element().size() * blob.element().size()));
  blob.read(0, chunk);
  for (size_t done = 0; done < blob.size(); done += chunk.size()) {
    BERTH_TRY(sink({chunk.data(), std::min(chunk.size(), blob.size() - done)}));
  }
  return Done{};
}

}  // namespace

format::Bytes bytes_of(ir::Blob blob) {
  format::Bytes bytes;
  if (blob.size() == 0) {
    // ExecuTorch takes a program whose constant segment is empty for one of the time before there were segments.
    bytes.size = 1;
    bytes.write = [](const format::Sink& sink) -> Status {
      const std::array<uint8_t, 1> zero = {};
      return sink({zero.data(), zero.size()});
    };
    return bytes;
  }
  bytes.size = blob.size();
  bytes.write = [blob = std::move(blob)](const format::Sink& sink) -> Status {
    if (blob.is_splat()) return write_splat(blob, sink);
    BERTH_TRY(sink(blob.bytes()));
    blob.release();
    return Done{};
  };
  return bytes;
}

std::vector<format::Bytes> DataPool::take() && {
  std::vector<format::Bytes> all;
  for (ir::Blob& blob : std::move(blobs_).take()) all.push_back(bytes_of(std::move(blob)));
  return all;
}

}  // namespace berth::emit
