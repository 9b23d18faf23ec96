// berth quantize: makes a program on integers of 8 bits of a model of f32 and samples of its inputs.
#include "compiler/quantize/quantize.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/output_file.h"
#include "compiler/compile.h"
#include "compiler/ir/print.h"
#include "tools/arrays.h"
#include "tools/compiled_run.h"
#include "tools/data_files.h"
#include "tools/input_shapes.h"
#include "tools/load_method.h"
#include "tools/reports.h"
#include "tools/samples.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct QuantizeCommand {
  std::string model;
  std::string output;
  std::string method;
  SizeTexts sizes;
  std::vector<std::string> data;
  SampleRequest samples;
  std::string ranges = "minmax";
  std::string activations = "u8";
  quantize::Options options;
  CompileOptions compile;
  int threads = 1;
  bool json = false;
};

Expected<std::string> method_of(const QuantizeCommand& command, const ir::Module& module) {
  const std::string wanted = command.method.empty() ? "forward" : command.method;
  if (module.find_method(wanted) != nullptr) return wanted;
  if (command.method.empty() && module.methods.size() == 1) return module.methods[0].name;
  std::string names;
  for (const ir::Method& method : module.methods) names += (names.empty() ? "" : ", ") + method.name;
  return Failure{Error::kInvalidArgument, command.model,
                 command.method.empty() ? "has several methods; choose one with --method: " + names
                                        : "has no method " + printable(command.method) + "; it has: " + names};
}

