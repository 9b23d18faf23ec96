// DelegateSpecs: what a delegate asks of the program around it, in its compile specs. A target writes them, so that the
// facts travel with the file: the compiler, `replan` and the importer of programs read them here.
//
//   berth.alignment = "64"     its inputs and outputs begin at multiples of this many bytes
//   berth.padding = "128"      bytes behind each arena of a method that calls it, which its kernels may read
//   berth.scratch = "4096"     the last argument of its call is a tensor of as many bytes on its device
//   berth.pure = "1"           a call only computes its outputs; without it, calls keep their order and none is dropped
//   berth.state = "4096"       the argument behind the inputs of its call is a tensor of as many bytes on its device,
//                              which keeps from one call to the next what the delegate writes there; it is not pure
//                              then
//   berth.state_init = "key"   what the state holds at first: the named data of this key, of as many bytes; zeros
//                              without
//   berth.input_bank = "sram"  where its device has banks (`--bank`), its inputs lie in the one of this name;
//   berth.output_bank, berth.scratch_bank, berth.state_bank: its outputs, its scratch, the state of its device
//   berth.input_bank.2 = "sram?"  one input (or output) alone; the '?' says that it should lie there, where it fits
//
// Numbers are decimal, in text. Anything else counts as absent: only what the text says is promised. What is said of
// state must be right, as its maker relies on it: problem().
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// What the keys of Berth's own specs begin with.
inline constexpr char kBerthSpec[] = "berth.";
inline constexpr char kAlignmentSpec[] = "berth.alignment";
inline constexpr char kPaddingSpec[] = "berth.padding";
inline constexpr char kScratchSpec[] = "berth.scratch";
inline constexpr char kPureSpec[] = "berth.pure";
inline constexpr char kStateSpec[] = "berth.state";
inline constexpr char kStateInitSpec[] = "berth.state_init";

inline constexpr char kInputBankSpec[] = "berth.input_bank";
inline constexpr char kOutputBankSpec[] = "berth.output_bank";
inline constexpr char kScratchBankSpec[] = "berth.scratch_bank";
inline constexpr char kStateBankSpec[] = "berth.state_bank";

inline constexpr int64_t kMostDelegateAlignment = 4096;
inline constexpr int64_t kMostDelegatePadding = 1 << 20;

struct DelegateSpecs {
  int64_t alignment = 0;  // a power of two up to kMostDelegateAlignment; 0: not said
  int64_t padding = 0;    // up to kMostDelegatePadding
  int64_t scratch = 0;    // bytes
  bool pure = false;
  int64_t state = 0;                 // bytes
  const char* state_init = nullptr;  // the key, not ended by a zero, in the value that was read; null: zeros
  size_t state_init_size = 0;

  /// Reads one compile spec; other keys are ignored. `value` is `size` bytes of text without a final zero, and may be
  /// null when `size` is 0. REQUIRES: `key` is null-terminated.
  void read(const char* key, const void* value, size_t size);

  /// What is wrong with what was said of state; null when nothing is.
  const char* problem() const;

 private:
  void read_state(const void* value, size_t size);
  void read_state_init(const void* value, size_t size);
  void note(const char* problem);

  const char* problem_ = nullptr;  // the first
};

/// Which tensors of a delegate the key of a compile spec names a bank for.
struct BankSpec {
  enum class Of : uint8_t { kNothing, kInputs, kOutputs, kScratch, kState };
  Of of = Of::kNothing;
  int32_t index = -1;  // of kInputs and kOutputs: the only one, or -1 for all
};

/// kNothing for a key that names no bank. REQUIRES: `key` is null-terminated.
BankSpec parse_bank_spec(const char* key);

}  // namespace berth
