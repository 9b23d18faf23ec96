// State that is computed where it lies: no copy at the end of a run, and no bytes for the new value.
#pragma once

#include "compiler/ir/module.h"

namespace berth::emit {

struct Lifetimes;

/// For each write-back whose value a node of the body makes: when nothing reads the old contents after that node, and
/// the node itself only as its kernel allows (in_place.h), the value is put into the state's storage, which takes all
/// its names along; the write-back goes, a Successor stands for it. The value's own storage is left without a value.
///
/// REQUIRES: every read is in `last_reads`, that of outputs and write-backs included.
void compute_state_in_place(const ir::Module& module, const ir::Method& method, Lifetimes* lifetimes);

/// Takes storages away that hold no value, no state, no copy and no scratch; the others are renumbered.
void drop_empty_storages(Lifetimes* lifetimes);

}  // namespace berth::emit
