// A program file, loaded to run: what `run` and `bench` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"
#include "runtime/program.h"
#include "tools/npy.h"

namespace berth::tool {

struct LoadRequest {
  std::string program;
  std::string method;               // empty: "forward", or the only one
  std::vector<std::string> inputs;  // "X.npy" in order, or "NAME=X.npy"
  int threads = 1;
  bool full_verification = true;
  bool map = true;  // map the file; otherwise read it
};

/// A method with all that it needs to stay alive. Not movable: the parts hold addresses of each other.
struct LoadedMethod {
  std::unique_ptr<DataLoader> loader;
  std::unique_ptr<Program> program;
  std::unique_ptr<HostThreadPool> pool;
  std::unique_ptr<HostMethod> method;
  double seconds = 0;  // from opening the file to the method being ready
};

Expected<std::unique_ptr<LoadedMethod>> load_method(const LoadRequest& request);

/// The arrays for all inputs, in order: read from files, or made up from a fixed seed where none is given. Sizes and
/// types are checked when they are set.
Expected<std::vector<Array>> gather_inputs(const LoadRequest& request, Method& method);

/// Sets them all.
Status set_inputs(Method& method, std::vector<Array>& arrays);

/// The failure of the method's last call.
Failure failure_of(const LoadRequest& request, const Method& method);

}  // namespace berth::tool
