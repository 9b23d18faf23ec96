// SimAllocator: a simulated device whose memory the host cannot access, for tests.
//
//     SimAllocator sim;
//     DeviceAllocatorRegistry registry;
//     registry.register_allocator(&sim);                     // "sim:0", "sim:1", …
//     registry.register_allocator(DeviceType::kCuda, &sim);  // stands in for GPUs
//
// The memory of each device is mapped twice. The address that a program sees is always inaccessible, so host code that
// dereferences it faults. Copies and the kernels of SimBackend use a second, private address. Every copy is counted and
// checked to be inside an allocation; any call can be made to fail. AddressSanitizer also detects kernels that access
// memory outside of an allocation or after it was freed.
//
// Streams of this device run their work immediately, but for copies to the host that are begun (begin_copy_to_host):
// those arrive when they are waited for, and bytes of 0xff stand in their place until then. Misuse of streams is
// detected nevertheless: a stream of another device, a destroyed stream, and work that would race if streams ran
// concurrently (stream_order.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/sim/sim_clock.h"
#include "backends/sim/stream_order.h"
#include "base/enum_array.h"
#include "runtime/device_allocator.h"

namespace berth {

/// The calls that are counted and can be made to fail.
enum class SimCall : uint8_t { kAllocate, kCopy, kCreateStream, kRecord, kWait, kSynchronize, kFinishCopy };
constexpr size_t kSimCalls = 7;

struct SimOptions {
  /// 1 to 127.
  int device_count = 4;
  /// The size of each device. Only address space until it is used.
  uint64_t bytes_per_device = uint64_t{1} << 33;
  /// If false, create_stream() returns null.
  bool streams = true;
  /// What work takes (sim_clock.h); nothing: no time is kept.
  std::optional<SimTimes> times = std::nullopt;
  /// If false, a copy to the host that is begun is complete.
  bool late_copies = true;
};

/// Counts since the beginning or reset_counts(). Copies of 0 bytes and failed copies do not count.
struct SimCounts {
  struct Copies {
    uint64_t count = 0;
    uint64_t bytes = 0;
  };
  uint64_t allocations = 0;
  uint64_t deallocations = 0;
  Copies host_to_device;
  Copies device_to_host;
  /// Counted for the target.
  Copies device_to_device;
  uint64_t synchronizations = 0;
};

class SimAllocator final : public DeviceAllocator {
 public:
  explicit SimAllocator(const SimOptions& options = {});
  ~SimAllocator() override;
  SimAllocator(const SimAllocator&) = delete;
  SimAllocator& operator=(const SimAllocator&) = delete;

  DeviceType device_type() const override { return DeviceType::kSim; }
  int device_count() const override { return options_.device_count; }

  /// The alignment may be any power of two. Small allocations are filled with bytes of 0xff (NaN as floats), so that
  /// code that relies on zeros is detected. Allocations of 0 bytes have distinct addresses.
  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment = kDefaultAlignment) override;
  /// Memory that this device did not allocate is ignored, and counted in bad_deallocations().
  void deallocate(void* memory, DeviceIndex index) override;

