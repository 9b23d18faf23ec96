// Options of `berth compile` that may be for one method alone: --target decode:cpu, --no-inplace=decode.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace berth::tool {

/// As they were given. "VALUE" is for all methods, "METHOD:VALUE" for one; of switches, "true" and "METHOD".
struct MethodTexts {
  std::vector<std::string> targets;
  std::vector<std::string> place;
  std::vector<std::string> device_io;
  std::vector<std::string> banks;
  std::vector<std::string> pins;
  std::vector<std::string> states;
  std::vector<std::string> planners;
  std::vector<std::string> alignments;
  std::vector<std::string> in_place_operators;
  std::vector<std::string> split;
  std::vector<std::string> by_cost;
  std::vector<std::string> no_reuse;
  std::vector<std::string> no_in_place;
  std::vector<std::string> no_alias;
  std::vector<std::string> no_reorder;
  std::vector<std::string> overlap;
};

/// Adds a list option whose values may name a method; `value` is what help calls them.
CLI::Option* add_method_option(CLI::App& command, const std::string& name, std::vector<std::string>& texts,
                               const std::string& value, const std::string& help);
/// Adds a switch that may name a method: --name, --name=METHOD.
void add_method_switch(CLI::App& command, const std::string& name, std::vector<std::string>& texts,
                       const std::string& help);

/// What --planner may be told.
std::vector<std::string> planner_names();

/// Writes them to `options`. What stands before a ':' is a method if the module has one of this name; in a target, if
/// no number follows (cuda:0 is a device); of --device-io, if no input or output has the whole name. InvalidArgument
/// for a name that can only be a method's and is not one, with those that there are; for a target, planner or alignment
/// that is given twice; for a planner that does not exist, and for an alignment that is not a number.
Status read_method_texts(const MethodTexts& texts, const ir::Module& module, CompileOptions* options);

}  // namespace berth::tool
