// fold_constants: constant folding.
//
//     %w: f32[64,32] = const @w
//     %t: f32[32,64] = aten::permute_copy(%w, [1, 0])   →   %t: f32[32,64] = const @t
//
// It never blows a file up: a result larger than its inputs together and over 1 MB stays a node, and all results
// together stay within Options::fold_limit. What repeats one value stays one value through element-wise operators and
// reorderings; a view of a constant shares its bytes. Mapped pages are released as soon as they were read.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Why a node whose inputs are constants was folded or stayed; the words of `--why fold_constants`.
enum class FoldReason {
  kFolded,
  kGrows,         // larger than the inputs together, and over 1 MB
  kOverLimit,     // all folded constants together would pass Options::fold_limit
  kSizeUnknown,   // a symbol, or a size that depends on contents
  kKernelFailed,  // left to fail, or not, when the program runs
};
const char* to_string(FoldReason reason);

/// A result of at most this many bytes may be larger than its inputs.
constexpr int64_t kSmallResult = int64_t{1} << 20;

Expected<Changed> fold_constants(ir::Module& module, const Options& options);

}  // namespace berth::passes
