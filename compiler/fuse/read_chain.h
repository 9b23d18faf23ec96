// Reads the chain of element-wise operators that ends at a node: which nodes it takes along, and the steps that they
// become.
#pragma once

#include <set>

#include "compiler/fuse/context.h"
#include "compiler/fuse/element_chain.h"

namespace berth::fuse {

/// What chains of a target do with bytes.
enum class ByteUse {
  kNone,    // they are of f32 alone
  kRead,    // they read and write them
  kWanted,  // so do the products that read what chains make, which had better be bytes
};

/// What targets do with chains; those of which it is the same are fused together.
struct ChainUse {
  ByteUse bytes = ByteUse::kNone;
  bool halves = false;  // chains of f16 and bf16 are wanted

  bool operator==(const ChainUse& other) const { return bytes == other.bytes && halves == other.halves; }
};

/// Whether `node` rounds a tensor to bytes of one scale, and whether it makes such bytes numbers.
bool quantises(const ir::Node& node);
bool dequantises(const ir::Node& node);

/// Reads the chain that ends at `node`, with room for `after` more steps, to `*chain`, and what it results in to
/// `*last`. `read_often`: bytes with more readers than the nodes say, as other chains read them instead of numbers.
/// False when `node` is not an element-wise operator. REQUIRES: `*chain` is empty.
bool read_chain(const Context& context, const ir::Node& node, ChainUse use, const std::set<ir::ValueId>& read_often,
                size_t after, ElementChain* chain, ChainOperand* last);

}  // namespace berth::fuse
