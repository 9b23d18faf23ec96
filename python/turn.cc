#include "python/turn.h"

#include <nanobind/nanobind.h>

#include <map>
#include <optional>

#include "python/errors.h"

namespace nb = nanobind;

namespace berth::python {

std::shared_ptr<InUse> in_use_at(const void* address) {
  static auto* const mutex = new std::mutex;
  static auto* const known = new std::map<const void*, std::weak_ptr<InUse>>;
  const std::lock_guard<std::mutex> guard(*mutex);
  for (auto each = known->begin(); each != known->end();) {
    each = each->second.expired() ? known->erase(each) : std::next(each);
  }
  std::weak_ptr<InUse>& here = (*known)[address];
  std::shared_ptr<InUse> found = here.lock();
  if (found == nullptr) here = found = std::make_shared<InUse>();
  return found;
}

Turn::Turn(const InUseList& list, const std::string& place) : list_(list) {
  for (size_t i = 0; i < list_.size(); ++i) {
    InUse& one = *list_[i];
    if (!one.mutex.try_lock()) {
      if (one.owner == std::this_thread::get_id()) {
        release(i);
        raise(Error::kInvalidState, place, "is called while it, or what shares its memory, runs on this thread");
      }
      std::optional<nb::gil_scoped_release> unlocked;
      if (PyGILState_Check() != 0) unlocked.emplace();
      one.mutex.lock();
    }
    one.owner = std::this_thread::get_id();
  }
}

Turn::~Turn() { release(list_.size()); }

void Turn::release(size_t count) {
  while (count-- > 0) {
    list_[count]->owner = std::thread::id();
    list_[count]->mutex.unlock();
  }
}

}  // namespace berth::python
