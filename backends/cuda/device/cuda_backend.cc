#include "backends/cuda/device/cuda_backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/cuda/device/cuda_runtime.h"
#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/device/cuda_workbench.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/libraries.h"
#include "backends/cuda/queue.h"
#include "base/check.h"

namespace berth::cuda {

static_assert(CudaBackend::kWorkspaceBytes == CudaWorkbench::kBytes);

namespace {

void add(const CudaCounts& more, CudaCounts* counts) {
  counts->submissions += more.submissions;
  counts->dispatches += more.dispatches;
  counts->graphs += more.graphs;
  counts->library_calls += more.library_calls;
  counts->fallbacks += more.fallbacks;
}

}  // namespace

// The data shared by the delegates of a stream, passed to their kernels as a Queue.
struct CudaBackend::Session : Queue, Libraries {
  Session(const DeviceUse& device_use) : use(device_use) {}
  ~Session() override {
    // Others may be using the workspace, and its memory may be given back.
    const DeviceGuard current(use.device.index, "closing a session");
    static_cast<void>(check(cudaStreamSynchronize(queue()), "closing a session"));
    workbench->leave_for_good(queue());
  }

  void start(CudaWorkbench* bench) {
    workbench = bench;
    stream = queue();
    scratch = bench->workspace().memory;
    scratch_bytes = bench->workspace().bytes;
    tickets = bench->tickets();
    fault = CudaStream::of(use.stream)->fault();
    libraries = this;
    launches = &plain;
  }

  bool product(const portable::Product& product) override {
    CudaBlas* const blas = workbench->blas();
    return count(blas != nullptr && blas->product(product));
  }
  bool convolution(const portable::Convolution& convolution, bool accumulate) override {
    CudaDnn* const dnn = workbench->dnn();
    return count(dnn != nullptr && dnn->convolution(convolution, accumulate));
  }
  bool count(bool taken) {
    plain += taken ? 1 : 0;
    ++(taken ? work.library_calls : work.fallbacks);
    return taken;
  }

  cudaStream_t queue() const { return CudaStream::of(use.stream)->get(); }

  void forget_failures() override {
    if (workbench->blas() != nullptr) workbench->blas()->forget();
    if (workbench->dnn() != nullptr) workbench->dnn()->forget();
  }

  static Session* of(void* session) { return static_cast<Session*>(static_cast<Queue*>(session)); }

  const DeviceUse use;
  size_t users = 0;
  CudaWorkbench* workbench = nullptr;
  CudaCounts work;     // of the run so far
  uint64_t plain = 0;  // kernels and calls that are in no graph; of the run so far too
  CudaCounts before_recording;
  uint64_t plain_before_recording = 0;
  std::optional<DeviceGuard> guard;        // while a delegate runs
  std::unique_lock<std::mutex> turn;       // likewise
  std::unique_lock<std::mutex> recording;  // while it is recorded
};

struct CudaBackend::Recording {
  cudaGraphExec_t graph = nullptr;
  CudaCounts work;  // of one launch
};

CudaBackend::CudaBackend(bool graphs) : NestedBackend("berth.cuda", kernels()), graphs_(graphs) {}

CudaBackend::~CudaBackend() { BERTH_CHECK(sessions_.empty()); }

size_t CudaBackend::sessions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sessions_.size();
}

CudaCounts CudaBackend::counts() const {
  const std::lock_guard<std::mutex> lock(counts_mutex_);
  return counts_;
}

