// EmitOptions: how the emitter writes a program.
#pragma once

#include "compiler/emit/external_constants.h"

namespace berth::emit {

struct EmitOptions {
  /// Says at each instruction which node of the model it comes from.
  bool stack_traces = false;
  /// Writes berth.meta: names, symbols, views, bounds. ExecuTorch ignores it.
  bool meta = true;
  /// Which constants lie in data files; null: none. Those that delegates read lie in the program in any case.
  ConstantFile constant_file;
};

}  // namespace berth::emit
