// What the attention operators of ONNX and of com.microsoft share.
#pragma once

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// [batch, length, heads · features] → [batch, heads, length, features].
ValueId apart_heads(NodeContext& n, ValueId x, int64_t heads);
/// And back.
ValueId joined_heads(NodeContext& n, ValueId x);
/// Keys or values [batch, heads, length, features] whose heads several of the `wanted` heads of queries share.
ValueId repeated_heads(NodeContext& n, ValueId x, Dim wanted);
/// `scores`, and minus infinity where `seen`, bool, does not hold.
ValueId where_seen(NodeContext& n, ValueId seen, ValueId scores);
/// The rows of a cache of cosines or sines that `positions` name (none: all), as what multiplies [batch, length, heads,
/// half].
ValueId turned(NodeContext& n, size_t cache, ValueId positions);
/// Rotates `x`, [batch, length, heads, features], of which the first `count` features turn.
ValueId rotated(NodeContext& n, ValueId x, ValueId cosine, ValueId sine, int64_t count, bool interleaved);

}  // namespace berth::onnx
