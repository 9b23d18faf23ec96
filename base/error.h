// The error codes that every room of Berth returns.
//
// The numbers are those of ExecuTorch's `Error`, so that a host that already speaks ExecuTorch's codes can pass
// Berth's on unchanged (source: the list in docs/format.md, taken from ExecuTorch 1.5).
#pragma once

#include <cstdint>

namespace berth {

enum class Error : uint32_t {
  kOk = 0x00,

  // The library was used wrongly, or Berth itself is wrong.
  kInternal = 0x01,
  kInvalidState = 0x02,
  kEndOfMethod = 0x03,
  kAlreadyLoaded = 0x04,

  // What was asked for cannot be done, or not with these arguments.
  kNotSupported = 0x10,
  kNotImplemented = 0x11,
  kInvalidArgument = 0x12,
  kInvalidType = 0x13,
  kOperatorMissing = 0x14,
  kRegistrationExceedingMaxKernels = 0x15,
  kRegistrationAlreadyRegistered = 0x16,

  // A resource is missing, too small or unreadable.
  kNotFound = 0x20,
  kMemoryAllocationFailed = 0x21,
  kAccessFailed = 0x22,
  kInvalidProgram = 0x23,
  kInvalidExternalData = 0x24,
  kOutOfResources = 0x25,

  // A delegate failed.
  kDelegateInvalidCompatibility = 0x30,
  kDelegateMemoryAllocationFailed = 0x31,
  kDelegateInvalidHandle = 0x32,
};

/// The name of `error` as users meet it in messages, such as "InvalidProgram". Never null; "Unknown" for a number
/// that is no code. The text is static.
const char* to_string(Error error);

}  // namespace berth
