#include "tools/method_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "compiler/ir/text.h"

namespace berth::tool {
namespace {

constexpr char kAll[] = "true";  // what CLI11 gives for a switch without a value

struct Text {
  std::string method;  // empty: all
  std::string value;
};

/// What a text looks like whose first ':' is not behind the name of a method of the program.
enum class Colon { kOfValue, kOfMethod };

using Rule = Colon (*)(std::string_view text, size_t colon);

Colon always_of_method(std::string_view, size_t) { return Colon::kOfMethod; }
Colon always_of_value(std::string_view, size_t) { return Colon::kOfValue; }

/// cuda:0 and cuda:0,cpu are devices.
Colon of_target(std::string_view text, size_t colon) {
  const std::string_view rest = text.substr(colon + 1, text.find(',', colon) - colon - 1);
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), is_digit) ? Colon::kOfValue : Colon::kOfMethod;
}

/// sram=1K@cuda:0 has one in its device.
Colon of_bank(std::string_view text, size_t colon) {
  return text.find_first_of("=@,") < colon ? Colon::kOfValue : Colon::kOfMethod;
}

/// aten::add has two.
Colon of_operator(std::string_view text, size_t colon) {
  return text.substr(colon).substr(0, 2) == "::" ? Colon::kOfValue : Colon::kOfMethod;
}

class Reader {
 public:
  Reader(const ir::Module& module, CompileOptions* options) : module_(module), options_(*options) {}

  Status target(const std::vector<std::string>& texts) {
    return one("--target", texts, of_target, options_.target, &MethodSettings::target,
               [](const std::string& value) { return Expected<std::string>(value); });
  }

  Status planner(const std::vector<std::string>& texts) {
    return one("--planner", texts, always_of_method, options_.planner, &MethodSettings::planner,
               [](const std::string& value) -> Expected<Planner> {
                 if (value == "naive") return Planner::kNaive;
                 if (value == "greedy") return Planner::kGreedy;
                 if (value == "best") return Planner::kBest;
                 return Failure{Error::kInvalidArgument, "--planner " + ir::quoted(value), "is not a planner"};
               });
  }

  Status alignment(const std::vector<std::string>& texts) {
    return one("--alignment", texts, always_of_method, options_.alignment, &MethodSettings::alignment,
               [](const std::string& value) -> Expected<int64_t> {
                 int64_t number = 0;
                 const char* end = value.data() + value.size();
                 const auto read = std::from_chars(value.data(), end, number);
                 if (read.ec == std::errc() && read.ptr == end) return number;
                 return Failure{Error::kInvalidArgument, "--alignment " + ir::quoted(value),
                                "expected a power of two from 16 to 2^30"};
               });
  }

  /// Whether it can be meant, the compiler says.
  Status overlap(const std::vector<std::string>& texts) {
    return one("--overlap", texts, always_of_method, options_.overlap, &MethodSettings::overlap,
               [](const std::string& value) { return Expected<std::string>(value); });
  }

