// narrow_caches: caches of keys and values in 16 bits, for `--precision`.
//
//     state @keys: f32[1,8,1024,128]                        →   state @keys: bf16[1,8,1024,128]
//     %k1 = aten::index_put(%keys, [none, none, %at], %k)       %k2: bf16[…] = dim_order_ops::_to_dim_order_copy(%k)
//     %y = berth::grouped_attention(%q, %k1, %v1, …)            %k1: bf16[…] = aten::index_put(%keys, […], %k2)
//                                                               %y = berth::grouped_attention(%q, %k1, %v1, …)
//
// Attention over a cache reads all of it for each token, and its kernels widen what they read: behind 512 tokens a
// cache of f32 is 117 MB of the 450 that Qwen3-0.6B at 4 bits reads. A query, its scores and the sums stay f32.
//
// For a state of f32 that each method which has it reads once, in a delegate of a target that narrows weights
// (targets::Target::weights), writes there at some positions, and reads otherwise as keys or values of grouped
// attention alone; of keys and values that attention reads together both are such states, or neither is narrowed. What
// is kept from call to call then has 16 bits: Method::get_state() gives them, and set_state() takes them.
// `--why precision` names the type at each write into one.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> narrow_caches(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
