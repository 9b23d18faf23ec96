// The error codes of Berth.
//
// The numbers are those of ExecuTorch 1.5's `Error` (docs/format.md lists them), so that an application that handles
// ExecuTorch's codes can pass Berth's on unchanged.
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

  // The request is not supported, or its arguments are wrong.
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

/// The name of `error` as it appears in messages, such as "InvalidProgram". Never null; "Unknown" for a number that is
/// not a code. The text is static.
const char* to_string(Error error);

}  // namespace berth
