/* Berth in C: compiles models to programs whose memory is planned to the byte, and runs them. docs/c_api.md leads
 * through it; examples/c is a whole program. Link with -lberth (pkg-config berth).
 *
 *   structures   Each begins with its size, which the caller sets, for those that are filled in as well: later versions
 *                add fields at the end; a field beyond the size is zero, always the default. In a list all have the
 *                size of the first. berth_device, berth_block, berth_option and plugin.h's plain data never change.
 *   handles      What an `open`, `load` or `create` gives is closed once. Closing null does nothing. What is used by
 *                something that is still open cannot be closed: BERTH_INVALID_STATE. What was closed already is not
 *                closed twice: BERTH_INVALID_ARGUMENT.
 *   ownership    What a function is given is valid until it returns, and what it gives as long as the handle that it
 *                was asked of, unless it says otherwise.
 *   errors       Functions that can fail return a code, BERTH_OK (0) for success, and say in `error`, which may be
 *                null, where and why. Then they have done nothing, and what pointers lead to is unchanged. No C++
 *                exception leaves them; a failed allocation is BERTH_MEMORY_ALLOCATION_FAILED.
 *   text         UTF-8 that ends with a zero.
 *   threads      A machine and a program may be used by several threads at once; a method, and a thread pool while a
 *                method that has it runs or loads, by one at a time. Threads are started by berth_threads_create(), and
 *                as many by oneDNN (OpenMP); by nothing else. A handle is closed by one thread.
 */
#ifndef BERTH_C_BERTH_H_
#define BERTH_C_BERTH_H_

#include <stddef.h>
#include <stdint.h>

#include "plugin/plugin.h" /* element types, codes, and the structures of devices, backends and one's own operators */

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_API_VERSION 1

#if defined(__GNUC__)
#define BERTH_API __attribute__((visibility("default")))
#else
#define BERTH_API
#endif

/* More codes, beside those of plugin/plugin.h; base/error.h has all. */
enum { BERTH_INVALID_STATE = 0x02, BERTH_END_OF_METHOD = 0x03, BERTH_INVALID_TYPE = 0x13 };
enum { BERTH_OPERATOR_MISSING = 0x14, BERTH_ALREADY_REGISTERED = 0x16, BERTH_ACCESS_FAILED = 0x22 };
enum { BERTH_INVALID_EXTERNAL_DATA = 0x24, BERTH_OUT_OF_RESOURCES = 0x25 };

typedef struct berth_error {
  size_t size;
  int32_t code;
  char place[236];   /* where: "model.pte: methods[0].values[7]", "inputs[2]"; may be empty */
  char message[768]; /* what was expected, what was found, what to try; one sentence */
} berth_error;

typedef struct berth_device {
  int32_t type; /* 0: the host; 1: cuda; 99: vulkan; 100: sim; 101 to 127: of applications (base/device.h) */
  int32_t index;
} berth_device;

typedef struct berth_block {
  void* data;
  size_t size;
} berth_block;

/* An option as `berth compile`, `inspect`, `verify` and `replan` have it (docs/command_line.md), without the dashes:
 * {"target", "cpu"}; {"no-inplace", NULL} is a switch. What takes a value is refused without one. */
typedef struct berth_option {
  const char* name;
  const char* value;
} berth_option;

typedef struct berth_blob berth_blob; /* bytes or a text of Berth's */

/* A file: by its path, as bytes, or through a function that reads. */
typedef struct berth_source {
  size_t size;
  const char* path; /* mapped: the file must not change until the handle is closed */
  /* If `path` is null: bytes, which must stay until the handle is closed. Of programs and data files they begin at a
   * multiple of 16; weights are used where they are. */
  berth_bytes bytes;
  /* If both are null: `read` copies `size` bytes from `offset` to `target`, for files that are encrypted, compressed or
   * elsewhere. `length` is the file's. Returns a code, and may say why. May be called from several threads at once,
   * until the handle is closed. What it reads passes the same checks. */
  uint64_t length;
  void* self;
  int32_t (*read)(void* self, uint64_t offset, size_t size, void* target, berth_message* message);
  int32_t copies;     /* not 0: the file at `path` is read into the heap instead of mapped */
  const char* method; /* of berth_compile(): what the model's one method is called; null: what the model says */
} berth_source;

