#include "backends/cuda/fake/fake_runtime.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "backends/cuda/queue.h"

using Work = std::function<void()>;

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<std::vector<Work>> work;
};
struct CUstream_st {
  std::deque<Work> queue;
  uint64_t put = 0;
  uint64_t done = 0;
  std::unique_ptr<CUgraph_st> recording;
};
struct CUevent_st {
  CUstream_st* stream = nullptr;
  uint64_t at = 0;  // of the stream's work
};

namespace berth::cuda::fake {

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "fake CUDA runtime: %s\n", what);
  std::abort();
}

namespace {

using Block = std::map<char*, size_t>;

struct Runtime {
  std::recursive_mutex mutex;
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;
  std::set<CUgraph_st*> graphs;
  std::set<CUgraphExec_st*> execs;
  Block device, pinned;
  // To the next reset, so that no new one gets the address:
  std::vector<void*> freed;  // small blocks
  std::vector<std::unique_ptr<CUstream_st>> destroyed;
  std::mt19937 random;
  bool by_chance = false;
  int64_t calls_to_failure = -1;
  bool failed = false;
  Counts counts;
  std::atomic<int> instantiating{0};
};

Runtime& runtime() {
  static Runtime& all = *new Runtime;
  return all;
}

using Lock = std::lock_guard<std::recursive_mutex>;

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
// Two devices have no pools of memory (device/cuda_allocator.cc).
int device_total() {
  const char* text = std::getenv("BERTH_FAKE_DEVICES");
  return text == nullptr ? 1 : std::atoi(text);
}

void run_until(CUstream_st* stream, uint64_t end) {
  while (stream->done < end) {
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    ++stream->done;
    work();
  }
}

// The stream of calls without one: each thread has its own.
CUstream_st* own_stream() {
  thread_local struct Own {
    CUstream_st stream;
    Own() { runtime().streams.insert(&stream); }
    ~Own() {
      const Lock lock(runtime().mutex);
      run_until(&stream, stream.put);
      runtime().streams.erase(&stream);
    }
  } own;
  return &own.stream;
}

CUstream_st* stream_of(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamPerThread ? own_stream() : stream;
}

void queue_work(CUstream_st* stream, Work work) {
  if (stream->recording != nullptr) return stream->recording->work.push_back(std::move(work));
  stream->queue.push_back(std::move(work));
  ++stream->put;
}

// Some of the streams' work, by chance.
void go_on() {
  Runtime& r = runtime();
  if (!r.by_chance || r.random() % 3 != 0) return;
  for (CUstream_st* stream : r.streams) {
    const uint64_t left = stream->put - stream->done;
    if (left > 0 && r.random() % 2 == 0) run_until(stream, stream->done + r.random() % (left + 1));
  }
}

// Whether this call is the one that fails.
bool fails() {
  go_on();
  Runtime& r = runtime();
  if (r.calls_to_failure < 0 || r.calls_to_failure-- > 0) return false;
  return r.failed = true;
}

bool lies_in(const Block& blocks, const void* address, size_t bytes) {
  auto* const begin = static_cast<char*>(const_cast<void*>(address));
  auto block = blocks.upper_bound(begin);
  if (block == blocks.begin()) return false;
  --block;
  return begin + bytes <= block->first + block->second;
}

// Only the beginning of large blocks, which no test fills: pages that are never touched take no memory.
void poison(void* memory, int byte, size_t bytes) {
  constexpr size_t kMost = size_t{1} << 20;
  std::memset(memory, byte, bytes < kMost ? bytes : kMost);
}

void take(Block* blocks, void** memory, size_t bytes) {
  const size_t whole = (bytes + 255) / 256 * 256;
  *memory = std::aligned_alloc(256, whole);
  poison(*memory, 0xcd, whole);
  (*blocks)[static_cast<char*>(*memory)] = bytes;
}

void give_back(Block* blocks, void* memory) {
  const auto block = blocks->find(static_cast<char*>(memory));
  require(block != blocks->end(), "what is freed is not there");
  poison(memory, 0xee, block->second);
  constexpr size_t kSmall = size_t{64} << 10;
  if (block->second <= kSmall) {
    runtime().freed.push_back(memory);
  } else {
    std::free(memory);
  }
  blocks->erase(block);
}

void wait_for(CUstream_st* stream, uint64_t end) {
  require(stream->recording == nullptr, "a stream that is recorded is waited for");
  run_until(stream, end);
}

void defer(void* stream, Work loop) {
  const Lock lock(runtime().mutex);
  CUstream_st* const of = stream_of(static_cast<cudaStream_t>(stream));
  ++(of->recording == nullptr ? runtime().counts.launches : runtime().counts.recorded);
  queue_work(of, std::move(loop));
  go_on();
}

}  // namespace

