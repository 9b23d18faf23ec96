// narrows_in_place: whether a nested program may compute its output into the bytes of its input, as one that makes
// bytes of a model's floats may.
#pragma once

#include "format/program_view.h"

namespace berth::format {

/// Whether all that the nested program does is one element-wise chain from its one input to its one output, of the same
/// known sizes in the same order, with narrower elements. The kernels of berth::elementwise then take an output that
/// begins where the input does (kernels/portable/fused_elementwise.h): element by element from the front, what is
/// written lies before what is still to be read. REQUIRES: verify_nested() accepted it.
bool narrows_in_place(const ProgramView& nested);

}  // namespace berth::format
