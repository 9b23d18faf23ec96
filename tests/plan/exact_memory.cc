#include "tests/plan/exact_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/portable/portable.h"
#include "runtime/data_loader.h"

namespace berth::plan_test {
namespace {

constexpr size_t kBase = 64;
constexpr size_t kGuard = 64;
constexpr uint8_t kMark = 0xA5;
// What memory is full of before a run. What is written differs from one or the other.
constexpr uint8_t kFills[] = {0x5A, 0xC3};
// The last bytes that are never written may be padding behind the last thing.
constexpr size_t kPadding = 64;

/// `bytes` bytes at a multiple of 64, marks before and behind.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuard + kBase, kMark) {
    const size_t beyond = reinterpret_cast<uintptr_t>(memory_.data()) % kBase;
    start_ = kGuard + (beyond == 0 ? 0 : kBase - beyond);
  }
  void fill(uint8_t byte) { std::memset(memory_.data() + start_, byte, bytes_); }
  /// Bytes up to the last one that was written since fill(byte), in any run so far.
  size_t used(uint8_t byte) {
    size_t used = bytes_;
    while (used > used_ && memory_[start_ + used - 1] == byte) --used;
    return used_ = used;
  }
  /// All but the last `without` bytes.
  Span<uint8_t> span(size_t without = 0) { return {memory_.data() + start_, bytes_ - without}; }
  size_t size() const { return bytes_; }
  bool untouched() const {
    const auto mark = [](uint8_t byte) { return byte == kMark; };
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<ptrdiff_t>(start_), mark) &&
           std::all_of(memory_.begin() + static_cast<ptrdiff_t>(start_ + bytes_), memory_.end(), mark);
  }

 private:
  size_t bytes_;
  std::vector<uint8_t> memory_;
  size_t start_ = 0;
  size_t used_ = 0;
};

/// Memory of one method, as large as the program says.
class Trial {
 public:
  /// `verified`: the load checks the plan, in what becomes the method memory.
  Trial(const Program& program, const MethodMeta& meta, ThreadPool* pool, bool verified)
      : program_(program), meta_(meta), pool_(pool), verified_(verified) {}

  /// The problem, or nothing.
  std::string run(MemoryNeeded* needed) {
    const auto least = program_.memory_needed(meta_.name());
    if (!least.ok()) return "memory_needed fails";
    method_ = std::make_unique<Guarded>(least->method_bytes);
    const int threads = pool_ == nullptr ? 1 : pool_->size();
    const auto known = program_.memory_needed(meta_.name(), method_->span(), threads);
    if (!known.ok() || known->method_bytes != least->method_bytes || known->temp_bytes == MemoryNeeded::kUnknown) {
      return "memory_needed does not know the temp bytes with its own method bytes";
    }
    *needed = *known;
    temp_ = std::make_unique<Guarded>(known->temp_bytes);
    uint64_t sum = 0;
    for (size_t i = 0; i < meta_.num_memory_planned_buffers(); ++i) {
      arenas_.push_back(std::make_unique<Guarded>(static_cast<size_t>(meta_.memory_planned_buffer_size(i).value())));
      sum += arenas_.back()->size();
    }
    if (sum != known->arena_bytes) return "the arenas do not add up to what memory_needed says";
    for (const uint8_t fill : kFills) {
      const std::string exact = execute(fill);
      if (!exact.empty()) return "with exactly what is needed: " + exact;
    }
    const std::string unused = verified_ ? "" : leaves_unused();
    return unused.empty() ? refuses_less() : unused;
  }

 private:
  struct Less {
    size_t method = 0;
    size_t temp = 0;
    size_t arena = SIZE_MAX;  // which has one byte less
  };

  Result<Method> load(const Less& less, MemoryAllocator* allocator, HierarchicalAllocator* planned,
                      std::vector<Span<uint8_t>>* spans) {
    *allocator = MemoryAllocator(method_->span(less.method));
    for (size_t i = 0; i < arenas_.size(); ++i) spans->push_back(arenas_[i]->span(i == less.arena ? 1 : 0));
    *planned = HierarchicalAllocator(*spans);
    return program_.load_method(meta_.name(), MemoryManager(*allocator, *planned, temp_->span(less.temp)), pool_,
                                &report_);
  }

  template <typename Each>
  void for_each_memory(Each each) {
    each(*method_, "the method memory");
    each(*temp_, "the temp memory");
    for (size_t i = 0; i < arenas_.size(); ++i) each(*arenas_[i], "arena " + std::to_string(i + 1));
  }

  // Temp memory is a bound of what a kernel takes on all threads; the rest is exact.
  std::string leaves_unused() {
    std::string problem;
    for_each_memory([&](Guarded& memory, const std::string& name) {
      const size_t used = memory.used(kFills[1]);
      if (&memory == temp_.get() || used + kPadding > memory.size() || !problem.empty()) return;
      problem =
          "of " + name + ", " + std::to_string(memory.size()) + " bytes, only " + std::to_string(used) + " are used";
    });
    return problem;
  }

