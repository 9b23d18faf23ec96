#include "format/verify.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/result.h"
#include "format/verify_parts.h"

namespace berth::format {
namespace internal {

Spot Spot::in_method(size_t i) const {
  Spot spot = *this;
  spot.method = static_cast<int>(i);
  spot.list = nullptr;
  spot.index = -1;
  return spot;
}

Spot Spot::at(const char* name, int64_t i) const {
  Spot spot = *this;
  spot.list = name;
  spot.index = i;
  return spot;
}

Error Spot::fail(Error code, const char* message, ...) const {
  char sentence[sizeof report->message];
  va_list args;
  va_start(args, message);
  std::vsnprintf(sentence, sizeof sentence, message, args);
  va_end(args);

  char inside[64] = "";
  if (list != nullptr && index >= 0) std::snprintf(inside, sizeof inside, "%s[%" PRId64 "]", list, index);
  if (list != nullptr && index < 0) std::snprintf(inside, sizeof inside, "%s", list);
  char place[sizeof report->place];
  if (method >= 0) {
    std::snprintf(place, sizeof place, "methods[%d]%s%s", method, list != nullptr ? "." : "", inside);
  } else {
    std::snprintf(place, sizeof place, "%s", inside);
  }
  return format::fail(report, code, place, "%s", sentence);
}

Error Spot::spend(uint64_t items) const {
  if (items > *budget) {
    *budget = 0;
    return fail(Error::kOutOfResources, "the lists name more items than a file of this size can hold");
  }
  *budget -= items;
  return Error::kOk;
}

Error verify_tables(const Spot& spot) {
  const Span<const uint8_t> bytes = spot.program->flatbuffer();
  flatbuffers::Verifier::Options options;
  // The deepest path is root, method, chain, frame list, frame.
  options.max_depth = 16;
  // A table and the reference to it take 8 bytes; only files that refer to a table many times have more tables.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (fb::VerifyProgramBuffer(verifier)) return Error::kOk;
  return spot.at("program").fail(
      Error::kInvalidProgram,
      "an offset, a length or an alignment inside the FlatBuffer is wrong; the file is damaged or truncated");
}

}  // namespace internal

namespace {

using internal::Spot;

Error verify_method_names(const Spot& spot) {
  const uint32_t count = length(spot.program->root().execution_plan());
  if (count > kMaxMethods) {
    return spot.at("methods").fail(Error::kOutOfResources, "%u methods, the limit is %u", count, kMaxMethods);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Spot here = spot.at("methods", i);
    const auto* name = spot.program->method(i).name();
    if (text(name)[0] == '\0') return here.fail(Error::kInvalidProgram, "the method has no name");
    if (name->size() > kMaxNameLength) {
      return here.fail(Error::kOutOfResources, "the name has %u characters, the limit is %u", name->size(),
                       kMaxNameLength);
    }
    for (uint32_t j = 0; j < i; ++j) {
      if (std::strcmp(name->c_str(), spot.program->method(j).name()->c_str()) == 0) {
        return here.fail(Error::kInvalidProgram, "methods %u and %u are both called \"%.60s\"", j, i, name->c_str());
      }
    }
  }
  return Error::kOk;
}

}  // namespace

Error verify_program(const ProgramView& program, Report* report) {
  uint64_t budget = program.layout().program_size;
  Spot spot;
  spot.program = &program;
  spot.report = report;
  spot.budget = &budget;
  BERTH_RETURN_IF_ERROR(internal::verify_tables(spot));
  if (program.root().execution_plan() == nullptr) {
    return spot.at("methods").fail(Error::kInvalidProgram, "the program has no list of methods");
  }
  BERTH_RETURN_IF_ERROR(internal::verify_segments(spot));
  BERTH_RETURN_IF_ERROR(verify_method_names(spot));
  for (size_t i = 0; i < program.method_count(); ++i) {
    BERTH_RETURN_IF_ERROR(internal::verify_method(spot.in_method(i), program.method(i)));
  }
  return internal::verify_meta(spot);
}

Error verify_meta(const ProgramView& program, Report* report) {
  uint64_t budget = program.layout().program_size;
  Spot spot;
  spot.program = &program;
  spot.report = report;
  spot.budget = &budget;
  return internal::verify_meta(spot);
}

Error verify_program(Span<const uint8_t> file, Report* report) {
  ProgramView program;
  BERTH_RETURN_IF_ERROR(ProgramView::open(file, &program, report));
  return verify_program(program, report);
}

}  // namespace berth::format
