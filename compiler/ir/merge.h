// merge: the methods of several modules in one, so that they become one program.
//
//     module a                           module b                          merged
//       const @w: f32[64,64] = …           const @weight: f32[64,64] = …     const @w: f32[64,64] = …
//       method prefill(…)                  method decode(…)                  method prefill(…), method decode(…)
#pragma once

#include <vector>

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

struct MergeOptions {
  /// Whether states of one name are one state, which the methods of all modules read and write. Otherwise each module
  /// keeps its own.
  bool share_state = false;
};

/// One module with the methods of all, in order. What they have in common is shared, the rest gets a suffix where a
/// name is taken:
///
///   constants    of equal bytes and one type are one constant. Bytes stay where they are, mapped files included; they
///                are read only where size and samples agree (BlobSet). Those of one repeated element take no bytes and
///                are not compared.
///   symbols      of one name and range are one symbol: no method has those of another
///   states       are shared only if the options say so
///   delegates    are never shared; their payloads are, when they are written
///   operators    of one's own are those of all: modules that have some have the same set
///   named data   is what payloads find by its key, so a key keeps its name and has the same bytes everywhere
///
/// InvalidArgument for two methods of one name; for a key with different bytes; and, where state is shared, for two
/// states of one name that differ in type or in what they begin with, and for modules with different sets of operators
/// of one's own. REQUIRES: ir::verify() is ok for each module.
Expected<Module> merge(std::vector<Module> modules, const MergeOptions& options = {});

}  // namespace berth::ir