Expected<std::vector<Port>> ports_of(const QuantizeCommand& command, const ir::Module& module,
                                     const ir::Method& method) {
  std::vector<Port> ports;
  for (ir::ValueId id : method.body.inputs) {
    const ir::TensorType* type = method.value(id).tensor();
    if (type == nullptr || !type->is_contiguous()) {
      return Failure{
          Error::kNotSupported, command.model,
          "input " + printable(method.value(id).name) + " is not a row-major tensor, and only those are fed"};
    }
    Port port{method.value(id).name, type->dtype, {}, {}};
    for (ir::Dim dim : type->shape) {
      port.lower.push_back(module.symbols.lower(dim));
      port.upper.push_back(module.symbols.upper(dim));
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

const char* state_name(quantize::State state) {
  switch (state) {
    case quantize::State::kInteger: return "8 bits";
    case quantize::State::kKept: return "kept";
    case quantize::State::kSensitive: return "sensitive";
  }
  return "";
}

Json number_or_null(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

std::string sqnr_text(double sqnr) {
  if (std::isfinite(sqnr)) return fmt::format("{:.2f}", sqnr);
  return sqnr > 0 ? "equal" : "none";
}

Json quantized_json(const quantize::Report& report, size_t samples) {
  Json layers = Json::array();
  for (const quantize::LayerReport& layer : report.layers) {
    Json one = {{"name", layer.name}, {"operator", layer.op}, {"state", state_name(layer.state)}};
    one["weight_bytes"] = layer.weight_bytes;
    if (layer.state == quantize::State::kInteger) {
      one["scale"] = layer.input.scale;
      one["zero_point"] = layer.input.zero_point;
      one["sqnr_db"] = number_or_null(layer.sqnr);
    }
    if (layer.alone.has_value()) {
      one["alone"] = {{"largest", number_or_null(layer.alone->largest)},
                      {"sqnr_db", number_or_null(layer.alone->sqnr)}};
    }
    layers.push_back(std::move(one));
  }
  return {{"samples", samples},
          {"layers", layers},
          {"rounded_values", report.rounded_values},
          {"largest", number_or_null(report.error.largest)},
          {"sqnr_db", number_or_null(report.error.sqnr)},
          {"bytes_before", report.bytes_before},
          {"bytes_after", report.bytes_after}};
}

std::string quantized_text(const QuantizeCommand& command, const quantize::Report& report, size_t samples) {
  std::string text =
      fmt::format("{:>10} {:>11} {:>5} {:>9} {:>9}  layer\n", "", "scale", "zero", "SQNR dB", "alone dB");
  int64_t integers = 0;
  for (const quantize::LayerReport& layer : report.layers) {
    const bool integer = layer.state == quantize::State::kInteger;
    integers += integer ? 1 : 0;
    text += fmt::format("{:>10} {:>11} {:>5} {:>9} {:>9}  {} {} {}\n", state_name(layer.state),
                        integer ? fmt::format("{:.5g}", layer.input.scale) : "",
                        integer ? std::to_string(layer.input.zero_point) : "", integer ? sqnr_text(layer.sqnr) : "",
                        layer.alone.has_value() ? sqnr_text(layer.alone->sqnr) : "", printable(layer.name), layer.op,
                        bytes_text(layer.weight_bytes));
  }
  return text + fmt::format(
                    "{}: {} of {} in 8 bits, {} rounded, constants {} instead of {}; outputs {} dB, largest error "
                    "{:.4g} on {}\n",
                    command.output, integers, counted(static_cast<int64_t>(report.layers.size()), "layer"),
                    counted(static_cast<int64_t>(report.rounded_values), "value"), bytes_text(report.bytes_after),
                    bytes_text(report.bytes_before), sqnr_text(report.error.sqnr), report.error.largest,
                    counted(static_cast<int64_t>(std::min(samples, command.options.measured)), "sample"));
}

Status write_ir(const ir::Module& module, const std::string& path) {
  ir::PrintOptions options;
  options.files = false;
  const std::string text = ir::print(module, options);
  return write_whole_file(path, [&](OutputFile& file) { return file.write(text.data(), text.size()); });
}

// `program` gets the program where no output is named.
Expected<std::string> run_quantize(QuantizeCommand& command, std::vector<uint8_t>* program) {
  ImportOptions import;
  import.data_files = command.data;
  BERTH_TRY(parse_input_shapes(command.sizes, import));
  BERTH_ASSIGN_OR_RETURN(ir::Module module, load_model(command.model, import));
  BERTH_ASSIGN_OR_RETURN(const std::string method, method_of(command, module));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Port> ports, ports_of(command, module, *module.find_method(method)));
  if (command.samples.folder.empty() && command.samples.random == 0) {
    return Failure{Error::kInvalidArgument, command.model,
                   "needs samples: --calibrate DIR, or --samples-random N to try it on random numbers"};
  }
  BERTH_ASSIGN_OR_RETURN(const Samples found, Samples::find(command.samples, ports));
  std::vector<std::string> read = module.files;
  for (const std::string& file : found.files()) read.push_back(file);
  if (!command.output.empty()) BERTH_TRY(keep_files(read, command.output, "--output " + command.output));
  quantize::Samples samples;
  samples.count = found.size();
  samples.read = [&](size_t i) -> Expected<quantize::Arrays> {
    BERTH_ASSIGN_OR_RETURN(const std::vector<Array> arrays, found.read(i));
    quantize::Arrays out;
    for (const Array& array : arrays) out.push_back(evaluated(array, {}));
    return out;
  };
  command.options.prepare = [&](const ir::Module& one, const std::string& name) {
    return compiled(one, name, command.threads);
  };
  if (command.ranges == "percentile") command.options.method = quantize::Method::kPercentile;
  if (command.ranges == "entropy") command.options.method = quantize::Method::kEntropy;
  if (command.activations == "i8") command.options.activations = DType::kI8;
  BERTH_ASSIGN_OR_RETURN(const quantize::Report report, quantize::quantize(module, method, samples, command.options));
  if (!report.within) {
    return Failure{Error::kInvalidArgument, command.model,
                   "misses the bound with all layers in f32; nothing was written"};
  }
  Json json = quantized_json(report, samples.count);
  const bool as_text = command.output.size() > 3 && command.output.substr(command.output.size() - 3) == ".ir";
  CompileReport made;
  if (as_text) {
    BERTH_TRY(write_ir(module, command.output));
  } else if (command.output.empty()) {
    BERTH_ASSIGN_OR_RETURN(*program, compile(std::move(module), command.compile, &made));
  } else {
    BERTH_TRY(compile_to_file(std::move(module), command.compile, command.output, &made));
  }
  if (!as_text) json["compile"] = compile_json(made);
  return command.json ? json.text() + "\n" : quantized_text(command, report, samples.count);
}

}  // namespace

void add_quantize(CLI::App& app, Session& session) {
  auto command = std::make_shared<QuantizeCommand>();
  command->samples.random = 0;
  CLI::App* sub = app.add_subcommand("quantize", "Compile a model to a program that computes on 8-bit integers");
  sub->add_option("MODEL", command->model, "the model, of f32: an " + model_extensions(" or ") + " file")->required();
  sub->add_option("-o,--output", command->output, "the program to write, or with the extension .ir the model as text")
      ->required(session.program == nullptr);
  sub->add_option("--calibrate", command->samples.folder,
                  "a folder of samples: a folder for each with X.npy for each input X; or, of a model with one input, "
                  "an .npy file for each");
  sub->add_option("--samples-random", command->samples.random, "without samples: so many random ones, to try it")
      ->check(CLI::Range(1, 1'000'000));
  sub->add_option("--seed", command->samples.seed, "of the random samples; default: 0");
  sub->add_option("--method", command->method, "the method to quantise; default: forward, or the only one");
  add_input_shapes(*sub, command->sizes);
  add_data(*sub, command->data);
  sub->add_option("--ranges", command->ranges,
                  "minmax (the default), percentile or entropy: which part of the numbers of an activation its 8 bits "
                  "stand for")
      ->check(CLI::IsMember({"minmax", "percentile", "entropy"}));
  sub->add_option("--percentile", command->options.percentile,
                  "of --ranges percentile: the share of the numbers that is kept; default: 99.99")
      ->check(CLI::Range(50.0, 100.0));
  sub->add_option("--activations", command->activations, "u8 (the default) or i8")->check(CLI::IsMember({"u8", "i8"}));
  sub->add_flag_callback(
      "--no-bias-correction", [command] { command->options.bias_correction = false; },
      "leave the mean error of each channel as it is");
  sub->add_option("--keep", command->options.keep, "layers of this name or pattern stay in f32")
      ->allow_extra_args(false);
  sub->add_option("--max-error", command->options.max_error,
                  "let the layers that do the most to the outputs stay in f32, until no output differs by more")
      ->check(not_negative());
  sub->add_option("--min-sqnr", command->options.min_sqnr, "the same, until outputs have this signal to noise, in dB");
  sub->add_flag("--sensitivity", command->options.sensitivity,
                "measure what each layer alone does to the outputs, also without a bound");
  sub->add_option("--target", command->compile.target,
                  "the targets of the program, in order of preference, as for compile");
  sub->add_option("--cpu", command->compile.cpu,
                  "the instruction set for which the cpu target packs weights; default: native, this machine's")
      ->check(CLI::IsMember(instruction_sets()));
  sub->add_option("--threads", command->threads, "the number of threads that run the samples")
      ->check(CLI::Range(1, HostThreadPool::kMaxThreads));
  sub->add_flag("--json", command->json, "one JSON object instead of text");
  sub->footer(
      "examples: berth quantize model.onnx --calibrate samples -o model.pte --target cpu\n"
      "          berth quantize model.onnx --calibrate samples -o model.pte --min-sqnr 25 --keep 'head*'");
  sub->callback([command, &session] { session.finish(run_quantize(*command, session.program), command->output); });
}

}  // namespace berth::tool
