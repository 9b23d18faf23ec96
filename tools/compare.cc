// berth compare: runs two forms of a model on the same inputs and says how far their results are apart.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "tools/arrays.h"
#include "tools/differences.h"
#include "tools/input_shapes.h"
#include "tools/names.h"
#include "tools/runnable.h"
#include "tools/samples.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct CompareOptions {
  std::vector<std::string> forms;
  LoadRequest load;
  SizeTexts sizes;
  SampleRequest samples;
  bool by_position = false;
  bool layers = false;
  bool json = false;
  std::optional<double> max_error;
  std::optional<double> min_sqnr;
};

// An output or a value within, compared over all samples.
struct Compared {
  std::string name;
  std::string node;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  Difference difference;
};

struct Pair {
  std::unique_ptr<Runnable> first;
  std::unique_ptr<Runnable> second;
  std::vector<size_t> inputs;   // of the second, by the first's
  std::vector<size_t> outputs;  // likewise
};

bool has_default_names(const std::vector<std::string>& names, bool inputs) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != port_name("", inputs, i)) return false;
  }
  return true;
}

// Which of `second` each of `first` is: by name, or in order where one of the two files has no names.
Expected<std::vector<size_t>> matched(const CompareOptions& options, const std::vector<std::string>& first,
                                      const std::vector<std::string>& second, bool inputs) {
  std::vector<size_t> order(first.size());
  bool all = first.size() == second.size();
  for (size_t i = 0; i < first.size() && all; ++i) {
    const auto found = std::find(second.begin(), second.end(), first[i]);
    all = found != second.end();
    if (all) order[i] = static_cast<size_t>(found - second.begin());
  }
  const bool in_order = options.by_position || has_default_names(first, inputs) || has_default_names(second, inputs);
  if (first.size() == second.size() && (options.by_position || (!all && in_order))) {
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    return order;
  }
  if (all) return order;
  return Failure{Error::kInvalidArgument, options.forms[1],
                 fmt::format("has other {} than {}: {} instead of {}{}", inputs ? "inputs" : "outputs",
                             options.forms[0], shortened(fmt::format("{}", fmt::join(second, ", "))),
                             shortened(fmt::format("{}", fmt::join(first, ", "))),
                             first.size() == second.size() ? "; --by-position compares them in order" : "")};
}

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

Expected<Pair> open_both(const CompareOptions& options) {
  RunnableRequest request;
  request.load = options.load;
  request.values = options.layers;
  request.import.data_files = options.load.data;
  BERTH_TRY(parse_input_shapes(options.sizes, request.import));
  Pair pair;
  request.load.program = options.forms[0];
  BERTH_ASSIGN_OR_RETURN(pair.first, open_runnable(request));
  request.load.program = options.forms[1];
  BERTH_ASSIGN_OR_RETURN(pair.second, open_runnable(request));
  BERTH_ASSIGN_OR_RETURN(pair.inputs,
                         matched(options, names_of(pair.first->inputs()), names_of(pair.second->inputs()), true));
  BERTH_ASSIGN_OR_RETURN(pair.outputs, matched(options, pair.first->outputs(), pair.second->outputs(), false));
  return pair;
}

// What both take.
Expected<std::vector<Port>> common_inputs(const CompareOptions& options, const Pair& pair) {
  std::vector<Port> common = pair.first->inputs();
  for (size_t i = 0; i < common.size(); ++i) {
    const Port& other = pair.second->inputs()[pair.inputs[i]];
    const Failure differs{Error::kInvalidArgument, options.forms[1],
                          fmt::format("takes input {} as {}, {} as {}", printable(other.name), type_text(other),
                                      options.forms[0], type_text(common[i]))};
    if (common[i].dtype != other.dtype || common[i].upper.size() != other.upper.size()) return differs;
    for (size_t d = 0; d < other.upper.size(); ++d) {
      common[i].lower[d] = std::max(common[i].lower[d], other.lower[d]);
      common[i].upper[d] = std::min(common[i].upper[d], other.upper[d]);
      if (common[i].lower[d] > common[i].upper[d]) return differs;
    }
  }
  return common;
}

// What a fusion makes of `relu` is called relu_1: the name, a line and a number, since no name is given twice. The name
// without those; empty where `name` does not end so.
std::string without_number(const std::string& name) {
  const size_t line = name.find_last_not_of("0123456789");
  const bool numbered = line != std::string::npos && line > 0 && line + 1 < name.size() && name[line] == '_';
  return numbered ? name.substr(0, line) : "";
}

