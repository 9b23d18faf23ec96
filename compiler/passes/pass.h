// What every pass is made of: `Expected<Changed> name(ir::Module&, const Options&)`, one triple of files each. The list
// of them is pipeline.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "base/watch.h"
#include "compiler/ir/module.h"

namespace berth::passes {

enum class Changed : bool { kNo = false, kYes = true };

inline Changed operator|(Changed a, Changed b) { return a == Changed::kYes ? a : b; }
inline Changed changed_if(bool condition) { return condition ? Changed::kYes : Changed::kNo; }

struct Options {
  /// Whether nodes may be merged into others: fold_batch_norm.
  bool fusion = true;
  /// Whether constants of integers of at most 8 bits that are made floats stay as they are, for products of quantised
  /// numbers: fold_constants.
  bool keep_quantized = false;
  /// Whether those of fewer than 8 bits do so too.
  bool keep_narrow = true;
  /// Whether products with a matrix of zeros stay, for passes that look for the steps of recurrent layers, whose first
  /// ones they are: fold_constants.
  bool keep_first_steps = false;
  /// Whether the runner verifies the module after every pass; builds with assertions always do.
  bool verify = false;
  /// When not empty: the IR after every pass that changed it, as numbered files in this folder, which must exist.
  std::string dump_dir;
  /// Passes whose remarks go to `why_lines`, by name; "all" for every pass.
  std::vector<std::string> why;
  /// Gets one line for each remark; null for none. Borrowed.
  std::vector<std::string>* why_lines = nullptr;
  /// Whether remarks begin with the name of their method.
  bool name_methods = false;
  /// Is told of each pass, and may end them; null: none. Borrowed.
  Watch* watch = nullptr;
  /// Bytes that all constants which folding makes may take together; 0: twice what the module holds at the start, and
  /// 64 MiB.
  int64_t fold_limit = 0;
};

/// Whether remarks of `pass` are requested, so that their text need not be made otherwise.
bool wants_why(const Options& options, std::string_view pass);

/// Notes `pass: "source" aten::relu (%y): reason` if remarks of `pass` are requested; with Options::name_methods
/// `pass: forward: "source" …`.
void remark(const Options& options, std::string_view pass, const ir::Method& method, const ir::Node& node,
            std::string_view reason);

}  // namespace berth::passes