Result<void*> CudaBackend::open(const DelegateSource&, const DelegateLoad& load, format::Report* report) {
  if (!CudaStream::is_live(load.use.stream)) {
    return format::fail(report, Error::kInvalidArgument, "delegate device",
                        "%s has no stream of a CudaAllocator; register one for it", to_text(load.use.device).text);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Session>& session = sessions_[load.use.stream];
  if (session == nullptr) {
    const Result<CudaWorkbench*> workbench = take_workbench(load.use.device.index);
    if (!workbench.ok()) {
      sessions_.erase(load.use.stream);
      return format::fail(report, workbench.error(), "delegate device",
                          "%s does not give the %zu bytes that libraries work in", to_text(load.use.device).text,
                          kWorkspaceBytes);
    }
    session = std::make_unique<Session>(load.use);
    session->start(*workbench);
  }
  ++session->users;
  return static_cast<void*>(static_cast<Queue*>(session.get()));
}

void CudaBackend::close(void* session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Session* mine = Session::of(session);
  if (--mine->users > 0) return;
  const DeviceIndex index = mine->use.device.index;
  CudaWorkbench* const workbench = mine->workbench;
  sessions_.erase(mine->use.stream);
  give_back_workbench(index, workbench);
}

Result<CudaWorkbench*> CudaBackend::take_workbench(DeviceIndex index) {
  const DeviceGuard current(index, "opening a session");
  if (current.error() != Error::kOk) return current.error();
  std::vector<std::unique_ptr<CudaWorkbench>>& all = workbenches_[index];
  if (all.size() < kWorkbenches) {
    Result<std::unique_ptr<CudaWorkbench>> made = CudaWorkbench::create(index);
    if (made.ok()) all.push_back(std::move(*made));
    // A device that is nearly full still serves, with those that it has.
    if (!made.ok() && all.empty()) return made.error();
  }
  const auto fewer = [](const auto& a, const auto& b) { return a->users < b->users; };
  CudaWorkbench* const taken = std::min_element(all.begin(), all.end(), fewer)->get();
  ++taken->users;
  return taken;
}

void CudaBackend::give_back_workbench(DeviceIndex index, CudaWorkbench* workbench) {
  if (--workbench->users > 0) return;
  const DeviceGuard current(index, "closing a session");
  std::vector<std::unique_ptr<CudaWorkbench>>& all = workbenches_[index];
  const auto is_it = [&](const auto& one) { return one.get() == workbench; };
  all.erase(std::find_if(all.begin(), all.end(), is_it));
}

Error CudaBackend::begin(void* session, KernelContext& context) {
  Session& mine = *Session::of(session);
  mine.guard.emplace(mine.use.device.index, "running a delegate");
  Error error = mine.guard->error();
  const char* why = "the device cannot be made the current one";
  if (error == Error::kOk) {
    error = mine.workbench->enter(mine.queue(), &mine.turn);
    why = "the device does not wait for the workspace";
  }
  if (error == Error::kOk) return Error::kOk;
  mine.guard.reset();
  return context.fail(error, why);
}

Error CudaBackend::end(void* session, KernelContext&, Error result) {
  Session& mine = *Session::of(session);
  {
    const std::lock_guard<std::mutex> lock(counts_mutex_);
    add(mine.work, &counts_);
    counts_.submissions += mine.plain;
    counts_.dispatches += mine.plain;
  }
  mine.work = {};
  mine.plain = 0;
  mine.turn.unlock();
  mine.guard.reset();
  return result;
}

// Faults are left for the call that waits for the outputs.
Error CudaBackend::settle(void* session) {
  return check(cudaStreamSynchronize(Session::of(session)->queue()), "waiting for an observed kernel");
}

// Relaxed: kernels and the libraries' engines may be loaded, and heuristics asked, while their launches are recorded.
Error CudaBackend::begin_recording(void* session) {
  Session& mine = *Session::of(session);
  mine.recording = std::unique_lock<std::mutex>(graph_lock());
  const Error error = check(cudaStreamBeginCapture(mine.queue(), cudaStreamCaptureModeRelaxed), "recording a delegate");
  if (error != Error::kOk) mine.recording.unlock();
  mine.before_recording = mine.work;
  mine.plain_before_recording = mine.plain;
  return error;
}

Result<void*> CudaBackend::end_recording(void* session) {
  constexpr const char* kWhat = "recording a delegate";
  Session& mine = *Session::of(session);
  const std::unique_lock<std::mutex> lock = std::move(mine.recording);
  auto recording = std::make_unique<Recording>();
  recording->work.library_calls = mine.work.library_calls - mine.before_recording.library_calls;
  recording->work.fallbacks = mine.work.fallbacks - mine.before_recording.fallbacks;
  mine.work = mine.before_recording;
  mine.plain = mine.plain_before_recording;
  cudaGraph_t graph = nullptr;
  const Error ended = check(cudaStreamEndCapture(mine.queue(), &graph), kWhat);
  if (ended != Error::kOk) {
    mine.forget_failures();
    return ended;
  }
  size_t nodes = 0;
  static_cast<void>(check(cudaGraphGetNodes(graph, nullptr, &nodes), kWhat));
  recording->work.dispatches = nodes;
  recording->work.submissions = 1;
  const Error error = check(cudaGraphInstantiate(&recording->graph, graph, 0), kWhat);
  static_cast<void>(check(cudaGraphDestroy(graph), kWhat));
  if (error != Error::kOk) return error;
  ++mine.work.graphs;
  // The first launch need not move it to the device.
  static_cast<void>(check(cudaGraphUpload(recording->graph, mine.queue()), kWhat));
  return static_cast<void*>(recording.release());
}

Error CudaBackend::replay(void* session, void* recording) {
  const auto& replayed = *static_cast<const Recording*>(recording);
  Session& mine = *Session::of(session);
  const Error error = check(cudaGraphLaunch(replayed.graph, mine.queue()), "launching a graph");
  if (error != Error::kOk) return error;
  add(replayed.work, &mine.work);
  replays_.fetch_add(1, std::memory_order_relaxed);
  return Error::kOk;
}

void CudaBackend::discard(void* session, void* recording) {
  constexpr const char* kWhat = "discarding a graph";
  const DeviceGuard current(Session::of(session)->use.device.index, kWhat);
  static_cast<void>(check(cudaStreamSynchronize(Session::of(session)->queue()), kWhat));
  const std::lock_guard<std::mutex> lock(graph_lock());
  const std::unique_ptr<Recording> discarded(static_cast<Recording*>(recording));
  static_cast<void>(check(cudaGraphExecDestroy(discarded->graph), kWhat));
}

}  // namespace berth::cuda
