#include "python/program.h"

#include <nanobind/stl/unique_ptr.h>

#include <cstring>

#include "base/output_file.h"
#include "kernels/portable/portable.h"
#include "python/arenas.h"
#include "python/casters.h"
#include "python/errors.h"
#include "python/plugins.h"
#include "tools/program_file.h"
#include "tools/reports.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

Device parse_device_or_raise(const std::string& text) {
  const Result<Device> device = parse_device(text.data(), text.size());
  if (!device.ok()) {
    raise(Error::kInvalidArgument, "device '" + text + "'",
          std::string("expected a type and an index, such as cuda:0; the types are ") + device_type_names());
  }
  return *device;
}

}  // namespace

void LoadedProgram::load(const LoadRequest& request) {
  machine_ = std::make_unique<tool::Machine>();
  check(machine_->add_plugins(request.plugins));
  kernels_ = value_or_raise(PluginKernels::make(request.plugins));
  loader_ = std::make_unique<BufferLoader>(bytes_);
  Report report;
  LoadOptions options;
  options.verification = request.full_verification ? Verification::kFull : Verification::kMinimal;
  options.report = &report;
  options.registry = &machine_->registry();
  options.backends = machine_->backends();
  std::vector<DeviceMapping> mappings;
  for (const auto& [from, to] : request.devices) {
    mappings.push_back({parse_device_or_raise(from), parse_device_or_raise(to), nullptr});
  }
  options.devices = Span<const DeviceMapping>(mappings.data(), mappings.size());
  options.external = &data_;
  const KernelTable tables[] = {kernels_.table(), portable::kernels()};
  auto program = Program::load(*loader_, tables, options);
  if (!program.ok()) {
    const Failure failure{program.error(), place_ + (report.place[0] == '\0' ? "" : std::string(": ") + report.place),
                          report.code == Error::kOk ? to_string(program.error()) : report.message};
    throw Raised(has_path_ ? tool::if_no_program(place_, failure) : failure);
  }
  program_ = std::make_unique<Program>(std::move(program).value());
  check(data_.open(*program_, has_path_ ? place_ : "", request.data));
}

std::unique_ptr<LoadedProgram> LoadedProgram::open(const std::string& path, const LoadRequest& request) {
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->place_ = path;
  loaded->has_path_ = true;
  loaded->file_ = value_or_raise(MappedFile::open(path));
  loaded->bytes_ = loaded->file_->bytes();
  loaded->load(request);
  return loaded;
}

std::unique_ptr<LoadedProgram> LoadedProgram::adopt(std::vector<uint8_t> bytes, const LoadRequest& request,
                                                    const std::string& place) {
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->place_ = place;
  loaded->own_ = std::move(bytes);
  loaded->bytes_ = loaded->own_;
  loaded->load(request);
  return loaded;
}

std::unique_ptr<LoadedProgram> LoadedProgram::borrow(nb::handle object, const LoadRequest& request) {
  const std::string place = "program bytes";
  std::unique_ptr<LoadedProgram> loaded(new LoadedProgram);
  if (PyObject_GetBuffer(object.ptr(), &loaded->buffer_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
  loaded->has_buffer_ = true;
  const auto* data = static_cast<const uint8_t*>(loaded->buffer_.buf);
  loaded->bytes_ = {data, static_cast<size_t>(loaded->buffer_.len)};
  // What may be written could change after it was verified.
  if (loaded->buffer_.readonly == 0 || reinterpret_cast<uintptr_t>(data) % kArenaAlignment != 0) {
    return adopt({loaded->bytes_.begin(), loaded->bytes_.end()}, request, place);
  }
  loaded->place_ = place;
  loaded->load(request);
  return loaded;
}

LoadedProgram::~LoadedProgram() {
  if (!has_buffer_) return;
  program_ = nullptr;
  const nb::gil_scoped_acquire lock;
  PyBuffer_Release(&buffer_);
}

LoadRequest load_request(const nb::dict& options) {
  LoadRequest request;
  for (const auto& [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "plugins") request.plugins = plugins_of(value);
    if (name == "data") request.data = nb::cast<std::vector<std::string>>(value);
    if (name == "devices") request.devices = nb::cast<std::vector<std::pair<std::string, std::string>>>(value);
    if (name == "full_verification") request.full_verification = nb::cast<bool>(value);
  }
  return request;
}

nb::object from_json(const std::string& text) {
  return nb::module_::import_("json").attr("loads")(nb::bytes(text.data(), text.size()));
}

namespace {

std::unique_ptr<LoadedProgram> load_path(const std::string& path, const nb::dict& options) {
  const LoadRequest request = load_request(options);
  const nb::gil_scoped_release unlocked;
  return LoadedProgram::open(path, request);
}

std::unique_ptr<LoadedProgram> load_bytes(nb::handle object, const nb::dict& options) {
  return LoadedProgram::borrow(object, load_request(options));
}

// Of each method, as `berth inspect --json` says it.
nb::object methods_of(const LoadedProgram& loaded) {
  const format::ProgramView view = loaded.program().view();
  Json methods = Json::array();
  for (size_t m = 0; m < view.method_count(); ++m) methods.push_back(tool::method_json(view, m));
  return from_json(methods.text());
}

nb::list names_of(const LoadedProgram& loaded) {
  nb::list names;
  for (size_t i = 0; i < loaded.program().num_methods(); ++i) names.append(loaded.program().method_name(i));
  return names;
}

void save(const LoadedProgram& loaded, const std::string& path) {
  const nb::gil_scoped_release unlocked;
  check(write_whole_file(path,
                         [&](OutputFile& file) { return file.write(loaded.bytes().data(), loaded.bytes().size()); }));
}

std::string page_of(const LoadedProgram& loaded, const LoadedProgram* other, const std::vector<std::string>& names) {
  const nb::gil_scoped_release unlocked;
  std::vector<format::ProgramView> views = {loaded.program().view()};
  if (other != nullptr) views.push_back(other->program().view());
  return tool::report_html(views, names);
}

// `read`: the files that the page is made of.
void write_page(const std::string& page, const std::vector<std::string>& read, const std::string& path) {
  const nb::gil_scoped_release unlocked;
  check(keep_files(read, path, "output " + path));
  check(write_whole_file(path, [&](OutputFile& file) { return file.write(page.data(), page.size()); }));
}

}  // namespace

void add_program(nb::module_& module) {
  nb::class_<LoadedProgram>(module, "Program")
      .def_prop_ro("place", &LoadedProgram::place)
      .def("names", &names_of)
      .def("methods", &methods_of)
      .def("save", &save)
      .def("page", &page_of, nb::arg("other").none(), nb::arg("names"))
      .def("bytes", [](const LoadedProgram& loaded) {
        return nb::bytes(reinterpret_cast<const char*>(loaded.bytes().data()), loaded.bytes().size());
      });
  module.def("load_path", &load_path);
  module.def("load_bytes", &load_bytes);
  module.def("write_page", &write_page);
  add_arenas(module);
}

}  // namespace berth::python
