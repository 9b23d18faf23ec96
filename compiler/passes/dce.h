// dce: removes nodes whose results are not used, and constants that no method mentions.
//
//     %a: f32[2] = aten::relu(%x)
//     %b: f32[2] = aten::neg(%a)
//     return %a                        →   %a: f32[2] = aten::relu(%x)
//                                          return %a
//
// A write of a state stays, and with it what it reads; so does a node whose region holds one.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> dce(ir::Module& module, const Options& options);

}  // namespace berth::passes