  /// Lists that add to those for all methods.
  Status more(const char* option, const std::vector<std::string>& texts, std::vector<std::string>& for_all,
              std::vector<std::string> MethodSettings::*of_method) {
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(Text own, split(option, text, always_of_value));
      (own.method.empty() ? for_all : options_.methods[own.method].*of_method).push_back(std::move(own.value));
    }
    return Done{};
  }

  Status device_io(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(Text own, split("--device-io", text, always_of_value));
      const bool whole = own.method.empty() || is_port(text.substr(0, text.rfind('=')));
      (whole ? options_.device_io : options_.methods[own.method].device_io).push_back(whole ? text : own.value);
    }
    return Done{};
  }

  /// Lists that take the place of those for all methods.
  Status other(const char* option, const std::vector<std::string>& texts, Rule rule, std::vector<std::string>& for_all,
               std::optional<std::vector<std::string>> MethodSettings::*of_method) {
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(Text own, split(option, text, rule));
      if (own.method.empty()) {
        for_all.push_back(std::move(own.value));
        continue;
      }
      auto& list = options_.methods[own.method].*of_method;
      if (!list.has_value()) list.emplace();
      list->push_back(std::move(own.value));
    }
    return Done{};
  }

  template <typename T>
  Status turn(const char* option, const std::vector<std::string>& texts, T to, T& for_all,
              std::optional<T> MethodSettings::*of_method) {
    for (const std::string& text : texts) {
      if (text == kAll) {
        for_all = to;
      } else if (module_.find_method(text) != nullptr) {
        options_.methods[text].*of_method = to;
      } else {
        return unknown(std::string(option) + "=" + text, text);
      }
    }
    return Done{};
  }

 private:
  template <typename T, typename Parse>
  Status one(const char* option, const std::vector<std::string>& texts, Rule rule, T& for_all,
             std::optional<T> MethodSettings::*of_method, Parse parse) {
    bool given = false;
    for (const std::string& text : texts) {
      BERTH_ASSIGN_OR_RETURN(const Text own, split(option, text, rule));
      BERTH_ASSIGN_OR_RETURN(T value, parse(own.value));
      const bool twice = own.method.empty() ? given : (options_.methods[own.method].*of_method).has_value();
      if (twice) {
        return Failure{Error::kInvalidArgument, std::string(option) + " " + ir::quoted(text),
                       own.method.empty() ? "is given twice; METHOD:VALUE is for one method"
                                          : "is given twice for method " + own.method};
      }
      if (own.method.empty()) {
        for_all = std::move(value);
        given = true;
      } else {
        options_.methods[own.method].*of_method = std::move(value);
      }
    }
    return Done{};
  }

  /// The longest name counts, as names may contain ':'.
  Expected<Text> split(const char* option, const std::string& text, Rule rule) const {
    const ir::Method* found = nullptr;
    for (const ir::Method& method : module_.methods) {
      const size_t size = method.name.size();
      const bool before = text.size() > size + 1 && text.compare(0, size, method.name) == 0 && text[size] == ':' &&
                          text[size + 1] != ':';
      const bool is_device = before && rule == of_target && of_target(text, size) == Colon::kOfValue;
      if (before && !is_device && (found == nullptr || found->name.size() < size)) found = &method;
    }
    if (found != nullptr) return Text{found->name, text.substr(found->name.size() + 1)};
    const size_t colon = text.find(':');
    if (colon == std::string::npos || rule(text, colon) == Colon::kOfValue) return Text{"", text};
    return unknown(std::string(option) + " " + ir::quoted(text), text.substr(0, colon),
                   rule == of_target ? "; a device has a number behind its type, cuda:0" : "");
  }

  Failure unknown(const std::string& place, const std::string& name, const char* advice = "") const {
    std::string names;
    for (const ir::Method& method : module_.methods) names += (names.empty() ? "" : ", ") + method.name;
    return Failure{Error::kInvalidArgument, place,
                   ir::quoted(name) + " is not a method of the program; it has: " + names + advice};
  }

  bool is_port(const std::string& name) const {
    for (const ir::Method& method : module_.methods) {
      for (const ir::ValueId input : method.body.inputs) {
        if (method.value(input).name == name) return true;
      }
      for (size_t k = 0; k < method.body.outputs.size(); ++k) {
        if (method.output_name(k) == name) return true;
      }
    }
    return false;
  }

  const ir::Module& module_;
  CompileOptions& options_;
};

}  // namespace

CLI::Option* add_method_option(CLI::App& command, const std::string& name, std::vector<std::string>& texts,
                               const std::string& value, const std::string& help) {
  return command.add_option(name, texts, help)->type_name("[METHOD:]" + value)->allow_extra_args(false);
}

void add_method_switch(CLI::App& command, const std::string& name, std::vector<std::string>& texts,
                       const std::string& help) {
  command.add_flag(name, texts, help + "; =METHOD: of this method");
}

std::vector<std::string> planner_names() { return {"naive", "greedy", "best"}; }

Status read_method_texts(const MethodTexts& texts, const ir::Module& module, CompileOptions* options) {
  Reader read(module, options);
  BERTH_TRY(read.target(texts.targets));
  BERTH_TRY(read.more("--place", texts.place, options->place, &MethodSettings::place));
  BERTH_TRY(read.device_io(texts.device_io));
  BERTH_TRY(read.other("--bank", texts.banks, of_bank, options->banks, &MethodSettings::banks));
  BERTH_TRY(read.more("--pin", texts.pins, options->pins, &MethodSettings::pins));
  BERTH_TRY(read.more("--state", texts.states, options->states, &MethodSettings::states));
  BERTH_TRY(read.planner(texts.planners));
  BERTH_TRY(read.alignment(texts.alignments));
  BERTH_TRY(read.overlap(texts.overlap));
  BERTH_TRY(read.other("--inplace", texts.in_place_operators, of_operator, options->in_place_operators,
                       &MethodSettings::in_place_operators));
  BERTH_TRY(read.turn("--split", texts.split, true, options->split, &MethodSettings::split));
  BERTH_TRY(read.turn("--by-cost", texts.by_cost, true, options->by_cost, &MethodSettings::by_cost));
  BERTH_TRY(read.turn("--no-reuse", texts.no_reuse, Planner::kNaive, options->planner, &MethodSettings::planner));
  BERTH_TRY(read.turn("--no-inplace", texts.no_in_place, false, options->in_place, &MethodSettings::in_place));
  BERTH_TRY(read.turn("--no-alias", texts.no_alias, false, options->alias, &MethodSettings::alias));
  return read.turn("--no-reorder", texts.no_reorder, false, options->reorder, &MethodSettings::reorder);
}

}  // namespace berth::tool
