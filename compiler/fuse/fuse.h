// Operator fusion inside the regions of delegates, for targets that have kernels for the fused operators.
//
//     expand_transposed       transposed convolutions of bytes as convolutions of one tap
//     move_quantization       moves of bytes where numbers that they stand for were moved
//     mean_of_bytes           means of dequantised bytes, as those of the bytes
//     fuse_dynamic_quantize   a tensor's range, and its bytes for that
//     fuse_activations        formulas of hard-swish, silu, gelu, … become one step each
//     fuse_quantized          products of 8-bit integers, from dequantised numbers
//     fuse_narrow_products    matrix products of floats with weights of 8 and 4 bits
//     fuse_group_norms        norms of rows that stand for groups of channels
//     fuse_layer_norms        norms of rows that are written out
//     fuse_rms_norms          rows divided by the root of the mean of their squares
//     gather_masks            constants that are added to scores, as one
//     transpose_weighted      attention whose values are columns, as one whose values are rows
//     fuse_attention          softmax(query · key * scale + mask) · value
//     fuse_grouped_attention  the same over a cache: several heads read one of keys and values
//     cut_channels            channels cut out of groups of channels, by rows
//     fuse_lstm               a step of an LSTM
//     join_lstm_steps         all steps of an LSTM
//     fuse_gru                steps of a GRU
//     take_columns            columns of matrix products that nothing reads are not computed
//     sum_before_product      sums over rows of a matrix product, before it
//     move_permutes           element-wise operators before the permutations of convolutions
//     split_activations       activations of joined channels, of each part
//     fuse_products           convolution or matrix product + bias + residual + activation
//     split_concatenations    convolutions over joined channels, as sums over the parts
//     fuse_shuffles           concatenation, channel shuffle, split
//     expand_batch_norms      batch norms without a convolution, as a product and a sum
//     fuse_rotations          the rotated half of rotary embeddings, as one roll
//     fuse_elementwise        chains of element-wise operators
//     split_heads             attention on bytes, a head at a time
//     conv1d_to_2d            convolutions over one axis as those over two
//     widen_transposed        transposed convolutions to few channels, as those to all positions of a stride
//     channels_last           images with the channels innermost
//     order_weights           weights with what is summed over innermost
//     take_rows               rows that nothing reads are not computed
//     cut_rows                products that widen many rows, some rows at a time
//     cut_images              convolutions of bytes that widen an image, some rows at a time
//     lift_last_views         views of what a device gives, on the host
//     precision               weights in 16 bits, for `--precision`
//     narrow_caches           caches of keys and values in 16 bits, for `--precision`
//     pack_weights            weights in the order in which they are read
//     share_tables            tables of embeddings that are packed weights as well
//     fuse_bottlenecks        pointwise and depthwise convolutions, by rows
//     narrow_results          results in 16 bits, where all readers round them
//
//     fuse_lstm_loops         a loop over the steps of an LSTM: with the next, fuse_recurrent_loops, the one pass
//     fuse_gru_loops          before placement (compiler/pipeline.cc), and a loop over those of a GRU
//
// The passes follow placement (compiler/pipeline.h), because what may be fused is what one delegate holds; they change
// nothing outside of delegates. They make operators whose role in format/operators.def is FUSED, which never stand in a
// program itself. `--why fusion` logs the decisions of all of them, the name of a pass those of that pass.
#pragma once

#include <vector>

#include "compiler/fuse/context.h"
#include "compiler/passes/pipeline.h"

namespace berth::fuse {

/// The passes in order, for the regions of delegates that one of `targets` runs.
std::vector<passes::Pass> fuse_passes(Targets targets);

/// Whether fold_constants is to leave quantised weights to these passes (passes::Options::keep_quantized): fused
/// products of quantised numbers are made for all of `targets` that have delegates, of which there is one.
bool keeps_quantized(const Targets& targets);

/// The same for weights of fewer than 8 bits (passes::Options::keep_narrow), which only targets that take bytes
/// everywhere have.
bool keeps_narrow(const Targets& targets);

/// Whether fold_constants is to leave the first steps of recurrent layers to these passes
/// (passes::Options::keep_first_steps): one of `targets` has operators for them.
bool joins_steps(const Targets& targets);

/// NotSupported when a fused operator stands outside of delegates, where no kernel of the program's own library runs
/// it; names the node.
Status check_outside(const ir::Module& module);

}  // namespace berth::fuse
