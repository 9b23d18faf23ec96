// Which of this processor's instruction sets the engines of this room use.
#pragma once

namespace berth::cpu {

/// From now on in this process no more than "avx2" or "avx512". False, and nothing changed, for other names and where
/// the processor has less. Not while another thread loads or runs a method.
bool limit_simd(const char* isa);

}  // namespace berth::cpu