  std::string execute(uint8_t fill) {
    for_each_memory([&](Guarded& memory, const std::string&) { memory.fill(fill); });
    MemoryAllocator allocator{Span<uint8_t>()};
    HierarchicalAllocator planned;
    std::vector<Span<uint8_t>> spans;
    auto method = load({}, &allocator, &planned, &spans);
    if (!method.ok()) return said();
    if (!verified_ && allocator.used_size() != method_->size()) return "not all of the method memory is handed out";
    std::vector<std::vector<uint8_t>> ports;
    for (size_t i = 0; i < method->inputs_size(); ++i) {
      const auto info = meta_.input_tensor_meta(i);
      if (!info.ok()) {
        method->set_input(i, method->get_input(i));
        continue;
      }
      ports.emplace_back(info->nbytes + 1);
      if (method->set_input(i, ports.back().data(), info->sizes, info->dtype) != Error::kOk) {
        return method->last_report().message;
      }
    }
    for (size_t i = 0; i < method->outputs_size(); ++i) {
      const auto info = meta_.output_tensor_meta(i);
      if (!info.ok() || info->is_memory_planned) continue;
      ports.emplace_back(info->nbytes + 1);
      method->set_output_data_ptr(i, ports.back().data(), info->nbytes);
    }
    if (method->execute() != Error::kOk) return method->last_report().message;
    bool untouched = true;
    for_each_memory([&](Guarded& memory, const std::string&) {
      untouched = untouched && memory.untouched();
      memory.used(fill);
    });
    return untouched ? "" : "bytes outside of the given memory were written";
  }

  std::string said() const { return std::string(report_.place) + ": " + report_.message; }

  /// The report must have the number that is needed.
  std::string refuses(const Less& less, const std::string& what, uint64_t bytes) {
    MemoryAllocator allocator{Span<uint8_t>()};
    HierarchicalAllocator planned;
    std::vector<Span<uint8_t>> spans;
    auto method = load(less, &allocator, &planned, &spans);
    if (method.ok() && less.arena != SIZE_MAX && method->follows_sizes()) {
      // Some sizes may fit; the largest do not, unless they need less than the plan of the file.
      return refuses_largest(*method, less.arena, what);
    }
    if (method.ok()) return "one byte less of " + what + " is taken";
    if (said().find(std::to_string(bytes)) != std::string::npos) return "";
    return "one byte less of " + what + " is refused without the number " + std::to_string(bytes) + ": " + said();
  }

  std::string refuses_largest(Method& method, size_t arena, const std::string& what) {
    std::vector<Span<const int32_t>> sizes;
    for (size_t i = 0; i < method.inputs_size(); ++i) {
      const auto info = meta_.input_tensor_meta(i);
      sizes.push_back(info.ok() ? info->sizes : Span<const int32_t>());
    }
    std::vector<uint64_t> needed(arenas_.size());
    if (method.planned_bytes({sizes.data(), sizes.size()}, {needed.data(), needed.size()}) != Error::kOk) {
      return method.last_report().message;
    }
    if (needed[arena] < arenas_[arena]->size()) return "";
    Error error = Error::kOk;
    std::vector<uint8_t> data;
    for (size_t i = 0; i < method.inputs_size() && error == Error::kOk; ++i) {
      const auto info = meta_.input_tensor_meta(i);
      if (!info.ok()) continue;
      data.resize(std::max(data.size(), info->nbytes + 1));
      error = method.set_input(i, data.data(), info->sizes, info->dtype);
    }
    if (error == Error::kOk) error = method.lay_out();
    const std::string message = method.last_report().message;
    if (error == Error::kMemoryAllocationFailed && message.find(std::to_string(arenas_[arena]->size())) == 0) return "";
    return "one byte less of " + what + " is taken for the largest sizes: " + message;
  }

  std::string refuses_less() {
    std::string problem = refuses({1, 0, SIZE_MAX}, "the method memory", method_->size());
    if (problem.empty() && temp_->size() > 0) {
      problem = refuses({0, 1, SIZE_MAX}, "the temp memory", temp_->size());
    }
    for (size_t i = 0; i < arenas_.size() && problem.empty(); ++i) {
      if (arenas_[i]->size() == 0) continue;
      problem = refuses({0, 0, i}, "arena " + std::to_string(i + 1), arenas_[i]->size());
    }
    return problem;
  }

  const Program& program_;
  const MethodMeta& meta_;
  ThreadPool* pool_;
  bool verified_;
  std::unique_ptr<Guarded> method_;
  std::unique_ptr<Guarded> temp_;
  std::vector<std::unique_ptr<Guarded>> arenas_;
  Report report_;
};

}  // namespace

ExactMemory check_exact_memory(Span<const uint8_t> file, Span<Backend* const> backends, ThreadPool* pool) {
  ExactMemory out;
  const BufferLoader loader(file);
  for (const Verification verification : {Verification::kMinimal, Verification::kFull}) {
    LoadOptions options;
    options.backends = backends;
    options.verification = verification;
    const auto program = Program::load(loader, portable::kernels(), options);
    if (!program.ok()) {
      out.problem = "the program cannot be loaded";
      return out;
    }
    out.needed.clear();
    for (size_t m = 0; m < program->num_methods() && out.problem.empty(); ++m) {
      const auto meta = program->method_meta(m);
      MemoryNeeded needed;
      if (meta.ok()) out.problem = Trial(*program, *meta, pool, verification == Verification::kFull).run(&needed);
      if (!out.problem.empty()) out.problem = "method " + std::string(meta->name()) + ": " + out.problem;
      out.needed.push_back(needed);
    }
  }
  return out;
}

}  // namespace berth::plan_test
