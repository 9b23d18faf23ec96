// ImageBlock: nodes that compute each row of an image from a few rows of what they read, so that they may be had for
// some rows alone: convolutions of bytes, element-wise chains, channels joined.
#pragma once

#include <string>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// The dimensions of an image whose channels are innermost, from the outermost in memory.
inline const std::vector<uint8_t> kPixelOrder = {0, 2, 3, 1};

/// Rows [begin, end) of an image.
struct ImageRows {
  int64_t begin = 0, end = 0;

  int64_t count() const { return end - begin; }
  friend bool operator==(const ImageRows& a, const ImageRows& b) { return a.begin == b.begin && a.end == b.end; }
};

/// What a convolution sees of the rows of its input.
struct RowWindow {
  int64_t size = 1;  // from the first tap to the last
  int64_t stride = 1;
  int64_t padding = 0;  // above and below
};

/// A convolution that gives at least some rows of its result.
struct RowReading {
  ImageRows read;       // of its input
  ImageRows made;       // of its result; those that were not wanted may be wrong
  bool padded = false;  // else no rows stand above and below those that are read
};
/// Padding is the same above and below: at an edge of the image it stands at the other end of the strip as well, where
/// it spoils rows that are not wanted.
RowReading reading_for(const RowWindow& window, ImageRows wanted, int64_t input_rows);

/// Whether a tensor is one image of known size, its channels innermost, whose rows begin at multiples of 16 bytes; that
/// is where parts of a tensor may begin without a copy.
bool is_image_of_rows(const ir::TensorType& type);
int64_t rows_of_image(const ir::TensorType& type);
int64_t row_bytes_of_image(const ir::TensorType& type);

/// Rows of pixels, [1, height, width, channels], as the image whose bytes they are, and the other way round.
Expected<ir::ValueId> image_of_lines(ir::Builder& build, ir::ValueId lines, const std::string& source);
Expected<ir::ValueId> lines_of_image(ir::Builder& build, ir::ValueId image, const std::string& source);

class ImageBlock {
 public:
  /// `last` and what only it and others of the block read, where that takes `least` bytes or more. Of `taken` no node.
  ImageBlock(const Context& context, ir::NodeId last, int64_t least, const IdVector<ir::NodeId, bool>& taken);

  /// In an order in which they run; of less than two nodes there is nothing that need not be whole.
  const std::vector<ir::NodeId>& nodes() const { return nodes_; }
  /// What is never whole where the block is cut.
  std::vector<ir::ValueId> inner() const;
  int64_t rows() const { return rows_; }

  /// The most bytes of inner() that are there at once while rows [begin, end) are computed.
  int64_t bytes_for(ImageRows rows) const;

  /// Appends the nodes for these rows alone; what they give has no others.
  Expected<ir::ValueId> append(Context& context, ir::Builder& build, ImageRows rows) const;

 private:
  class Strip;

  bool is_inner(ir::ValueId value) const;

  const Context& context_;
  ir::NodeId last_;
  int64_t rows_ = 0;
  std::vector<ir::NodeId> nodes_;
};

}  // namespace berth::fuse
