// The constants that delegates read: named data of the program, one blob for all delegates that share it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/emit/data_pool.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

class DelegateConstants {
 public:
  /// The module must outlive this.
  explicit DelegateConstants(const ir::Module& module);

  /// The key of constant `id` of the module (content_key.h), which the program holds from now on.
  const std::string& key(ir::ConstantId id);

  /// The blobs, in the order in which they were first requested; then, where there are delegates that were compiled
  /// elsewhere, the module's named data.
  std::vector<format::NamedDataDesc> take() &&;

 private:
  const ir::Module& module_;
  IdVector<ir::ConstantId, std::string> keys_;  // empty: not requested
  DataPool blobs_;
  std::vector<std::string> blob_keys_;                 // of each blob
  std::unordered_map<std::string, uint32_t> holders_;  // key → number of its blob
};

}  // namespace berth::emit
