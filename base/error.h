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
  kInternal = 0x01,       // a bug in Berth, or in a kernel or backend of the application
  kInvalidState = 0x02,   // the call is not allowed now: an input was never set, a run is in progress
  kEndOfMethod = 0x03,    // Method::step(): the run is finished
  kAlreadyLoaded = 0x04,  // Berth never returns it

  // The request is not supported, or its arguments are wrong.
  kNotSupported = 0x10,
  kNotImplemented = 0x11,  // Berth never returns it
  kInvalidArgument = 0x12,
  kInvalidType = 0x13,                      // a value or an element type is of the wrong kind
  kOperatorMissing = 0x14,                  // no kernel table has an operator of the program
  kRegistrationExceedingMaxKernels = 0x15,  // Berth never returns it
  kRegistrationAlreadyRegistered = 0x16,    // the device type has an allocator

  // A resource is missing, too small or unreadable.
  kNotFound = 0x20,                // a file, a device, a backend or a named blob does not exist
  kMemoryAllocationFailed = 0x21,  // too little memory: the application's, or a device's
  kAccessFailed = 0x22,            // a file exists, but cannot be read or written
  kInvalidProgram = 0x23,          // the program file is damaged
  kInvalidExternalData = 0x24,     // a data file is damaged, or does not fit the program
  kOutOfResources = 0x25,          // a limit of Berth's was reached

  // A delegate failed.
  kDelegateInvalidCompatibility = 0x30,    // the payload was made for another version or another backend
  kDelegateMemoryAllocationFailed = 0x31,  // Berth never returns this one, nor the next
  kDelegateInvalidHandle = 0x32,
};

/// The name of `error` as it appears in messages, such as "InvalidProgram". Never null; "Unknown" for a number that is
/// not a code. The text is static.
const char* to_string(Error error);

}  // namespace berth
