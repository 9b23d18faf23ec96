// NumPy's .npy files, for input and output tensors.
//
// Format: NumPy's "NPY" versions 1.0, 2.0 and 3.0 (numpy.lib.format). Supported: little-endian and single-byte numbers
// and booleans in row-major order. Element types that NumPy does not have are stored as integers of the same size: bf16
// as uint16, 8-bit floats as uint8, i4 and i2 as int8. Arrays of ml_dtypes are read as such integers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/failure.h"
#include "base/span.h"

namespace berth::tool {

struct Array {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;  // row-major
};

/// Reads one array. The header may be at most 64 KiB; the data must be exactly as long as the shape says.
Expected<Array> read_npy(const std::string& path);

/// Parses the contents of a .npy file; `place` is the name used in failures.
Expected<Array> parse_npy(Span<const uint8_t> file, const std::string& place);

/// Writes version 1.0, atomically.
Status write_npy(const std::string& path, const Array& array);

}  // namespace berth::tool