BERTH_API const char* berth_version(void);           /* "0.1.0" */
BERTH_API int32_t berth_api_version(void);           /* BERTH_API_VERSION of the library */
BERTH_API const char* berth_code_name(int32_t code); /* "InvalidProgram"; "Unknown" for what is not a code */

/* ---- The machine: devices, backends and operators ---------------------------------------------------------------- */

/* Berth's own: the host with the backend "berth.cpu", simulated devices, and GPUs where it was built for them; and
 * those of plug-ins. Where a machine may be null, one with Berth's own parts alone is made. */
typedef struct berth_machine berth_machine;
typedef struct berth_machine_options {
  size_t size;
  /* Shared libraries (plugin/plugin.h). They run with all rights of the process, and are never unloaded. */
  const char* const* plugins;
  size_t num_plugins;
  /* The caller's own devices, backends, operators and targets: functions like berth_plugin_v1, which fill in the same
   * structures. What they give is valid until the process ends. */
  const berth_plugin_entry* entries;
  size_t num_entries;
} berth_machine_options;

/* BERTH_ALREADY_REGISTERED for an allocator of a device type that has one. `options` may be null. */
BERTH_API int32_t berth_machine_create(const berth_machine_options* options, berth_machine** machine,
                                       berth_error* error);
BERTH_API int32_t berth_machine_close(berth_machine* machine, berth_error* error);

/* Memory of a device, for inputs and outputs that live there. The host must not touch it. */
BERTH_API int32_t berth_machine_allocate(const berth_machine* machine, berth_device device, size_t bytes,
                                         size_t alignment, void** address, berth_error* error);
BERTH_API int32_t berth_machine_free(const berth_machine* machine, berth_device device, void* address,
                                     berth_error* error);
/* Between the host and a device, or within devices of one type. Complete on return; the ranges must not overlap. */
BERTH_API int32_t berth_machine_copy(const berth_machine* machine, berth_device target_device, void* target,
                                     berth_device source_device, const void* source, size_t bytes, berth_error* error);

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct berth_threads berth_threads;
/* A pool of the caller's own. `run` splits [0, count) into ranges of at least `grain`, calls `body` on all of them, on
 * as many threads as it likes, and returns when all are done. */
typedef struct berth_thread_pool {
  size_t size;
  void* self;
  int32_t threads; /* how many may call `body` at once, from 1 on */
  void (*run)(void* self, int64_t count, int64_t grain, void (*body)(void* context, int64_t begin, int64_t end),
              void* context);
} berth_thread_pool;

/* `count` threads, from 1 to 256, the calling one included. Methods that have them share the temp memory of kernels, so
 * sessions of one program need little but their arenas. */
BERTH_API int32_t berth_threads_create(int32_t count, berth_threads** threads, berth_error* error);
BERTH_API int32_t berth_threads_of_pool(const berth_thread_pool* pool, berth_threads** threads, berth_error* error);
BERTH_API int32_t berth_threads_close(berth_threads* threads, berth_error* error);

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

typedef struct berth_program berth_program;
/* Where the file says `from`, `to` is used. */
typedef struct berth_device_mapping {
  berth_device from;
  berth_device to;
  const char* method; /* null: in every method */
} berth_device_mapping;

/* The load of a program or method; a run; an instruction; a copy between devices; memory taken, on devices freed. */
enum { BERTH_EVENT_LOAD = 0, BERTH_EVENT_RUN = 1, BERTH_EVENT_INSTRUCTION = 2 };
enum { BERTH_EVENT_COPY = 3, BERTH_EVENT_MEMORY = 4 };

/* Begins and ends nest, but for those of memory. runtime/host/events.h says more of each field. */
typedef struct berth_event {
  size_t size;
  int32_t kind;
  int32_t is_end;
  const char* method; /* may be empty; "delegate" inside a delegate */
  const char* name;   /* of an instruction its operator or backend; "program", "method", "arena", "temp", "device" */
  uint64_t index;     /* of an instruction; of an arena, from 1 on */
  uint64_t bytes;     /* of copies and memory */
  berth_device device;
  berth_device source; /* of a copy */
  int32_t code;        /* how it ended */
  uint64_t nanoseconds;
} berth_event;

/* Is told what happens to a program and its methods, on the threads where it happens. */
typedef struct berth_observer {
  size_t size;
  void* self;
  void (*event)(void* self, const berth_event* event);
} berth_observer;

