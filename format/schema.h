// The generated code of program.fbs and meta.fbs, namespace berth::fb. Include this header instead of the generated
// files.
//
// Its accessors do not check anything: use them only if verify_program() accepted the file. Absent vectors, tables and
// strings are null.
#pragma once

// The assertions in the generated code repeat what callers have checked; release builds compile them away.
#include "format/meta_generated.h"
#include "format/program_generated.h"
