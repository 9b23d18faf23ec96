// berth compile: compiles a model to a program.
#include "compiler/compile.h"

#include <fmt/format.h>

#include <memory>

#include "base/output_file.h"
#include "compiler/targets/plugin_operators.h"
#include "compiler/targets/target.h"
#include "compiler/why_names.h"
#include "tools/auto_targets.h"
#include "tools/compile_report.h"
#include "tools/data_files.h"
#include "tools/input_shapes.h"
#include "tools/method_options.h"
#include "tools/names.h"
#include "tools/plugins.h"
#include "tools/program_file.h"
#include "tools/progress_bar.h"
#include "tools/reports.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

struct CompileCommand {
  std::vector<std::string> models;
  ir::MergeOptions merging;
  std::string output;
  SizeTexts sizes;
  std::vector<std::string> data;
  std::vector<std::string> plugins;
  std::vector<const Plugin*> more_plugins;
  MethodTexts of_methods;
  std::string costs;
  bool json = false;
  CompileOptions options;
};

Expected<std::string> run_compile(CompileCommand& command, std::vector<uint8_t>* program) {
  ImportOptions import;
  BERTH_TRY(parse_input_shapes(command.sizes, import));
  import.data_files = command.data;
  BERTH_ASSIGN_OR_RETURN(command.options.plugins, open_plugins(command.plugins, command.more_plugins));
  BERTH_ASSIGN_OR_RETURN(import.operators, plugin_operators(command.options.plugins));
  const Stopwatch watch;
  std::vector<ModelFile> models;
  for (const std::string& text : command.models) {
    BERTH_ASSIGN_OR_RETURN(ModelFile model, parse_model_file(text));
    BERTH_TRY(refuse_data_file(model.path));
    models.push_back(std::move(model));
  }
  BERTH_ASSIGN_OR_RETURN(ir::Module module, load_models(models, import, command.merging));
  if (!command.output.empty()) BERTH_TRY(keep_files(module.files, command.output, "--output " + command.output));
  BERTH_TRY(read_method_texts(command.of_methods, module, &command.options));
  BERTH_TRY(add_costs(command.costs, command.options.plugins, &command.options));
  CompileReport report;
  ProgressBar bar;
  if (program == nullptr && ProgressBar::is_wanted()) {
    command.options.progress = [&bar](const std::string& step, double done) { return bar.show(step, done); };
  }
  if (command.output.empty()) {
    BERTH_ASSIGN_OR_RETURN(*program, compile(std::move(module), command.options, &report));
  } else {
    BERTH_TRY(compile_to_file(std::move(module), command.options, command.output, &report));
  }
  report.total_ms = watch.seconds() * 1e3;
  return command.json ? compile_json(report).text() + "\n" : compile_text(command.output, report);
}

// "portable (the default), cpu, cuda:N, …"
std::string targets_help(const std::string& standard) {
  std::string text;
  for (const std::string& name : targets::target_names()) {
    text += (text.empty() ? "" : ", ") + name + (name == standard ? " (the default)" : "");
  }
  return text;
}

/// What stands behind the last ':', for names that contain none.
CLI::Validator one_of_after_method(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](std::string& text) {
        std::string name = text.substr(text.rfind(':') + 1);
        return CLI::IsMember(names)(name);
      },
      "");
}

void switch_off(CLI::App& command, const char* flag, bool& option, const char* help) {
  command.add_flag_callback(
      flag, [&option] { option = false; }, help);
}

// Where the model runs, and with what elements.
void add_placement_options(CLI::App& sub, CompileCommand& command) {
  MethodTexts& texts = command.of_methods;
  add_method_option(sub, "--target", texts.targets, "TARGETS",
                    "the targets, in order of preference: " + targets_help(command.options.target) +
                        "; several with commas, cuda:0,cpu; auto: the devices of this machine and cpu, by cost");
  add_plugins(sub, command.plugins);
  sub.add_option(
         "--spec", command.options.specs,
         "TARGET:KEY=VALUE: a compile spec of the delegates of this target, mine:0, or of all its indices, mine")
      ->allow_extra_args(false);
  sub.add_option("--cpu", command.options.cpu,
                 "the instruction set for which the cpu target packs weights; default: native, this machine's")
      ->check(CLI::IsMember(instruction_sets()));
  sub.add_option(
         "--precision", command.options.precision,
         "the element type of weights in the targets cpu and vulkan: f32 (the default: as the model has them), bf16 or "
         "f16, half as large; bf16 rounds what they are multiplied with too")
      ->check(CLI::IsMember(precisions()));
  sub.add_option("--activations", command.options.activations,
                 "what weights of 8 and 4 bits are multiplied with in the target cpu: float (the default), or int8: "
                 "rounded to 8 bits in blocks, which is faster")
      ->check(CLI::IsMember(activation_types()));
  add_method_option(sub, "--place", texts.place, "GLOB=DEVICE",
                    "run nodes there whose name, or whose result's name, matches; later ones win");
  add_method_switch(sub, "--split", texts.split, "one contiguous part of about equal work for each target");
  add_method_switch(sub, "--by-cost", texts.by_cost,
                    "each part runs on that of the targets where it is estimated to take less time, copies counted; "
                    "--why partition says the estimates");
  sub.add_option("--costs", command.costs,
                 "the file of costs that berth tune has measured, which implies --by-cost; none: estimates alone; "
                 "default: tune's own default, if the file is there");
  add_method_option(sub, "--device-io", texts.device_io, "NAME=DEVICE",
                    "this input or output is in the caller's memory on this device, so that it is not planned or "
                    "copied; also for cpu");
}

