// Checks of Berth's own files, beyond those of every reader (format/verify.h): a program, its devices and the nested
// programs of its delegates must be consistent.
#pragma once

#include <set>
#include <string>

#include "base/failure.h"
#include "format/program_view.h"

namespace berth {

/// Checks every method of a file:
///   devices     tensors of kernels are on the host, except for copies, which must match the direction of their name;
///               tensors of a delegate are on its target_device
///   delegates   that Berth compiled ("berth.…"): the payload is a nested program that passes the checks of files and
///               of their memory plans; one method, without delegates, devices or data of its own; its inputs and
///               outputs are the call's, of equal type, sizes and order, brought by the caller; its constants are named
///               data of this file, of enough bytes, or lie under one of the keys `external` in data files beside it;
///               its arenas fit into the scratch and the outputs of the call
///
/// InvalidProgram, or what the checks of the nested program say, with the first thing wrong and its place;
/// DelegateInvalidCompatibility for a nested program of a later version. REQUIRES: verify_program() accepted the file,
/// which lies at a multiple of 16.
Status check_delegates(const format::ProgramView& program, const std::set<std::string>& external = {});

/// Only the second of these, for any file, and for every delegate of Berth's backends, called or not. Payloads of other
/// backends are not checked, and constants that this file does not have are taken to lie in data files. Errors and
/// REQUIRES as check_delegates().
Status check_payloads(const format::ProgramView& program);

}  // namespace berth
