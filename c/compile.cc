// Compiling, and what `berth` says about files.
#include "c/blob.h"
#include "c/machine.h"
#include "c/source.h"
#include "tools/subcommand.h"

namespace berth::c {
namespace {

// Gives a blob to the caller at last, when nothing can fail any more.
class Result {
 public:
  explicit Result(berth_blob** target) : target_(target) {}

  template <typename Content>
  void make(Content&& content) {
    if (target_ != nullptr) blob_ = std::make_unique<berth_blob>(std::forward<Content>(content));
  }
  void give() {
    if (blob_ == nullptr) return;
    add_open(blob_.get());
    *target_ = blob_.release();
  }

 private:
  berth_blob** target_;
  std::unique_ptr<berth_blob> blob_;
};

Status add_options(const berth_option* options, size_t count, std::vector<std::string>* arguments) {
  if (count > 0 && options == nullptr) return is_null("berth_option");
  for (size_t i = 0; i < count; ++i) {
    const std::string name = options[i].name == nullptr ? "" : options[i].name;
    if (name.empty() || name[0] == '-' || name.find('=') != std::string::npos) {
      return Failure{Error::kInvalidArgument, "options[" + std::to_string(i) + "]",
                     "expected the name of an option without dashes and '=', found '" + name.substr(0, 64) + "'"};
    }
    if (name == "output" || name == "plugin") {
      return Failure{Error::kInvalidArgument, "options[" + std::to_string(i) + "]",
                     name + " is an argument of its own in C"};
    }
    arguments->push_back("--" + name + (options[i].value == nullptr ? "" : "=" + std::string(options[i].value)));
  }
  return Done{};
}

// Sources as files, in the order of their list.
class Sources {
 public:
  Status add(const berth_source* source) {
    BERTH_ASSIGN_OR_RETURN(SourcePath path, SourcePath::make(source));
    paths_.push_back(std::move(path));
    return Done{};
  }
  const std::string& path(size_t index) const { return paths_[index].path(); }
  Failure readable(Failure failure) const {
    failure.place = readable(std::move(failure.place));
    failure.message = readable(std::move(failure.message));
    return failure;
  }
  std::string readable(std::string text) const {
    for (const SourcePath& path : paths_) text = path.without_path(std::move(text));
    return text;
  }

 private:
  std::vector<SourcePath> paths_;
};

Expected<tool::SubcommandResult> run(const char* command, const Sources& sources,
                                     const std::vector<std::string>& options, const std::vector<std::string>& files,
                                     const std::vector<const Plugin*>& plugins) {
  auto result = tool::run_subcommand(command, options, files, plugins);
  if (!result.ok()) return sources.readable(result.error());
  result->text = sources.readable(std::move(result->text));
  return result;
}

// `inspect` and `verify`: one file, one text.
Status describe(const char* command, const berth_source* file, const berth_option* options, size_t num_options,
                berth_blob** text) {
  Sources sources;
  BERTH_TRY(sources.add(file));
  std::vector<std::string> arguments;
  BERTH_TRY(add_options(options, num_options, &arguments));
  BERTH_ASSIGN_OR_RETURN(const auto result, run(command, sources, arguments, {sources.path(0)}, {}));
  Result blob(text);
  blob.make(result.text);
  blob.give();
  return Done{};
}

Status give(const char* output, tool::SubcommandResult result, berth_blob** program, berth_blob** report) {
  Result made(output == nullptr ? program : nullptr);
  Result told(report);
  made.make(std::move(result.program));
  told.make(result.text);
  made.give();
  told.give();
  return Done{};
}

Status add_models(const berth_source* models, size_t count, Sources* sources, std::vector<std::string>* files) {
  if (models == nullptr || count == 0) return is_null("models");
  for (size_t i = 0; i < count; ++i) {
    const berth_source* const model = entry(models, i);
    BERTH_TRY(sources->add(model));
    const char* const method = model->size >= BERTH_SIZE_UP_TO(berth_source, method) ? model->method : nullptr;
    files->push_back((method == nullptr ? "" : std::string(method) + "=") + sources->path(i));
  }
  return Done{};
}

Status compile(const berth_source* models, size_t num_models, const berth_compile_options& options,
               berth_blob** program, berth_blob** report) {
  if (options.output == nullptr && program == nullptr) return is_null("program");
  BERTH_TRY(check_if_given(options.machine, Handle::Kind::kMachine));
  Sources sources;
  std::vector<std::string> files;
  BERTH_TRY(add_models(models, num_models, &sources, &files));
  std::vector<std::string> arguments;
  BERTH_TRY(add_options(options.options, options.num_options, &arguments));
  if (report != nullptr) arguments.push_back("--json");
  if (options.output != nullptr) arguments.push_back("--output=" + std::string(options.output));
  BERTH_ASSIGN_OR_RETURN(auto result,
                         run("compile", sources, arguments, files,
                             options.machine == nullptr ? std::vector<const Plugin*>() : options.machine->plugins));
  return give(options.output, std::move(result), program, report);
}

Status replan(const berth_source* file, const char* output, berth_blob** program, berth_blob** report) {
  if (output == nullptr && program == nullptr) return is_null("program");
  Sources sources;
  BERTH_TRY(sources.add(file));
  std::vector<std::string> arguments;
  if (report != nullptr) arguments.push_back("--json");
  if (output != nullptr) arguments.push_back("--output=" + std::string(output));
  BERTH_ASSIGN_OR_RETURN(auto result, run("replan", sources, arguments, {sources.path(0)}, {}));
  return give(output, std::move(result), program, report);
}

}  // namespace
}  // namespace berth::c

using namespace berth;  // NOLINT(google-build-using-namespace): the functions of C stand in no namespace

berth_bytes berth_blob_bytes(const berth_blob* blob) {
  if (!c::check(blob, c::Handle::Kind::kBlob).ok()) return {nullptr, 0};
  return {blob->bytes.data(), blob->size};
}

int32_t berth_blob_close(berth_blob* blob, berth_error* error) {
  if (blob == nullptr) return BERTH_OK;
  return c::guarded(error, [&]() -> Status {
    BERTH_TRY(c::remove_open(blob, c::Handle::Kind::kBlob));
    delete blob;
    return Done{};
  });
}

int32_t berth_compile(const berth_source* models, size_t num_models, const berth_compile_options* given,
                      berth_blob** program, berth_blob** report, berth_error* error) {
  return c::guarded(error, [&]() -> Status {
    BERTH_ASSIGN_OR_RETURN(const berth_compile_options options, c::known_part(given, "berth_compile_options"));
    return c::compile(models, num_models, options, program, report);
  });
}

int32_t berth_inspect(const berth_source* file, const berth_option* options, size_t num_options, berth_blob** text,
                      berth_error* error) {
  return c::guarded(error, [&]() -> Status {
    if (text == nullptr) return c::is_null("text");
    return c::describe("inspect", file, options, num_options, text);
  });
}

int32_t berth_verify(const berth_source* file, const berth_option* options, size_t num_options, berth_blob** text,
                     berth_error* error) {
  return c::guarded(error, [&] { return c::describe("verify", file, options, num_options, text); });
}

int32_t berth_replan(const berth_source* file, const char* output, berth_blob** program, berth_blob** report,
                     berth_error* error) {
  return c::guarded(error, [&] { return c::replan(file, output, program, report); });
}
