// What the subcommands of `berth` share. Each subcommand is one file with one function that adds it to the command
// line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "plugin/load_plugin.h"
#include "tools/exit_code.h"

namespace berth::tool {

/// What a subcommand's callback is given, and where it leaves what it has done.
struct Session {
  int exit_code = kDone;
  /// Whether text and failure stay here (tools/subcommand.h) instead of being printed.
  bool keeps = false;
  std::string text;
  std::optional<Failure> failure;
  /// Beside those of --plugin.
  std::vector<const Plugin*> plugins;
  /// Of `compile`, `quantize` and `replan`: what gets the program if no --output is given; null: one has to be.
  std::vector<uint8_t>* program = nullptr;

  /// The text goes to standard error where `output`, which the command has written, is the standard output.
  void finish(const Expected<std::string>& result, const std::string& output = "");
};

void add_compile(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_inspect(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);
void add_replan(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_quantize(CLI::App& app, Session& session);
void add_compare(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);
void add_devices(CLI::App& app, Session& session);
void add_tune(CLI::App& app, Session& session);

/// Prints "berth: place: message" to standard error and gives the exit code that `failure` deserves.
int report(const Failure& failure);

/// "6.02 MiB", "512 B".
std::string bytes_text(int64_t bytes);

/// "1.23 ms", "45.0 us", "2.10 s".
std::string duration_text(double seconds);

/// `text`, or its beginning and end when it is over 4 KiB: arguments and names may be of any length.
std::string shortened(const std::string& text);

/// `name`, shortened, in quotes with escapes if it has control characters: names from files may hold anything, and stay
/// on their line.
std::string printable(const std::string& name);

/// "1 node", "2 nodes"; `plural` where it is not `singular` and an s.
std::string counted(int64_t count, std::string_view singular, std::string_view plural = "");

/// What numbers on the command line are held to: CLI11's own say so with every digit of the largest double.
CLI::Validator above_zero();
CLI::Validator not_negative();

/// The most memory that this process had resident so far, in KiB. Not what it was born with: getrusage would count the
/// process that started it.
int64_t peak_rss_kb();
/// The memory that it has resident now, in KiB.
int64_t resident_kb();

/// The whole of a text or binary file, or of what comes through a pipe, of at most `limit` bytes.
Expected<std::string> read_text(const std::string& path, size_t limit);

}  // namespace berth::tool
