// Results of a delegate's call as scratch: until a result is made, its bytes are nobody's, and values of the nested
// program that are dead by then may lie in them (docs/decisions/0006-results-as-scratch.md).
//
// The planner sees one line of bytes: the results one after the other, each at a fixed place and alive from its making
// to the end, a wall behind each that is alive all the time, and then the scratch, as long as it takes:
//
//     bytes ^
//           |  T T T T T T T T    T is needed while R is made: it lies in the scratch
//           |  # # # # # # # #    the wall: nobody may lie half in the result and half in the scratch, which are far
//           |  A A B B . R R R    from each other when the program runs
//           +--------------------> time
//
// So whatever planner there is decides who lies where, in-place and concatenations included, and the height above the
// last wall is the scratch. Afterwards the line is cut into the arenas of the file.
#pragma once

#include <vector>

#include "compiler/emit/emit.h"
#include "compiler/emit/lifetimes.h"

namespace berth::emit {

/// Of each result of `call`, a node of the method that calls a delegate: whether the delegate may use its bytes before
/// it writes it. Not those in memory of the caller's, which may lie anywhere, at any time elsewhere; nor those that may
/// become parts of a concatenation, whose addresses are not as aligned as the scratch; nor what may become the next
/// value of state, which a run that fails should leave as it was.
std::vector<bool> lendable_results(const ir::Method& method, const ir::Node& call, const EmitOptions& options);

/// Fills Lifetimes::lent, from whether outputs are `lent`, by value.
void find_lent(const ir::Method& method, const std::vector<bool>& lent, Lifetimes* lifetimes);

/// Lays out the line: places of lent outputs become fixed, walls are added behind all other storages.
/// REQUIRES: there is one arena, if outputs are lent.
void lay_lent(Lifetimes* lifetimes);

/// Cuts the line: arena 1 is the scratch, arena 2 + k the bytes of output k; walls are gone, and nothing is fixed any
/// more. Does nothing when no output is lent.
void cut_lent(Lifetimes* lifetimes, plan::Plan* plan);

/// Whether a node makes `value` that calls a delegate of Berth's which was compiled before and has other values in the
/// bytes of this result until it writes it: then it is planned, and copied to where the caller wants it.
bool lent_by_payload(const ir::Module& module, const ir::Method& method, ir::ValueId value);

}  // namespace berth::emit