/* Collects events, and writes them for Chrome's trace viewer: an observer for berth_load_options. */
typedef struct berth_trace berth_trace;
BERTH_API int32_t berth_trace_create(berth_trace** trace, berth_error* error);
BERTH_API const berth_observer* berth_trace_observer(const berth_trace* trace);
BERTH_API int32_t berth_trace_json(const berth_trace* trace, berth_blob** json, berth_error* error);
BERTH_API int32_t berth_trace_close(berth_trace* trace, berth_error* error);

typedef struct berth_load_options {
  size_t size;
  const berth_machine* machine;
  const berth_device_mapping* devices;
  size_t num_devices;
  /* Data files (.ptd) with constants that the program does not contain. If there are none, and a program that is a file
   * needs one: the file beside it with its name, model.ptd for model.pte. */
  const berth_source* data;
  size_t num_data;
  int32_t trusted;    /* not 0: only what a valid file needs to be read is checked; a damaged one may crash */
  berth_block memory; /* of the handle: berth_program_bytes() bytes at a multiple of 64; null: on the heap */
  const berth_observer* observer; /* must stay until the program is closed */
} berth_load_options;

/* Loads a program and checks all of it. `options` may be null. */
BERTH_API int32_t berth_program_open(const berth_source* source, const berth_load_options* options,
                                     berth_program** program, berth_error* error);
BERTH_API int32_t berth_program_close(berth_program* program, berth_error* error);
BERTH_API size_t berth_program_bytes(void);
/* Other data files from now on, such as other weights of the same model: for methods that are loaded from now on. Frees
 * the old ones. BERTH_INVALID_STATE while a method is loaded; where these do not fit, the old ones stay. */
BERTH_API int32_t berth_program_set_data(berth_program* program, const berth_source* data, size_t num_data,
                                         berth_error* error);
BERTH_API size_t berth_program_num_methods(const berth_program* program);
BERTH_API const char* berth_program_method_name(const berth_program* program, size_t index); /* null: there is none */

typedef struct berth_method_info {
  size_t size;
  size_t num_inputs;
  size_t num_outputs;
  size_t num_arenas;
  size_t num_instructions;
  size_t num_delegates;
} berth_method_info;
BERTH_API int32_t berth_program_method(const berth_program* program, const char* method, berth_method_info* info,
                                       berth_error* error);
/* The name of the backend of a delegate; null when there is none. */
BERTH_API const char* berth_program_delegate(const berth_program* program, const char* method, size_t index);

/* What an input or output is. */
enum { BERTH_IS_TENSOR = 0, BERTH_IS_INT = 1, BERTH_IS_DOUBLE = 2, BERTH_IS_BOOL = 3, BERTH_IS_OTHER = 4 };

typedef struct berth_port {
  size_t size;
  const char* name; /* the model's; empty if the program does not say */
  const char* node; /* of the model, that computes it; may be empty */
  int32_t kind;
  /* Of tensors: */
  int32_t dtype;
  int32_t rank;
  int32_t is_dynamic; /* not 0: sizes are those that it has at most */
  const int32_t* sizes;
  const uint8_t* dim_order; /* the dimension of each position in memory, outermost first */
  berth_device device;
  int32_t is_planned; /* not 0: in an arena, to which set_input copies; 0: in the caller's memory (`device-io`) */
  uint64_t bytes;     /* with these sizes */
} berth_port;
BERTH_API int32_t berth_program_input(const berth_program* program, const char* method, size_t index, berth_port* port,
                                      berth_error* error);
BERTH_API int32_t berth_program_output(const berth_program* program, const char* method, size_t index, berth_port* port,
                                       berth_error* error);

typedef struct berth_arena {
  size_t size;
  uint64_t bytes;
  size_t alignment; /* of its address */
  berth_device device;
} berth_arena;
BERTH_API int32_t berth_program_arena(const berth_program* program, const char* method, size_t index,
                                      berth_arena* arena, berth_error* error);

/* All memory of a method but its arenas, at multiples of 64. */
typedef struct berth_memory_needed {
  size_t size;
  uint64_t method_bytes; /* the handle, and what the method keeps */
  uint64_t temp_bytes;   /* of kernels while they run */
  uint64_t arena_bytes;  /* of all arenas, for information */
} berth_memory_needed;

