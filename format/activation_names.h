// The activations of fused operators, by the names that stand in program files.
#pragma once

namespace berth {

/// In the order of portable::ActivationKind; format/operators.def says what each computes.
inline constexpr const char* kActivationNames[] = {"none",       "relu", "clamp",     "leaky_relu",
                                                   "sigmoid",    "tanh", "silu",      "hard_sigmoid",
                                                   "hard_swish", "gelu", "gelu_tanh", "elu"};

}  // namespace berth
