// --max-memory: a program that wants more is refused before it gets any.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/program.h"

namespace berth::tool {

/// Adds --max-memory; `bytes` becomes what it says: a number of bytes, or of KiB, MiB or GiB with K, M or G behind it.
void add_max_memory(CLI::App& command, uint64_t& bytes);

/// OutOfResources, with the number that is needed, when the arenas of `methods` (those of all methods of the program
/// when they are `shared`), what they take beside these with so
/// many threads, and their inputs and outputs come to more than `limit` bytes. Takes no more than that to find out.
/// What is mapped or read from the file is not counted. Errors as Program::memory_needed, under `path`.
Status check_memory(const Program& program, const std::string& path, const std::vector<std::string>& methods,
                    bool shared, int threads, uint64_t limit);

}  // namespace berth::tool