/* The memory that berth_method_load() needs, computed by the code that takes it, in `scratch`: method_bytes are enough.
 * With less, BERTH_MEMORY_ALLOCATION_FAILED, and `needed` has method_bytes and arena_bytes. Null: on the heap.
 * `threads` may be null for one. */
BERTH_API int32_t berth_program_memory(const berth_program* program, const char* method, const berth_threads* threads,
                                       berth_block scratch, berth_memory_needed* needed, berth_error* error);

/* ---- Methods ----------------------------------------------------------------------------------------------------- */

typedef struct berth_method berth_method;
typedef struct berth_arenas berth_arenas;

/* Arenas for all methods of a program, which are not run at the same time; methods that share state need them. Taken
 * from the heap and the devices. Load all methods before the first run. */
BERTH_API int32_t berth_arenas_create(const berth_program* program, berth_arenas** arenas, berth_error* error);
BERTH_API int32_t berth_arenas_close(berth_arenas* arenas, berth_error* error);

/* Memory of the caller's. Nothing is taken but this, and what devices and backends take for themselves. */
typedef struct berth_memory {
  size_t size;
  berth_block method; /* berth_memory_needed */
  berth_block temp;
  /* One for each arena, as berth_program_arena() describes it. A null address with its size: it comes later
   * (berth_method_set_arena), and cannot hold state. */
  const berth_block* arenas;
  size_t num_arenas;
} berth_memory;

typedef struct berth_method_options {
  size_t size;
  berth_threads* threads;     /* null: the calling thread alone */
  const berth_memory* memory; /* null: from the heap and the devices. The memory must stay until the method is closed */
  berth_arenas* arenas;       /* null: the method's own. Not together with `memory` */
  /* Not 0: what the first run would do once is done now: pages of arenas and weights are made resident, backends warm
   * up. Not together with `memory`. */
  int32_t resident;
} berth_method_options;

/* Loads a method, ready to run: proves that its memory plan overwrites nothing that is still read, finds all kernels,
 * loads delegates, and gives state its initial value. `options` may be null. */
BERTH_API int32_t berth_method_load(berth_program* program, const char* method, const berth_method_options* options,
                                    berth_method** loaded, berth_error* error);
BERTH_API int32_t berth_method_close(berth_method* method, berth_error* error);

/* Elements in memory. */
typedef struct berth_array {
  size_t size;
  void* data; /* aligned to the element's size; inputs are only read, unless the program writes its input */
  size_t bytes;
  int32_t dtype;
  int32_t rank;
  const int32_t* sizes;
  const uint8_t* dim_order; /* the dimension of each position in memory, outermost first; null: row-major */
  berth_device device;
} berth_array;

/* The index of an input or output of this name, or of "in0", "out0" where the program has no names; -1: none. */
BERTH_API int64_t berth_method_find_input(const berth_method* method, const char* name);
BERTH_API int64_t berth_method_find_output(const berth_method* method, const char* name);

/* Sets an input for the next run. One that is planned is copied, so that `array` may go. One that is not is used where
 * it is, until the last run. Numbers and texts are compiled in and set already. BERTH_INVALID_ARGUMENT for another
 * type, rank, size or dimension order than the program's, or too few bytes; BERTH_NOT_SUPPORTED for another device. */
BERTH_API int32_t berth_method_set_input(berth_method* method, size_t index, const berth_array* array,
                                         berth_error* error);
/* The same for every run from now on: each reads the elements that are at `array->data` then. Null ends that. */
BERTH_API int32_t berth_method_bind_input(berth_method* method, size_t index, const berth_array* array,
                                          berth_error* error);
/* Each run from now on leaves the output in this memory, on the host or on the output's device: at least
 * berth_port.bytes bytes. One that is planned is copied there. `dtype`, `rank` and `sizes` are not looked at. Null ends
 * that for a planned output. */
BERTH_API int32_t berth_method_bind_output(berth_method* method, size_t index, const berth_array* array,
                                           berth_error* error);
/* The bytes that each arena needs for inputs of these sizes, where arenas follow them (docs/plan.md), and what
 * berth_program_arena() says elsewhere. Of each input's array only `rank` and `sizes` are looked at, -1 for one that is
 * not known. BERTH_INVALID_ARGUMENT for sizes that the method does not take, and for other numbers of entries. */
