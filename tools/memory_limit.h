// --max-memory: refuses a program that needs more memory, before allocating any.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/program.h"

namespace berth::tool {

/// Adds --max-memory, which sets `bytes`: a number of bytes, or of KiB, MiB or GiB with the suffix K, M or G.
void add_max_memory(CLI::App& command, uint64_t& bytes);

/// OutOfResources, with the number of bytes, if `methods` need more than `limit` bytes for their arenas (those of all
/// methods of the program if `shared`), inputs, outputs, and the other memory of their methods with `threads` threads.
/// Uses at most `limit` bytes itself. Memory that is mapped or read from the file does not count. Errors as
/// Program::memory_needed, with the place `path`.
Status check_memory(const Program& program, const std::string& path, const std::vector<std::string>& methods,
                    bool shared, int threads, uint64_t limit);

}  // namespace berth::tool
