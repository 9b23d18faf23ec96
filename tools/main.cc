// berth: the command-line tool. Each subcommand is a file beside this one.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "tools/command_line.h"
#include "tools/exit_code.h"

namespace berth::tool {
namespace {

// Output that could not be written, for example to a full disk, is an error.
int after_printing(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "berth: standard output: cannot be written: %s\n", std::strerror(errno));
  return exit_code == kDone ? kYourFault : exit_code;
}

}  // namespace
}  // namespace berth::tool

int main(int argc, char** argv) {
  try {
    return berth::tool::after_printing(berth::tool::run_command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("berth: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: %s\n", error.what());
  }
  return berth::tool::kOurFault;
}
