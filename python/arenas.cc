#include "python/arenas.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/math.h"
#include "python/casters.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

// A file may ask for any alignment; more than a page has no meaning here.
size_t usable_alignment(size_t alignment) {
  return alignment <= 4096 && is_power_of_two(alignment) ? alignment : kArenaAlignment;
}

// The caller's arrays may be parts of one.
void check_apart(const HostArenas::View& view, const char* method) {
  for (size_t i = 0; i < view.spans.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto &a = view.spans[j], &b = view.spans[i];
      const bool apart = a.empty() || b.empty() || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
      if (apart) continue;
      raise(Error::kInvalidArgument, std::string("method ") + method + ": arena " + std::to_string(i + 1),
            "has memory that arena " + std::to_string(j + 1) + " has, too");
    }
  }
}

}  // namespace

Arenas::Arenas(std::shared_ptr<LoadedProgram> program) : program_(std::move(program)), is_shared_(true) {
  Report report;
  Result<HostArenas> arenas = HostArenas::make(program_->program(), &report);
  if (!arenas.ok()) raise(arenas.error(), report, program_->place());
  shared_ = std::move(arenas).value();
}

Arenas::Arenas(std::shared_ptr<LoadedProgram> program, const nb::list& arrays) : program_(std::move(program)) {
  for (const nb::handle array : arrays) {
    const std::string place = "arena " + std::to_string(given_.size() + 1);
    is_given_.push_back(!array.is_none());
    given_.push_back(array.is_none() ? Borrowed() : Borrowed::take_writable(array, place));
    const Borrowed& memory = given_.back();
    if (!array.is_none() && (!memory.is_packed({}) || !memory.device().is_cpu())) {
      raise(Error::kInvalidArgument, place, "is not contiguous memory on the host");
    }
  }
}

HostArenas::View Arenas::view(const MethodMeta& meta) {
  if (is_shared_) return shared_.view(meta);
  HostArenas::View view;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const std::string place = std::string("method ") + meta.name() + ": arena " + std::to_string(i + 1);
    const Result<uint64_t> bytes = meta.memory_planned_buffer_size(i);
    const Result<Device> device = meta.memory_planned_buffer_device(i);
    if (!bytes.ok() || !device.ok()) raise(Error::kInvalidProgram, place, "has no size");
    if (!device->is_cpu()) raise(Error::kNotSupported, place, std::string("is on ") + to_text(*device).text);
    const size_t alignment = usable_alignment(meta.memory_planned_buffer_alignment(i));
    view.devices.push_back(*device);
    if (i >= given_.size() || !is_given_[i]) {
      Result<HostBuffer> taken = HostBuffer::make(*bytes, std::max(alignment, size_t{64}));
      if (!taken.ok()) raise(taken.error(), place, std::to_string(*bytes) + " bytes cannot be allocated");
      view.spans.push_back(taken_.emplace_back(std::move(*taken)).bytes());
      continue;
    }
    const Borrowed& memory = given_[i];
    // Where it follows the sizes, it may be large enough for those that will be given.
    if (memory.nbytes() < *bytes && !meta.memory_planned_buffer_follows_sizes(i)) {
      raise(Error::kInvalidArgument, place,
            "needs " + std::to_string(*bytes) + " bytes, was given " + std::to_string(memory.nbytes()));
    }
    if (reinterpret_cast<uintptr_t>(memory.data()) % alignment != 0) {
      raise(Error::kInvalidArgument, place,
            "begins at an address that is not a multiple of " + std::to_string(alignment));
    }
    view.spans.push_back({memory.data(), static_cast<size_t>(std::min<uint64_t>(*bytes, memory.nbytes()))});
  }
  check_apart(view, meta.name());
  return view;
}

InUseList Arenas::in_use(const HostArenas::View& view) const {
  if (is_shared_) return {in_use_};
  std::vector<const void*> addresses;
  for (const auto& span : view.spans) addresses.push_back(span.data());
  std::sort(addresses.begin(), addresses.end(), std::less<>());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  InUseList list = {in_use_};
  for (const void* address : addresses) list.push_back(in_use_at(address));
  return list;
}

void Arenas::check_loading(const std::string& place) const {
  if (!is_shared_ || !has_run_ || !has_states_) return;
  raise(Error::kInvalidState, place,
        "is loaded into arenas in which a method has run; methods that share state are loaded before the first runs");
}

uint64_t Arenas::bytes() const {
  uint64_t sum = 0;
  if (is_shared_) {
    const Result<uint64_t> all = HostArenas::bytes(program_->program());
    return all.ok() ? *all : 0;
  }
  for (const Borrowed& memory : given_) sum += memory.data() == nullptr ? 0 : memory.nbytes();
  for (const HostBuffer& memory : taken_) sum += memory.bytes().size();
  return sum;
}

void add_arenas(nb::module_& module) {
  nb::class_<Arenas>(module, "Arenas", "Memory for the arenas of a program's methods.")
      .def(nb::init<std::shared_ptr<LoadedProgram>>())
      .def(nb::init<std::shared_ptr<LoadedProgram>, const nb::list&>())
      .def_prop_ro("nbytes", &Arenas::bytes, "Bytes of all arenas together.");
}

}  // namespace berth::python