bool is_device_memory(const void* memory, size_t bytes) {
  const Lock lock(runtime().mutex);
  return lies_in(runtime().device, memory, bytes);
}

bool is_pinned_memory(const void* memory, size_t bytes) {
  const Lock lock(runtime().mutex);
  return lies_in(runtime().pinned, memory, bytes);
}

void reset(uint32_t seed) {
  Runtime& r = runtime();
  const Lock lock(r.mutex);
  require(live() == 0, "something is left at a reset");
  r.random.seed(seed);
  r.by_chance = seed != 0;
  r.calls_to_failure = -1;
  r.failed = false;
  r.counts = {};
  for (void* memory : r.freed) std::free(memory);
  r.freed.clear();
  r.destroyed.clear();
  defer_launch = defer;
}

void fail_call(int64_t n) {
  const Lock lock(runtime().mutex);
  runtime().calls_to_failure = n;
  runtime().failed = false;
}
bool this_call_fails() {
  const Lock lock(runtime().mutex);
  return fails();
}
void leave_error() { last_error = cudaErrorInvalidValue; }
bool has_failed() { return runtime().failed; }

int64_t live() {
  Runtime& r = runtime();
  const Lock lock(r.mutex);
  for (CUstream_st* stream : r.streams) run_until(stream, stream->put);
  int64_t own = 0;
  for (CUstream_st* stream : r.streams) own += stream == own_stream() ? 1 : 0;
  return static_cast<int64_t>(r.device.size() + r.pinned.size() + r.streams.size() + r.events.size() + r.graphs.size() +
                              r.execs.size()) -
         own;
}

int64_t live_on_devices() {
  const Lock lock(runtime().mutex);
  live();
  return static_cast<int64_t>(runtime().device.size());
}

int64_t taken_on_devices() {
  const Lock lock(runtime().mutex);
  return static_cast<int64_t>(runtime().device.size());
}

Counts counts() {
  const Lock lock(runtime().mutex);
  return runtime().counts;
}

}  // namespace berth::cuda::fake

using namespace berth::cuda::fake;

