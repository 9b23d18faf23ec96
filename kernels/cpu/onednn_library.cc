#include "kernels/cpu/onednn_library.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime/log.h"

#ifdef BERTH_ONEDNN_LINKED
extern "C" {
void omp_set_num_threads(int count);
int omp_get_thread_num();
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
}
#endif

namespace berth::cpu {
namespace {

const char* library_name = "libdnnl.so." BERTH_TEXT(DNNL_VERSION_MAJOR);

struct Library {
  OneDnn functions = {};
  bool usable = false;
  char why_not[300] = "";

  template <typename... Args>
  void explain(const char* format, Args... args) {
    std::snprintf(why_not, sizeof(why_not), format, args...);
  }
};

// What was opened, once it is usable.
std::atomic<const OneDnn*> opened{nullptr};

// What limit_onednn() was asked for.
enum class Limit { kNone, kAvx2, kAvx512 };
std::mutex limit_mutex;
Limit limit = Limit::kNone;

bool apply(Limit wanted, const OneDnn& dnn) {
  if (wanted == Limit::kNone) return true;
  const bool avx2 = wanted == Limit::kAvx2;
  dnn.set_max_cpu_isa(avx2 ? dnnl_cpu_isa_avx2_vnni_2 : dnnl_cpu_isa_avx512_core_bf16);
  const unsigned effective = static_cast<unsigned>(dnn.get_effective_cpu_isa());
  const unsigned needed = avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_avx512_core;
  const bool enough = (effective & needed) == needed;
  return enough && (!avx2 || (effective & dnnl_cpu_isa_avx512_core) != dnnl_cpu_isa_avx512_core);
}

bool machine_has(Limit wanted) {
  if (wanted == Limit::kAvx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

bool is_right_kind(Library& library) {
  const dnnl_version_t& v = *library.functions.version();
  if (v.major == DNNL_VERSION_MAJOR && v.cpu_runtime == DNNL_RUNTIME_OMP) return true;
  library.explain("%s: oneDNN %d on OpenMP is wanted, and this is %d.%d%s", library_name, DNNL_VERSION_MAJOR, v.major,
                  v.minor, v.cpu_runtime == DNNL_RUNTIME_OMP ? "" : " on other threads");
  return false;
}

#ifdef BERTH_ONEDNN_LINKED

#define BERTH_LINKED(member, function) api.member = function;

bool fill(Library& result) {
  OneDnn& api = result.functions;
  BERTH_ONEDNN_FUNCTIONS(BERTH_LINKED)
  api.openmp = {omp_set_num_threads, omp_get_thread_num, GOMP_parallel};
  return is_right_kind(result);
}

#else

// The function that oneDNN itself calls by this name: the program's, where that has it, else the library's that oneDNN
// brings.
template <typename Function>
bool find_openmp(const SharedLibrary& library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr || library.find(name, function);
}

bool find_all(const SharedLibrary& library, OneDnn& api) {
  return true BERTH_ONEDNN_FUNCTIONS(BERTH_LIBRARY_FIND) &&
         find_openmp(library, "omp_set_num_threads", &api.openmp.set_num_threads) &&
         find_openmp(library, "omp_get_thread_num", &api.openmp.thread_num) &&
         find_openmp(library, "GOMP_parallel", &api.openmp.parallel);
}

bool fill(Library& result) {
  const SharedLibrary library(library_name);
  // Of another version functions are missing: its number says more.
  if (library.find("dnnl_version", &result.functions.version) && !is_right_kind(result)) return false;
  if (library.is_open() && find_all(library, result.functions)) return true;
  const char* reason = dlerror();
  if (reason == nullptr) reason = "it cannot be opened";
  // What cannot be opened may be a library that it needs, and then the reason has that one's name.
  const bool named = std::strstr(reason, library_name) != nullptr;
  result.explain("%s%s%s", named ? "" : library_name, named ? "" : ": ", reason);
  return false;
}

#endif

bool apply_limit(Library& library) {
  const std::lock_guard<std::mutex> lock(limit_mutex);
  if (!apply(limit, library.functions)) {
    library.explain("%s: it does not keep to the instruction set asked for", library_name);
    return false;
  }
  opened.store(&library.functions);
  return true;
}

// Never destroyed: methods may outlive static objects.
const Library& library() {
  static const Library& made = []() -> const Library& {
    Library* const result = new Library();
    result->usable = fill(*result) && apply_limit(*result);
    if (!result->usable) {
      log_message(LogLevel::kWarning, "there is no oneDNN, and kernels of our own take its work: %s", result->why_not);
    }
    return *result;
  }();
  return made;
}

}  // namespace

const OneDnn* onednn() { return library().usable ? &library().functions : nullptr; }

const OpenMp* onednn_openmp() { return onednn() == nullptr ? nullptr : &onednn()->openmp; }

bool onednn_is_open() { return opened.load() != nullptr; }

void open_onednn_as(const char* name) { library_name = name; }

std::string onednn_missing() { return library().why_not; }

std::string onednn_source() {
  const OneDnn* dnn = onednn();
  if (dnn == nullptr) return "";
  const dnnl_version_t& v = *dnn->version();
  const char* isa = "other";
  switch (dnn->get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: isa = "sse41"; break;
    case dnnl_cpu_isa_avx: isa = "avx"; break;
    case dnnl_cpu_isa_avx2:
    case dnnl_cpu_isa_avx2_vnni:
    case dnnl_cpu_isa_avx2_vnni_2: isa = "avx2"; break;
    case dnnl_cpu_isa_avx512_core:
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_fp16:
    case dnnl_cpu_isa_avx512_core_amx:
    case dnnl_cpu_isa_avx512_core_amx_fp16: isa = "avx512"; break;
    default: break;
  }
  return "onednn " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) + " " +
         isa;
}

bool limit_onednn(const char* isa) {
  const bool avx2 = std::strcmp(isa, "avx2") == 0;
  if (!avx2 && std::strcmp(isa, "avx512") != 0) return false;
  const Limit wanted = avx2 ? Limit::kAvx2 : Limit::kAvx512;
  const std::lock_guard<std::mutex> lock(limit_mutex);
  if (const OneDnn* dnn = opened.load()) return apply(wanted, *dnn);
  if ((limit != Limit::kNone && limit != wanted) || !machine_has(wanted)) return false;
  limit = wanted;
  return true;
}

}  // namespace berth::cpu
