// Heads of queries, keys or values that lie in channels, as convolutions give them, for attention over rows of tokens.
//
//     %x: f32[1,512,20,20]                                           a convolution's
//     %v = aten::view_copy(%x, [1, 4, 128, 400])
//     %q = aten::slice_copy.Tensor(%v, 2, 0, 32, 1)                  a head is 32 channels, the next one 128 further on
//     →
//     %r = aten::permute_copy(view(%x), [0, 2, 1])                   [1, 400, 512]: rows of tokens
//     %q = permute(slice(view(%r, [1, 400, 4, 128]), 3, 0, 32, 1), [0, 2, 1, 3])
//
// Where channels are innermost in memory (channels_last), the rows of what is_convolved() (moved.h) are the image as it
// lies there.
#pragma once

#include <optional>
#include <string>

#include "compiler/fuse/strided.h"

namespace berth::fuse {

/// Channels of a base of [batch, width, tokens] elements.
struct ChannelHeads {
  ir::ValueId base;
  int64_t width = 0;   // channels in all
  int64_t first = 0;   // the first channel of the first head
  int64_t stride = 0;  // from a head to the next one
  int64_t size = 0;    // of a head
};

/// What `from`, of sizes [batch, heads, tokens, size], or [batch, heads, size, tokens] where `turned`, is of channels;
/// nothing where its tokens are not the innermost dimension of the base, or its heads are not regular.
std::optional<ChannelHeads> channel_heads(const Context& context, const Strided& from, bool turned);

/// The base as rows of tokens, [batch, tokens, width].
Expected<ir::ValueId> rows_of_channels(Context& context, ir::Builder& build, const ChannelHeads& heads, ir::Dim batch,
                                       ir::Dim tokens, const std::string& source);

/// Whether heads_of_rows() can cut these: they lie side by side, or each within its part of all channels.
bool cuts_heads(const ChannelHeads& heads, int64_t count);
/// `rows` as [batch, tokens, count, size]. REQUIRES: cuts_heads(heads, count).
Expected<ir::ValueId> heads_of_rows(Context& context, ir::Builder& build, const ChannelHeads& heads, int64_t count,
                                    ir::ValueId rows, const std::string& source);

}  // namespace berth::fuse