BERTH_API int32_t berth_method_planned_bytes(berth_method* method, const berth_array* inputs, size_t num_inputs,
                                             uint64_t* bytes, size_t num_arenas, berth_error* error);
/* The memory of an arena that had none at load; another one between two runs. At least berth_method_planned_bytes(). */
BERTH_API int32_t berth_method_set_arena(berth_method* method, size_t index, berth_block memory, berth_error* error);

/* Runs the method and waits for its devices. After an error it can be run again. */
BERTH_API int32_t berth_method_run(berth_method* method, berth_error* error);
/* Runs the next instruction; *done is not 0 after the last. berth_method_end_run() ends such a run before that. */
BERTH_API int32_t berth_method_step(berth_method* method, int32_t* done, berth_error* error);
BERTH_API int32_t berth_method_end_run(berth_method* method, berth_error* error);
/* An output of the last run: valid until the next, or until another method with the same arenas runs. A number or truth
 * value is an array of rank 0. BERTH_NOT_SUPPORTED for a text, a list or None. */
BERTH_API int32_t berth_method_output(const berth_method* method, size_t index, berth_array* array, berth_error* error);

/* States: tensors that keep their values from one run to the next, such as a language model's caches. Not those that
 * backends keep in memory of their own. Saved and set again they continue where they were, in any process. */
BERTH_API size_t berth_method_num_states(const berth_method* method);
/* What a state is: `name` is that of the file, empty where it has none; `bytes` are what it takes. */
BERTH_API int32_t berth_method_state(const berth_method* method, size_t index, berth_port* port, berth_error* error);
/* The index of the state of this name, or of "state2" for state 2 if it has none; -1: there is none. */
BERTH_API int64_t berth_method_find_state(const berth_method* method, const char* name);
/* Copies a state to at least berth_port.bytes bytes on the host, the elements in its dimension order.
 * BERTH_INVALID_STATE while a run that berth_method_step() began is in progress. */
BERTH_API int32_t berth_method_get_state(berth_method* method, size_t index, void* data, size_t bytes,
                                         berth_error* error);
/* Sets a state to an array on the host; the next run goes on from there, in all methods that share it.
 * BERTH_INVALID_ARGUMENT for another type, rank, size or dimension order than the state's, or too few bytes. */
BERTH_API int32_t berth_method_set_state(berth_method* method, size_t index, const berth_array* array,
                                         berth_error* error);

/* ---- Compiling, and looking into files --------------------------------------------------------------------------- */

/* Its bytes, at a multiple of 16; a zero stands behind a text. */
BERTH_API berth_bytes berth_blob_bytes(const berth_blob* blob);
BERTH_API int32_t berth_blob_close(berth_blob* blob, berth_error* error);

typedef struct berth_compile_options {
  size_t size;
  const berth_machine* machine; /* its plug-ins' targets and operators are known */
  const berth_option* options;  /* of `berth compile` but --output and --json */
  size_t num_options;
  const char* output; /* the file, written whole or not at all: weights need no memory; null: *program is made */
} berth_compile_options;

/* Compiles models (.onnx, .pt2, .pte, IR text) to one program. Of models that are not files, external weights are not
 * found. `options` may be null; so may `program`, if there is an output, and `report`, which gets the tool's JSON. */
BERTH_API int32_t berth_compile(const berth_source* models, size_t num_models, const berth_compile_options* options,
                                berth_blob** program, berth_blob** report, berth_error* error);
/* What is in a program, a model or a data file, as `berth inspect` says it; {"json", NULL} for JSON. */
BERTH_API int32_t berth_inspect(const berth_source* file, const berth_option* options, size_t num_options,
                                berth_blob** text, berth_error* error);
/* Whether a program is sound, as `berth verify` judges it: BERTH_OK, and in `text`, if not null, what was checked. */
BERTH_API int32_t berth_verify(const berth_source* file, const berth_option* options, size_t num_options,
                               berth_blob** text, berth_error* error);
/* A better memory plan for a program, and nothing else changed. `output` and `report` as of berth_compile(). */
BERTH_API int32_t berth_replan(const berth_source* file, const char* output, berth_blob** program, berth_blob** report,
                               berth_error* error);

#ifdef __cplusplus
}
#endif

#endif /* BERTH_C_BERTH_H_ */
