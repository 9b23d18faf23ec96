// state_ports: makes states of what a model takes in and gives back, for models that are called chunk by chunk.
//
//     method forward(%chunk: f32[512], %h: f32[128]) {      state @h: f32[128]
//       …                                                   method forward(%chunk: f32[512]) {
//       return %speech, %hn                            →      %h: f32[128] = berth::state_read() @h
//     }                                                       …
//                                                             berth::state_write(%hn) @h
//                                                             return %speech
//                                                           }
//
// A state is zero at first, keeps its bytes from call to call, and is neither copied nor passed by the caller.
#pragma once

#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::passes {

/// What `output` is at the end of a call, `input` is at the start of the next.
struct StatePorts {
  std::string input;
  std::string output;
  std::string method;  // the method that has both; empty: each method that has, and they share the state
};

/// "INPUT=OUTPUT"; of several '=' the first counts. InvalidArgument when a name is empty.
Expected<StatePorts> parse_state_ports(const std::string& text);

/// The state is called as the input is, with a suffix where a state has that name already. InvalidArgument, with the
/// names that there are, when no method has both ports or one has only one of them; when they differ in type, between
/// methods too; and for a port that is named twice. NotSupported for sizes that change.
Status make_states(ir::Module& module, const std::vector<StatePorts>& pairs);

}  // namespace berth::passes