cudaError_t cudaGetDeviceCount(int* count) { return *count = device_total(), cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = current_device, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return current_device = device, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::snprintf(properties->name, sizeof properties->name, "a fake device");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 1, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake runtime"; }
const char* cudaGetErrorName(cudaError_t) { return "fake"; }

namespace {

cudaError_t allocate(void** memory, size_t bytes) {
  const Lock lock(runtime().mutex);
  if (fails() || bytes > size_t{1} << 36) return cudaErrorMemoryAllocation;
  take(&runtime().device, memory, bytes);
  return cudaSuccess;
}

// For what may wait for the device.
void require_no_instantiation() {
  require(runtime().instantiating == 0, "the device is waited for while a graph is instantiated");
}

}  // namespace

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  require_no_instantiation();
  return allocate(memory, bytes);
}
cudaError_t cudaFree(void* memory) {
  require_no_instantiation();
  const Lock lock(runtime().mutex);
  ++runtime().counts.waits;
  for (CUstream_st* stream : runtime().streams) wait_for(stream, stream->put);
  give_back(&runtime().device, memory);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t) { return allocate(memory, bytes); }
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  queue_work(stream_of(stream), [memory] { give_back(&runtime().device, memory); });
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  require_no_instantiation();
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorMemoryAllocation;
  take(&runtime().pinned, memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  require_no_instantiation();
  const Lock lock(runtime().mutex);
  give_back(&runtime().pinned, memory);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) { return *device = host, cudaSuccess; }

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorInvalidValue;
  CUstream_st* const of = stream_of(stream);
  const bool from_pinned = lies_in(runtime().pinned, source, bytes);
  // Other host memory may be reused when the call returns.
  auto kept = std::make_shared<std::vector<char>>();
  if (kind == cudaMemcpyHostToDevice && !from_pinned) {
    kept->assign(static_cast<const char*>(source), static_cast<const char*>(source) + bytes);
  }
  queue_work(of, [=] {
    if (kind != cudaMemcpyDeviceToHost) {
      require(lies_in(runtime().device, target, bytes), "a copy's target is not there when it runs");
    }
    if (kind != cudaMemcpyHostToDevice) {
      require(lies_in(runtime().device, source, bytes), "a copy's source is not there when it runs");
    }
    if (kind == cudaMemcpyHostToDevice && from_pinned) {
      require(lies_in(runtime().pinned, source, bytes), "pinned memory is not there when a copy of it runs");
    }
    std::memmove(target, kept->empty() ? source : kept->data(), bytes);
  });
  if (kind == cudaMemcpyDeviceToHost && !lies_in(runtime().pinned, target, bytes)) wait_for(of, of->put);
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* target, int, const void* source, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorMemoryAllocation;
  runtime().streams.insert(*stream = new CUstream_st);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  wait_for(stream, stream->put);
  for (CUevent_st* event : runtime().events) {
    if (event->stream == stream) event->stream = nullptr;
  }
  runtime().streams.erase(stream);
  runtime().destroyed.emplace_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  wait_for(stream_of(stream), stream_of(stream)->put);
  return fails() ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorInvalidValue;
  queue_work(stream_of(stream), [other = event->stream, at = event->at] {
    if (runtime().streams.count(other) != 0) run_until(other, at);
  });
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  require_no_instantiation();
  const Lock lock(runtime().mutex);
  ++runtime().counts.waits;
  for (CUstream_st* stream : runtime().streams) wait_for(stream, stream->put);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorMemoryAllocation;
  runtime().events.insert(*event = new CUevent_st);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorInvalidValue;
  queue_work(stream_of(stream), [] {});
  *event = {stream_of(stream), stream_of(stream)->put};
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(runtime().mutex);
  if (event->stream != nullptr) wait_for(event->stream, event->at);
  return fails() ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(runtime().mutex);
  runtime().events.erase(event);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  const Lock lock(runtime().mutex);
  if (fails()) return last_error = cudaErrorInvalidValue;
  ++runtime().counts.launches;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorStreamCaptureUnsupported;
  require(stream_of(stream)->recording == nullptr, "a stream is recorded twice");
  stream_of(stream)->recording = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(runtime().mutex);
  std::unique_ptr<CUgraph_st> made = std::move(stream_of(stream)->recording);
  require(made != nullptr, "a stream is not recorded");
  if (fails()) return cudaErrorStreamCaptureInvalidated;
  runtime().graphs.insert(*graph = made.release());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  ++runtime().instantiating;
  if (runtime().by_chance) std::this_thread::sleep_for(std::chrono::microseconds(200));
  const Lock lock(runtime().mutex);
  --runtime().instantiating;
  if (fails()) return cudaErrorMemoryAllocation;
  runtime().execs.insert(*made = new CUgraphExec_st{std::make_shared<std::vector<Work>>(graph->work)});
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, struct CUgraphNode_st**, size_t* count) {
  return *count = graph->work.size(), cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Lock lock(runtime().mutex);
  runtime().graphs.erase(graph);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  const Lock lock(runtime().mutex);
  return fails() ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (fails()) return cudaErrorInvalidValue;
  require(runtime().execs.count(graph) != 0, "a graph is launched that is not there");
  ++runtime().counts.graphs;
  queue_work(stream_of(stream), [graph] {
    require(runtime().execs.count(graph) != 0, "a graph was destroyed before it ran");
    for (const Work& work : *graph->work) work();
  });
  go_on();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  const Lock lock(runtime().mutex);
  runtime().execs.erase(graph);
  delete graph;
  return cudaSuccess;
}