// For each of `theirs` that `ours` know, under its own name or what a fusion has made of it: which of ours it is. Where
// several could be one, none is.
std::map<std::string, std::string> known_to_both(const std::map<std::string, std::string>& ours,
                                                 const std::map<std::string, std::string>& theirs) {
  std::map<std::string, std::string> known;
  std::map<std::string, int> claims;
  for (const auto& [name, node] : theirs) {
    std::string is = name;
    while (!is.empty() && ours.count(is) == 0) is = without_number(is);
    if (is.empty() || (is != name && theirs.count(is) != 0)) continue;
    known[name] = is;
    ++claims[is];
  }
  for (auto entry = known.begin(); entry != known.end();) {
    entry = claims[entry->second] > 1 ? known.erase(entry) : std::next(entry);
  }
  return known;
}

class Comparison {
 public:
  Comparison(const CompareOptions& options, Pair pair) : options_(options), pair_(std::move(pair)) {
    for (const std::string& name : pair_.first->outputs()) {
      outputs_.emplace_back();
      outputs_.back().name = name;
    }
    if (!options.layers) return;
    const std::map<std::string, std::string> nodes = pair_.first->values();
    known_ = known_to_both(nodes, pair_.second->values());
    for (const auto& [theirs, name] : known_) {
      layers_[name].name = name;
      layers_[name].node = nodes.at(name);
    }
  }

  Status add(const Samples& samples, size_t sample) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<Array> inputs, samples.read(sample));
    std::vector<Array> others(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) others[pair_.inputs[i]] = inputs[i];
    std::map<std::string, Array> kept;
    const ValueSink keep = [&](const std::string& name, const Array& array) {
      if (layers_.count(name) != 0) kept.insert_or_assign(name, array);
    };
    const ValueSink compare = [&](const std::string& name, const Array& array) {
      const auto known = known_.find(name);
      const auto expected = known == known_.end() ? kept.end() : kept.find(known->second);
      if (expected == kept.end()) return;
      add_layer(layers_[known->second], expected->second, array);
      kept.erase(expected);
    };
    BERTH_ASSIGN_OR_RETURN(const std::vector<Array> first, pair_.first->run(inputs, options_.layers ? &keep : nullptr));
    BERTH_ASSIGN_OR_RETURN(const std::vector<Array> second,
                           pair_.second->run(others, options_.layers ? &compare : nullptr));
    for (size_t i = 0; i < first.size(); ++i) {
      const Array& other = second[pair_.outputs[i]];
      if (!Difference::comparable(first[i], other)) {
        return Failure{Error::kInvalidArgument, options_.forms[1],
                       fmt::format("gives output {} as {}, {} as {}", printable(outputs_[i].name),
                                   type_text(other.dtype, other.shape), options_.forms[0],
                                   type_text(first[i].dtype, first[i].shape))};
      }
      add_to(outputs_[i], first[i], other);
    }
    return Done{};
  }

  std::string text(const Samples& samples) const {
    std::string text =
        fmt::format("{} ({}) and {} ({}), {}\n", options_.forms[0], pair_.first->how(), options_.forms[1],
                    pair_.second->how(), counted(static_cast<int64_t>(samples.size()), "sample"));
    text += Difference::head() + "  output\n";
    for (const Compared& output : outputs_) text += line(output);
    if (!options_.layers) return text;
    const std::vector<Compared> layers = sorted_layers();
    if (layers.empty()) {
      return text + "\nno value within is known to both by name; delegates name theirs after compile --stack-traces\n";
    }
    text += "\n" + Difference::head() + "  value that both know by name, the worst first\n";
    for (const Compared& layer : layers) text += line(layer);
    if (!others_.empty()) {
      text += fmt::format("not compared: {} of another type or shape in the second\n",
                          counted(static_cast<int64_t>(others_.size()), "value"));
    }
    return text;
  }

  Json json(const Samples& samples) const {
    Json json = {{"first", options_.forms[0]}, {"second", options_.forms[1]}, {"samples", samples.size()}};
    json["outputs"] = Json::array();
    for (const Compared& output : outputs_) json["outputs"].push_back(json_of(output));
    if (options_.layers) {
      json["layers"] = Json::array();
      for (const Compared& layer : sorted_layers()) {
        json["layers"].push_back(json_of(layer));
        json["layers"].back()["node"] = layer.node;
      }
    }
    if (bounded()) json["within"] = !failure().has_value();
    return json;
  }

  // Of the first output that misses a bound.
  std::optional<Failure> failure() const {
    const auto missed = [&](const Compared& output, const std::string& what) {
      return Failure{Error::kInvalidArgument, "output " + printable(output.name), what};
    };
    for (const Compared& output : outputs_) {
      const double largest = output.difference.largest();
      const double sqnr = output.difference.sqnr();
      if (options_.max_error.has_value() && largest > *options_.max_error) {
        return missed(output,
                      fmt::format("differs by {:.6g}, more than --max-error {:.6g}", largest, *options_.max_error));
      }
      if (options_.min_sqnr.has_value() && sqnr < *options_.min_sqnr) {
        return missed(output,
                      fmt::format("has an SQNR of {:.2f} dB, less than --min-sqnr {:.6g}", sqnr, *options_.min_sqnr));
      }
    }
    return std::nullopt;
  }

 private:
  bool bounded() const { return options_.max_error.has_value() || options_.min_sqnr.has_value(); }

  static void add_to(Compared& compared, const Array& expected, const Array& actual) {
    compared.dtype = expected.dtype;
    compared.shape = expected.shape;
    compared.difference.add(expected, actual);
  }

  // A value that a fusion has made an integer, or has given another shape, is another value.
  void add_layer(Compared& layer, const Array& expected, const Array& actual) {
    if (Difference::comparable(expected, actual)) return add_to(layer, expected, actual);
    others_.insert(layer.name);
  }

  std::vector<Compared> sorted_layers() const {
    std::vector<Compared> sorted;
    for (const auto& [name, layer] : layers_) {
      if (layer.difference.arrays() > 0) sorted.push_back(layer);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Compared& a, const Compared& b) { return a.difference.sqnr() < b.difference.sqnr(); });
    return sorted;
  }

  static std::string line(const Compared& compared) {
    const std::string node =
        compared.node.empty() || compared.node == compared.name ? "" : "  " + printable(compared.node);
    return fmt::format("{}  {} {}{}\n", compared.difference.text(), printable(compared.name),
                       type_text(compared.dtype, compared.shape), node);
  }

  static Json json_of(const Compared& compared) {
    Json json = {{"name", compared.name}, {"dtype", to_string(compared.dtype)}, {"shape", compared.shape}};
    json.update(compared.difference.json());
    return json;
  }

  const CompareOptions& options_;
  Pair pair_;
  std::vector<Compared> outputs_;
  std::map<std::string, std::string> known_;  // the first's name of a value by the second's
  std::map<std::string, Compared> layers_;
  std::set<std::string> others_;  // layers of other types or shapes in the second
};