// What the model gets and keeps.
void add_model_options(CLI::App& sub, CompileCommand& command) {
  MethodTexts& texts = command.of_methods;
  add_input_shapes(sub, command.sizes);
  add_data(sub, command.data);
  sub.add_flag("--share-state", command.merging.share_state,
               "of several models, states of one name are one state; default: each model has its own");
  add_method_option(
      sub, "--state", texts.states, "INPUT=OUTPUT",
      "what this output is at the end of a call, this input is at the start of the next: a state in place, "
      "zero at first, instead of an input and an output");
}

// Where its values lie, and in which order it runs.
void add_memory_options(CLI::App& sub, CompileCommand& command) {
  MethodTexts& texts = command.of_methods;
  add_method_option(sub, "--bank", texts.banks, "NAME[=BYTES][@DEVICE][,slow|,far]",
                    "a piece of this device's memory, the host's by default, in order of preference; what does not fit "
                    "lies in the next. BYTES may end in K, M or G. What the device cannot read (far) holds values that "
                    "wait, and copies move them");
  add_method_option(sub, "--pin", texts.pins, "GLOB=BANK",
                    "values whose name matches lie in this bank; later ones win");
  add_method_option(sub, "--planner", texts.planners, "PLANNER",
                    "how offsets are chosen: naive, greedy, best (the default)")
      ->check(one_of_after_method(planner_names()));
  add_method_option(sub, "--alignment", texts.alignments, "BYTES",
                    "what values in the host's memory start at multiples of, a power of two; default: 16");
  add_method_switch(sub, "--no-reuse", texts.no_reuse,
                    "let no two tensors share bytes, to look for an error in the plan");
  add_method_switch(sub, "--no-inplace", texts.no_in_place, "compute no result in place of an input");
  add_method_option(sub, "--inplace", texts.in_place_operators, "[+]OPERATOR[=ARGUMENT[+ARGUMENT]]",
                    "compute only these in place, of these arguments; default: all that can work in place. With '+' "
                    "in front of each, these beside the default: of an operator of your own any tensor may be named");
  add_method_switch(sub, "--no-alias", texts.no_alias,
                    "copy views, slices and concatenations instead of sharing their bytes");
  add_method_switch(sub, "--no-reorder", texts.no_reorder, "run the nodes in the order of the model");
  add_method_option(
      sub, "--overlap", texts.overlap, "BYTES|N%",
      "run the nodes in an order in which devices work at the same time, by the costs as for --by-cost. 0 changes the "
      "order and spends no memory; 64K or 25% cuts delegates where devices meet, too, and may take so many bytes, or "
      "such "
      "a part, more than the least memory of the delegates as they are cut then");
}

// What goes into which file.
void add_file_options(CLI::App& sub, CompileCommand& command) {
  sub.add_option("--external-constants", command.options.external_constants,
                 "FILE.ptd, or GLOB=FILE.ptd: constants whose name matches lie in this data file instead of the "
                 "program; later ones win")
      ->allow_extra_args(false);
  sub.add_option("--constant-alignment", command.options.constant_alignment,
                 "what constants in the program's file start at multiples of, a power of two; default: 16");
  sub.add_option("--segment-alignment", command.options.segment_alignment,
                 "the same for segments of the program and its data files, such as 4096 to map them; default: 128");
}

// How the compiler works, and what it says.
void add_work_options(CLI::App& sub, CompileCommand& command) {
  switch_off(sub, "--no-fusion", command.options.fusion, "fuse no operators");
  sub.add_option("--time-limit", command.options.time_limit,
                 "the most seconds for planning; if it ends early, the report says truncated")
      ->check(above_zero());
  sub.add_option("--dump-ir", command.options.dump_ir, "write the IR to this folder after every pass that changed it");
  sub.add_option(
         "--why", command.options.why,
         "print decisions and their reasons: reuse, fusion, precision, the name of a pass (a wrong one lists them), or "
         "all")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(why_names()).description(""));
  sub.add_flag("--stack-traces", command.options.stack_traces,
               "each instruction names its node of the model, those of delegates too, for bench --profile");
  sub.add_flag("--verify-ir", command.options.verify_ir, "verify the IR after every pass");
}

}  // namespace

void add_compile(CLI::App& app, Session& session) {
  auto command = std::make_shared<CompileCommand>();
  CLI::App* sub = app.add_subcommand("compile", "Compile a model to an ExecuTorch program");
  sub->add_option("MODEL", command->models,
                  "the model: an " + model_extensions(" or ") +
                      " file. Several become one program: METHOD=MODEL calls the model's method so")
      ->required();
  sub->add_option("-o,--output", command->output, "the program to write")->required(session.program == nullptr);
  add_placement_options(*sub, *command);
  add_model_options(*sub, *command);
  add_memory_options(*sub, *command);
  add_file_options(*sub, *command);
  add_work_options(*sub, *command);
  sub->add_flag("--json", command->json, "one JSON object instead of text");
  sub->footer(
      "examples: berth compile model.onnx -o model.pte --input-shape x=1x3x224x224\n"
      "          berth compile prefill=a.onnx decode=b.onnx -o both.pte --target decode:cpu --no-inplace=prefill\n"
      "[METHOD:] before a value, and =METHOD behind a switch, say which method it is for; all without it");
  sub->callback([command, &session] {
    command->more_plugins = session.plugins;
    session.finish(run_compile(*command, session.program), command->output);
  });
}

}  // namespace berth::tool
