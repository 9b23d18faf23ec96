// The kernels as plain C++: there is no queue to wait for.
#include <cstdlib>
#include <vector>

#include "backends/cuda/kernels/tensor_product.h"
#include "backends/cuda/kernels_test/tested.h"
#include "backends/cuda/queue.h"

namespace berth::cuda {

Error run_tested(KernelFunction kernel, KernelContext& context, Span<EValue* const> args) {
  uint32_t fault = kNoFault;
  // As much as the longest rows of the tests take.
  static thread_local std::vector<double> scratch(size_t{1} << 17);
  static uint32_t tickets[kTickets] = {};
  static const bool has_tensor_cores = std::getenv("BERTH_TEST_WITHOUT_TENSOR_CORES") == nullptr;
  emulated_tensor_cores = has_tensor_cores;
  Queue queue;
  queue.tickets = tickets;
  queue.scratch = scratch.data();
  queue.scratch_bytes = scratch.size() * sizeof(double);
  queue.fault = &fault;
  KernelContext inner(context.temp(), nullptr, context.devices(), &queue);
  const Error error = kernel(inner, args);
  if (error != Error::kOk) return inner.message() == nullptr ? error : context.fail(error, inner.message());
  if (fault != kNoFault) return context.fail(Error::kInvalidArgument, to_string(static_cast<Fault>(fault)));
  return Error::kOk;
}

}  // namespace berth::cuda
