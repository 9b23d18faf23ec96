// Turn: one thread at a time in memory that several methods may share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace berth::python {

/// Which thread uses some memory.
struct InUse {
  std::mutex mutex;
  std::atomic<std::thread::id> owner = std::thread::id();
};
/// What a method uses, in an order that is the same for all methods. Each once.
using InUseList = std::vector<std::shared_ptr<InUse>>;

/// That of the caller's memory at `address`: the same for all who ask while one of them has it.
std::shared_ptr<InUse> in_use_at(const void* address);

/// Has all of a list, or waits for them. With the interpreter's lock, which is given up meanwhile, or without it.
class Turn {
 public:
  /// Raises InvalidState with `place` where this thread has one of them, which it would wait for without end.
  Turn(const InUseList& list, const std::string& place);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  void release(size_t count);

  const InUseList& list_;
};

}  // namespace berth::python
