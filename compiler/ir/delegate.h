// What the compiler knows of a delegate by its backend and compile specs: the device that it computes on, and whether
// its calls may do more than compute their results.
#pragma once

#include <string_view>

#include "base/delegate_specs.h"
#include "base/device.h"
#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// `text` as a device, "cuda:0". The failure, at `place`, lists the types that there are.
Expected<Device> parse_device(std::string_view text, const std::string& place);

/// Where the delegate computes, by the rule of base/target_device.h: its inputs and outputs live there. InvalidArgument
/// when its compile specs do not agree on a device.
Expected<Device> delegate_device(const Delegate& delegate);

/// What it asks of the program around it (base/delegate_specs.h).
DelegateSpecs delegate_specs(const Delegate& delegate);

/// Whether `node` may do more than compute its results: it writes state; it is an operator of one's own that says so;
/// it calls a delegate that was compiled elsewhere for a backend of which nothing is known (base/backend_facts.h) and
/// does not say that it is pure, or keeps state; or a node in its regions does. Such nodes are never dropped, not even
/// if nothing reads their results, and never change places with each other. REQUIRES: the node is of the method, and
/// the method of the module.
bool may_have_effects(const Module& module, const Method& method, const Node& node);

}  // namespace berth::ir
