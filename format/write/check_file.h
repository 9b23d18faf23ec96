// All checks of a program file at once, for who has a heap: the compiler on what it emitted, the tool on what it is
// given.
#pragma once

#include "base/failure.h"
#include "format/verify_plan.h"

namespace berth::format {

/// `report` as the compiler says it; the place gets "program: " in front.
Failure to_failure(const Report& report);

/// verify_program() and, for each method, verify_plan(). The facts of all methods together: views were inferred when
/// they were for one of them; the numbers are sums.
Expected<PlanFacts> check_program(const ProgramView& program);

/// The same for a file in memory; its address must be a multiple of kProgramAlignment.
Expected<PlanFacts> check_file(Span<const uint8_t> file);

}  // namespace berth::format
