// What holds between a program, its devices and the nested programs of its delegates, beyond what every reader of the
// format checks (format/verify.h): the rules of Berth's own files.
#pragma once

#include "base/failure.h"
#include "format/program_view.h"

namespace berth {

/// Checks every method of a file:
///   devices     a kernel is given tensors of the host alone, but for the copies, each of which goes between the sides
///               that its name says; what a delegate is given lives on its target_device
///   delegates   that Berth compiled ("berth.…"): the payload is a nested program that passes the checks of files and
///               of their memory plans; one method, without delegates, devices or data of its own; its inputs and
///               outputs are the call's, of equal type, sizes and order, brought by the caller; its constants are named
///               data of this file, of enough bytes; its one arena fits into the scratch that the call gives
///
/// InvalidProgram, or what the checks of the nested program say, with the first thing wrong and its place;
/// DelegateInvalidCompatibility for a nested program of a later version. REQUIRES: verify_program() accepted the file,
/// which lies at a multiple of 16.
Status check_delegates(const format::ProgramView& program);

/// The second of these alone, for files of any maker, and for every delegate of Berth's backends, called or not. What
/// other backends have for payloads is not looked at: only they can read it. Fails and REQUIRES as
/// check_delegates().
Status check_payloads(const format::ProgramView& program);

}  // namespace berth
