// A CUDA runtime on the host that does everything as late as it may: the work of a stream runs when it is waited for,
// or earlier, by chance. So what relies on work that is not waited for reads wrong bytes:
//
//   freed memory is poisoned when the free comes to its turn, and a small block's address is not used again; new memory
//   is not zero
//   a copy from pinned memory reads it when the copy runs; other host memory is read by the call
//   what a stream records for a graph is not run; a graph runs as one piece of its stream's work
//
// What a driver leaves undefined ends the process with a sentence: a copy whose device memory is not there when it
// runs, a wait for a stream that is recorded, a wait for the device while a graph is instantiated (which crashes driver
// 580), the launch of a graph that was destroyed. Kernels are loops on the host (kernels/launch.h), queued like any
// other work; what cudaLaunchKernel takes is counted and not run, as there is no code for a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::cuda::fake {

/// Ends the process with `what` unless it is true.
void require(bool truth, const char* what);
/// Whether these bytes are allocated on a device now.
bool is_device_memory(const void* memory, size_t bytes);

/// The same of pinned memory of the host.
bool is_pinned_memory(const void* memory, size_t bytes);

/// Starts anew, with as many devices as the environment variable BERTH_FAKE_DEVICES says, or one. `seed` decides when
/// other streams go on by themselves during calls; 0: never.
/// REQUIRES: no streams, events, graphs or memory are left.
void reset(uint32_t seed);

/// The n-th call from now on that may fail for want of memory or a broken device fails, and none after it. -1: none.
void fail_call(int64_t n);
/// For the libraries of this folder: whether this call of one is the one that fails.
bool this_call_fails();
/// Whether the call of fail_call() was reached.
bool has_failed();

/// The thread's last error, as a call of the application leaves it.
void leave_error();

/// Allocations, streams, events and graphs that were not given back, and the device's allocations among them.
int64_t live();
int64_t live_on_devices();
/// The same, with nothing run before.
int64_t taken_on_devices();
/// Since reset().
struct Counts {
  int64_t launches = 0;  // of kernels, graphs' not counted
  int64_t recorded = 0;  // kernels that went into graphs
  int64_t graphs = 0;    // launches of graphs
  int64_t waits = 0;     // of the host for a whole device
};
Counts counts();

}  // namespace berth::cuda::fake
