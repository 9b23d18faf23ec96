// Literals: the tensors in a model file (initialisers, Constant nodes), as a type and a blob.
//
// Raw bytes, in the file or in an external one, are mapped. Typed numbers are decoded, sparse tensors made dense, and
// elements of 4 and 2 bits given a byte each, within a memory budget of 2 × the file + 64 MB.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/import/lowering/lowering.h"
#include "compiler/import/onnx/model.h"
#include "compiler/ir/blob.h"
#include "compiler/ir/type.h"

namespace berth::onnx {

using lowering::kMaxElements;

struct Literal {
  ir::TensorType type;
  ir::Blob blob;
};

/// The name of `element_type` as ONNX writes it, such as "FLOAT16"; "type 99" when it has none.
std::string element_type_name(int32_t element_type);
/// The dtype of tensors of `element_type`; false for strings, complex numbers and 6-bit floats.
bool dtype_of(int32_t element_type, DType* out);

class LiteralReader {
 public:
  /// `file` holds the model and `bytes` is its content; external data lies below the folder of its path. A null `file`
  /// means that `bytes` stands in memory alone: raw bytes are then copied, external data refused.
  LiteralReader(std::shared_ptr<const MappedFile> file, std::string_view bytes)
      : file_(std::move(file)), bytes_(bytes), budget_(2 * bytes.size() + (size_t{64} << 20)) {}

  /// Fails with the tensor's name as place.
  Expected<Literal> read(const Tensor& tensor);
  Expected<Literal> read(const SparseTensor& tensor);
  /// Whether a node may make a constant of `size` bytes, out of the same budget.
  bool reserve(size_t size) {
    const bool fits = size <= budget_;
    budget_ -= fits ? size : 0;
    return fits;
  }

  /// The paths of the files beside the model that tensors were read from so far.
  std::vector<std::string> external_files() const;

 private:
  Expected<ir::Blob> raw_blob(const Tensor& tensor, size_t size);
  Expected<ir::Blob> external_blob(const Tensor& tensor, size_t size);
  Expected<ir::Blob> typed_blob(const Tensor& tensor, DType dtype, size_t count);
  Expected<ir::Blob> unpacked_blob(const Tensor& tensor, DType dtype, size_t count);
  Expected<std::shared_ptr<const MappedFile>> open_external(const Tensor& tensor, std::string_view location);
  Status take(const Tensor& tensor, size_t size);

  std::shared_ptr<const MappedFile> file_;
  std::string_view bytes_;
  size_t budget_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> externals_;
};

}  // namespace berth::onnx
