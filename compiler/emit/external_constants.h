// The constants of a program that lie in data files beside it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/blob_set.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"
#include "format/write/write_data_file.h"

namespace berth::emit {

/// The data file that a constant lies in; empty: the program.
using ConstantFile = std::function<std::string(const ir::Constant&)>;

/// A data file to write.
struct ExternalFile {
  std::string path;
  format::DataFileDesc data;  // blobs in the order of their keys
  int64_t bytes = 0;          // of its blobs, those that are equal once
};

class ExternalConstants {
 public:
  /// `file_of` may be null: nothing is external. The module must outlive this.
  ExternalConstants(const ir::Module& module, ConstantFile file_of);

  /// Whether the data of constant `id` are in a file.
  bool holds(ir::ConstantId id) const { return !path_of(id).empty(); }

  /// The key of constant `id` as the tensor `tensor`, whose data are in a file from now on; empty when they are in the
  /// program, as those of constants without bytes are.
  ///
  /// The key is the constant's name, and for a view of another type or other sizes, which readers compare with those in
  /// the file, the name and ".view". Where that is another tensor's already, a number stands behind it: ".2".
  std::string key(ir::ConstantId id, const format::TensorDesc& tensor);

  /// In the order of their paths. Blobs that are equal share the bytes of the first of them in their file.
  std::vector<ExternalFile> take() &&;

 private:
  struct Entry {
    std::string path;
    uint32_t blob = 0;  // in blobs_, from 1
    DType dtype = DType::kF32;
    std::vector<int32_t> sizes;
    std::vector<uint8_t> dim_order;

    bool operator==(const Entry& other) const {
      return std::tie(path, blob, dtype, sizes, dim_order) ==
             std::tie(other.path, other.blob, other.dtype, other.sizes, other.dim_order);
    }
  };

  // Empty: in the program.
  std::string path_of(ir::ConstantId id) const;

  const ir::Module& module_;
  ConstantFile file_of_;
  ir::BlobSet blobs_;
  std::map<std::string, Entry> entries_;  // by key
};

}  // namespace berth::emit
