// The generated code of program.fbs and meta.fbs, namespace berth::fb. Include this, not the generated files.
//
// Its accessors trust the bytes: use them on a program that verify_program() accepted. Absent vectors, tables and
// strings read as null.
#pragma once

// The generated code asserts what the caller has already checked; in a release build nothing remains of it.
#include "format/meta_generated.h"
#include "format/program_generated.h"
