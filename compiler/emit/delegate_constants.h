// The constants that delegates read: named data of the program, one blob for all delegates that share it, or of a data
// file beside it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/emit/data_pool.h"
#include "compiler/emit/external_constants.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

class DelegateConstants {
 public:
  /// `external` may be null: no constant lies in a data file. Both must outlive this.
  explicit DelegateConstants(const ir::Module& module, ExternalConstants* external = nullptr);

  /// Finds the keys of these constants, for which key() will be asked, at once (content_keys()).
  void expect(const IdVector<ir::ConstantId, ir::ConstantId>& constants);

  /// The key of constant `id` of the module, read as `tensor`: that of the data file that it lies in, or of the blob
  /// (content_key.h) that the program holds from now on.
  std::string key(ir::ConstantId id, const format::TensorDesc& tensor);

  /// The blobs, in the order in which they were first requested; then, where there are delegates that were compiled
  /// elsewhere, the module's named data.
  std::vector<format::NamedDataDesc> take() &&;

 private:
  const std::string& key_of_blob(ir::ConstantId id);

  const ir::Module& module_;
  ExternalConstants* const external_;
  IdVector<ir::ConstantId, std::string> keys_;      // empty: not requested
  IdVector<ir::ConstantId, std::string> expected_;  // content keys; empty: not found yet
  DataPool blobs_;
  std::vector<std::string> blob_keys_;                 // of each blob
  std::unordered_map<std::string, uint32_t> holders_;  // key → number of its blob
};

}  // namespace berth::emit
