// A name for bytes by what they are, so that equal constants of several delegates are one blob under one key.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/blob.h"

namespace berth::emit {

/// "berth.c." and 32 hex digits, a hash of the size and of all bytes; the same for equal bytes, however they are kept.
/// `salt` gives other digits, for the day when two blobs have the same ones: the caller compares them. It is not a
/// defence against a deliberate search for such a pair. Mapped pages are let go.
std::string content_key(const ir::Blob& blob, uint64_t salt = 0);

/// The keys of some blobs, in less time than they take one after the other: a processor mixes two of them at once.
std::vector<std::string> content_keys(const std::vector<ir::Blob>& blobs);

}  // namespace berth::emit