  /// Also InvalidArgument for bytes that are not inside one allocation of this device, for host memory that is a
  /// device's, and for a stream of another device. InvalidState when work of another stream on these bytes may still be
  /// in progress, because nothing waited for it.
  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override;
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override;
  Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                      DeviceStream* stream) override;
  Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) override;
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream) override;

  Result<DeviceStream*> create_stream(DeviceIndex index) override;
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override;
  Error synchronize(DeviceStream* stream, DeviceIndex index) override;
  Error record(DeviceStream* stream, DeviceIndex index) override;
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override;

  /// For SimBackend: the address that its kernels use for [address, address + bytes). Null when they are not inside one
  /// allocation of device `index`.
  void* alias(const void* address, size_t bytes, DeviceIndex index) const;
  /// The same for work on `stream` that is about to start and may write, or only reads: InvalidArgument when they are
  /// not inside one allocation, InvalidState as for copies.
  Error use(void* address, size_t bytes, DeviceIndex index, const DeviceStream* stream, void** alias,
            bool writes = true);
  /// For SimBackend: what a call of the delegate takes, and that it was called on `stream`. Without times, 0 and
  /// nothing.
  double delegate_seconds(const DelegateSource& source) const;
  void called(const DeviceStream* stream, DeviceIndex index, double seconds);
  bool keeps_time() const { return options_.times.has_value(); }

  /// Of SimOptions::times: work of the host, such as a kernel outside of delegates.
  void host_works(double seconds);
  /// Seconds until the host has come to where it is, and what was done until then, since the beginning or the last
  /// reset_clock().
  double seconds() const;
  std::vector<SimWork> work_done() const;
  void reset_clock();

  /// Whether `address` is one of the inaccessible ones.
  bool is_device_address(const void* address) const;

  /// Makes the `nth` call of this kind from now on (1: the next) return `error` and do nothing else, but for saying
  /// `why` (runtime/device_explanation.h) where it is not null; it must stay.
  void fail(SimCall call, uint64_t nth, Error error, const char* why = nullptr);
  /// The number of calls of this kind, including failed ones.
  uint64_t calls(SimCall call) const;

  SimCounts counts(DeviceIndex index) const;
  /// Of all devices together.
  SimCounts counts() const;
  void reset_counts();

  /// What is allocated now; 0 when nothing leaks.
  uint64_t live_bytes() const;
  size_t live_blocks() const;
  size_t live_streams() const;
  /// Addresses and streams that were given back and did not exist.
  size_t bad_deallocations() const;

 private:
  struct Stream {
    DeviceIndex index;
    StreamOrder::Worker worker;
  };
  // A copy to the host that was begun.
  struct Arrival {
    uint64_t number;
    void* target;
    std::vector<uint8_t> bytes;
    StreamOrder::Point point;
    double end;
  };
  // The memory of one device, mapped when it is first wanted.
  struct Memory {
    int file = -1;
    uint8_t* visible = nullptr;
    uint8_t* alias = nullptr;
    std::map<uint64_t, uint64_t> blocks;  // offset → bytes
    uint64_t end = 0;                     // of the highest block there ever was
    SimCounts counts;
  };

  // The calls of one kind, and which of them fails.
  struct Calls {
    uint64_t count = 0;
    uint64_t fail_at = 0;  // 0: never
    Error fail_with = Error::kOk;
    const char* why = nullptr;
  };

  bool has(DeviceIndex index) const { return index >= 0 && index < options_.device_count; }
  Error count(SimCall call);
  Error map(Memory& memory) const;
  void unmap(Memory& memory) const;
  bool find_gap(const Memory& memory, uint64_t bytes, uint64_t alignment, uint64_t* offset) const;
  uint8_t* find(const void* address, size_t bytes, DeviceIndex index) const;
  bool is_visible(const void* address, size_t bytes) const;
  Error check_stream(const DeviceStream* stream, DeviceIndex index) const;
  Error begin_copy(DeviceIndex index, const DeviceStream* stream);
  static StreamOrder::Worker worker(const DeviceStream* stream);
  double take_time(const DeviceStream* stream, SimWorkKind kind, DeviceIndex index, size_t bytes, bool begun = false);
  Error order(const DeviceStream* stream, const void* address, size_t bytes, bool writes);
  Error read_for_host(void* target, const void* source, size_t bytes, DeviceIndex index, const DeviceStream* stream,
                      const uint8_t** from);
  void count_to_host(DeviceIndex index, size_t bytes);
  void arrive(StreamOrder::Worker stream, uint64_t last);

  const SimOptions options_;
  mutable std::mutex mutex_;
  std::vector<Memory> memories_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Arrival> arrivals_;  // in their order
  uint64_t copies_begun_ = 0;
  StreamOrder order_;
  SimClock clock_;
  EnumArray<SimCall, Calls, kSimCalls> calls_;
  size_t bad_deallocations_ = 0;
};

}  // namespace berth
