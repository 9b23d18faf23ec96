// Whether this processor multiplies small matrices: Intel's AMX, registers of 16 rows of 64 bytes (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1, chapter 18).
#pragma once

namespace berth::cpu {

/// Whether this process may multiply matrices of bf16. The first call asks the operating system for the registers,
/// which are kept for processes that say that they want them.
bool has_bf16_matrices();
/// The same for bytes.
bool has_byte_matrices();

/// For tests: as if the processor did not. Must not be called while another thread loads a method.
void forbid_matrices(bool forbidden);

}  // namespace berth::cpu
