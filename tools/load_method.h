// Loading a program to run it, for subcommands that run programs.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "runtime/device_memory_buffer.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/host/thread_pool.h"
#include "runtime/program.h"
#include "tools/data_files.h"
#include "tools/machine.h"

namespace berth::tool {

struct LoadRequest {
  std::string program;              // its path; with `bytes` what failures call it
  Span<const uint8_t> bytes;        // if not empty: the program itself, which outlives what is loaded
  std::string method;               // empty: "forward", or the only one
  std::vector<std::string> inputs;  // "X.npy" in order, or "NAME=X.npy"
  int threads = 1;
  bool full_verification = true;
  bool map = true;                        // map the file; otherwise read it
  std::vector<std::string> data;          // data files (.ptd); empty: the one beside the program, if it needs one
  std::vector<std::string> more_methods;  // loaded as well, on the same arenas: LoadedMethod::others
  uint64_t max_memory = UINT64_MAX;       // bytes, see memory_limit.h
  std::vector<std::string> plugins;       // shared libraries
  std::vector<std::string> devices;       // "cuda:0=sim:0": where the file says the first, the second is used
  std::string pipeline_cache;             // a file that keeps kernels of devices with Vulkan; empty: none
  EventObserver* events = nullptr;        // told of the load, and of copies and memory of devices from then on
};

/// A method and everything that it refers to. Not movable, because its members refer to each other.
struct LoadedMethod {
  Machine machine;
  PluginKernels kernels;
  std::unique_ptr<DataLoader> loader;
  DataFiles data;
  std::unique_ptr<ObservedDevices> devices;  // null: no observer
  std::unique_ptr<Program> program;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<HostArenas> arenas;  // of all methods, when more than one is loaded
  std::unique_ptr<HostMethod> method;
  std::map<std::string, std::unique_ptr<HostMethod>> others;
  std::vector<DeviceMemoryBuffer> inputs;  // those that are on devices and not planned
  double seconds = 0;                      // from opening the file until the method is ready
};

/// Adds --map-device, --plugin, --data, --max-memory and --pipeline-cache.
void add_load_options(CLI::App& command, LoadRequest& request);

Expected<std::unique_ptr<LoadedMethod>> load_method(const LoadRequest& request);

/// The failure of the method's last call.
Failure failure_of(const LoadRequest& request, const Method& method);

}  // namespace berth::tool
