#include "tools/option_values.h"

#include <algorithm>

namespace berth::tool {
namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

// The option's name without the '=' behind it; empty where a value follows, or there is no '='.
std::string cut_off(const std::string& argument) {
  const bool is_cut = argument.size() > 3 && argument.rfind("--", 0) == 0 && argument.find('=') == argument.size() - 1;
  return is_cut ? argument.substr(0, argument.size() - 1) : "";
}

// Whether `argument` names an option that takes a value. CLI11's own search ends the process without memory.
bool names_value(const CLI::App& command, const std::string& argument) {
  if (argument.rfind("--", 0) != 0) return false;
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), argument.substr(2)) != names.end()) return takes_value(*option);
  }
  return false;
}

}  // namespace

void refuse_empty_values(CLI::App& app) {
  const auto check = [](std::string& value) {
    return std::string(value.empty() ? "expected a value, found \"\"" : "");
  };
  const CLI::Validator not_empty(check, "");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (takes_value(*option)) option->check(not_empty);
    }
  }
}

std::string option_without_value(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (const std::string option = cut_off(argument); !option.empty()) return option;
  }
  return "";
}

std::string option_without_value(const std::vector<std::string>& arguments, const CLI::App& command) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (const std::string option = cut_off(argument); !option.empty()) return option;
    if (names_value(command, argument)) return argument;
  }
  return "";
}

}  // namespace berth::tool
