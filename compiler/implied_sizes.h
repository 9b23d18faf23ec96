// What a model implies about its open sizes: of which sizes no run can fail where two tensors have to be as large as
// each other.
//
//     symbol h in [64, 512]
//     %skip: f32[1,16,h], %up: f32[1,16,(floordiv(h, 16) * 16)]
//     %all = aten::cat([%skip, %up], 1)                             →   h%16==0
//
// So a U-Net without a word about its sizes is compiled as one for multiples of 16, with the plan of that, and another
// size is refused where it is given, not where the tensors meet.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace berth {

/// Texts for ImportOptions::where, of sizes whose multiples, or those and a remainder, are all that the model runs
/// with. They follow from nodes that every run executes and that an output depends on.
std::vector<std::string> implied_sizes(const ir::Module& module);

}  // namespace berth