struct CompareResult {
  std::string text;
  std::optional<Failure> failure;
};

Expected<CompareResult> run_compare(const CompareOptions& options) {
  BERTH_ASSIGN_OR_RETURN(Pair pair, open_both(options));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Port> inputs, common_inputs(options, pair));
  BERTH_ASSIGN_OR_RETURN(const Samples samples, Samples::find(options.samples, inputs));
  Comparison comparison(options, std::move(pair));
  for (size_t i = 0; i < samples.size(); ++i) BERTH_TRY(comparison.add(samples, i));
  return CompareResult{options.json ? comparison.json(samples).text() + "\n" : comparison.text(samples),
                       comparison.failure()};
}

}  // namespace

void add_compare(CLI::App& app, Session& session) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Run two forms of a model on the same inputs and compare");
  command
      ->add_option("FIRST SECOND", options->forms,
                   "what is right, and what is compared with it: programs, which run, or models, which the compiler "
                   "evaluates")
      ->required()
      ->expected(2);
  command->add_option("--method", options->load.method, "the method of both; default: forward, or the only one");
  add_samples(*command, options->samples);
  add_input_shapes(*command, options->sizes);
  command->add_flag("--by-position", options->by_position, "inputs and outputs are the same in order, not by name");
  command->add_flag("--layers", options->layers,
                    "each value that both know by name as well, the worst first; programs know those in delegates "
                    "after compile --stack-traces");
  command->add_option("--max-error", options->max_error, "fail if an output differs by more")->check(not_negative());
  command->add_option("--min-sqnr", options->min_sqnr, "fail if an output has less signal to noise, in dB");
  command
      ->add_option("--threads", options->load.threads, "of programs: the number of threads, including the calling one")
      ->check(CLI::Range(1, HostThreadPool::kMaxThreads));
  add_load_options(*command, options->load);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "examples: berth compare model.onnx model.pte --inputs samples --min-sqnr 30\n"
      "          berth compare model.onnx model.pte --runs 10 --layers");
  command->callback([options, &session] {
    const auto result = run_compare(*options);
    if (!result.ok()) return session.finish(result.error());
    session.finish(result->text);
    if (result->failure.has_value()) session.exit_code = report(*result->failure);
  });
}

}  // namespace berth::tool
