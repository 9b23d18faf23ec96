#include "tools/subcommand.h"

#include <algorithm>

#include "tools/option_values.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

using Add = void (*)(CLI::App& app, Session& session);

Add subcommand_named(const std::string& name) {
  if (name == "compile") return add_compile;
  if (name == "inspect") return add_inspect;
  if (name == "verify") return add_verify;
  if (name == "quantize") return add_quantize;
  return name == "replan" ? add_replan : nullptr;
}

/// Of options that are not there, the first: CLI11 names what is missing before what is too much.
std::string what_is_wrong(const CLI::App& app, const CLI::Error& error) {
  for (const std::string& unknown : app.remaining(true)) {
    if (unknown.size() > 2 && unknown.rfind('-', 0) == 0) {
      return "there is no option " + shortened(unknown.substr(0, unknown.find('=')));
    }
  }
  return shortened(error.what());
}

}  // namespace

Expected<SubcommandResult> run_subcommand(const std::string& name, const std::vector<std::string>& options,
                                          const std::vector<std::string>& files,
                                          const std::vector<const Plugin*>& plugins) {
  const Add add = subcommand_named(name);
  if (add == nullptr) return Failure{Error::kInvalidArgument, name, "is not a command that makes a text"};
  CLI::App app{"", "berth"};
  app.require_subcommand(1);  // one is found, others are not looked for: CLI11's search ends the process without memory
  Session session;
  SubcommandResult result;
  session.keeps = true;
  session.plugins = plugins;
  session.program = &result.program;
  add(app, session);
  refuse_empty_values(app);
  const CLI::App* command = app.get_subcommands([](CLI::App*) { return true; }).front();
  if (const std::string option = option_without_value(options, *command); !option.empty()) {
    return Failure{Error::kInvalidArgument, name, shortened(option) + ": expected a value"};
  }
  std::vector<std::string> reversed(files.rbegin(), files.rend());  // as CLI11 takes them
  reversed.push_back("--");
  reversed.insert(reversed.end(), options.rbegin(), options.rend());
  reversed.push_back(name);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return Failure{Error::kInvalidArgument, name, "there is no option help"};
  } catch (const CLI::ParseError& error) {
    return Failure{Error::kInvalidArgument, name, what_is_wrong(app, error)};
  }
  if (session.failure.has_value()) return *session.failure;
  result.text = std::move(session.text);
  return result;
}

}  // namespace berth::tool
