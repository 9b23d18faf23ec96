// Which arguments a kernel call reads and writes, as far as the operator's name says it.
#pragma once

#include <cstdint>

#include "format/program_view.h"

namespace berth::format {

struct OperatorAccess {
  enum class Kind : uint8_t {
    kPlain,  // writes its results
    kView,   // executorch_prim::et_view, berth::row.read: the third argument becomes a name of the first one's bytes
    kRow,    // berth::row.write: the same, and who writes it writes a part of the first one
    kCopyIndex,  // executorch_prim::et_copy_index: writes a part of the first argument
  };
  Kind kind = Kind::kPlain;
  /// Whether format/operators.def, or the list of ExecuTorch's own operators here, has it.
  bool known = false;
  /// Whether an in-place operator replaces all that its first argument held: aten::copy_.
  bool replaces_self = false;
  /// Arguments before the results; -1: not known.
  int16_t inputs = -1;
  /// Arguments (bit i: argument i) whose storage a result may take.
  uint32_t in_place = 0;
  /// Inputs that are changed beside the results.
  uint32_t changed = 0;
};

OperatorAccess operator_access(const fb::Operator& op);

/// Whether an operator of this name makes its third argument a name of the first one's bytes.
bool names_bytes(const char* name);

/// Whether calls of `kernel`, "aten::copy_", write all of their first argument without reading it: each call, or, of
/// executorch_prim::et_copy_index.tensor and of berth::row.write with what writes the row, those of a loop together.
bool overwrites_first(const char* kernel);

}  // namespace berth::format
