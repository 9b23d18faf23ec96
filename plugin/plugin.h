/* The C interface of plug-ins: a target that compiles parts of a model for a device, the backend that runs them, the
 * allocator of the device's memory, and operators that Berth does not have. A plug-in is a shared library that links
 * nothing of Berth and exports one function:
 *
 *     int32_t berth_plugin_v1(const berth_host* host, berth_plugin* plugin);
 *
 * It fills in `plugin` and returns BERTH_OK; plugin/target.h does that in C++ from classes.
 * `berth compile --plugin FILE` uses the targets and the operators' shape rules, `berth run --plugin FILE` the
 * allocators, the backends and the operators' kernels; applications call Plugin::open (plugin/load_plugin.h).
 *
 * Rules for both sides
 *
 *   versions     This header is version 1. Each structure of functions begins with its size, as the side that fills it
 *                in knows it: later headers add fields at the end, and a field beyond the size counts as zero.
 *                Structures of plain data never change within a version.
 *   text         UTF-8 that ends with a zero. Null counts as empty.
 *   ownership    What a function is given is valid until it returns, unless said otherwise. What a plug-in puts into
 *                berth_plugin, and what that points to, is valid until the process ends: plug-ins are never unloaded.
 *   errors       Functions that can fail return a code of base/error.h, BERTH_OK for success, and may say why in a
 *                sentence in `message`. Exceptions must not leave a function.
 *   threads      A target and the infer() of an operator are used by one thread at a time. Allocators, backends and the
 *                compute() of an operator may be used by several at once; what backend->load returned, by one at a
 *                time.
 */
#ifndef BERTH_PLUGIN_PLUGIN_H_
#define BERTH_PLUGIN_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_PLUGIN_VERSION 1
#define BERTH_PLUGIN_ENTRY "berth_plugin_v1"

/* The codes that plug-ins need; base/error.h has the others. */
enum {
  BERTH_OK = 0x00,
  BERTH_INTERNAL = 0x01,
  BERTH_NOT_SUPPORTED = 0x10,
  BERTH_INVALID_ARGUMENT = 0x12,
  BERTH_NOT_FOUND = 0x20,
  BERTH_MEMORY_ALLOCATION_FAILED = 0x21,
  BERTH_INVALID_PROGRAM = 0x23,
  BERTH_DELEGATE_INVALID_COMPATIBILITY = 0x30
};

/* Element types: ExecuTorch's numbers. */
enum {
  BERTH_U8 = 0,
  BERTH_I8 = 1,
  BERTH_I16 = 2,
  BERTH_I32 = 3,
  BERTH_I64 = 4,
  BERTH_F16 = 5,
  BERTH_F32 = 6,
  BERTH_F64 = 7,
  BERTH_BOOL = 11,
  BERTH_BF16 = 15
};

/* Room for one sentence, ended by a zero. */
typedef struct berth_message {
  char text[240];
} berth_message;

typedef struct berth_bytes {
  const void* data; /* may be null when size is 0 */
  size_t size;
} berth_bytes;

/* A compile spec: an option of a delegate, from `--spec TARGET:KEY=VALUE` or from the target itself. */
typedef struct berth_spec {
  const char* key;
  berth_bytes value;
} berth_spec;

/* ---- Compiling: a part of a model as plain data ------------------------------------------------------------------ */

/* Where a value comes from. */
enum { BERTH_FROM_INPUT = 0, BERTH_FROM_CONSTANT = 1, BERTH_FROM_NODE = 2 };

/* A tensor, or a single number if `rank` is -1. */
typedef struct berth_value {
  const char* name;
  int32_t from;
  int32_t dtype; /* BERTH_I64, BERTH_F64 or BERTH_BOOL of numbers */
  int32_t rank;
  int32_t users;            /* nodes that read it, in all of the method, and outputs that are it */
  const int64_t* max_sizes; /* rank of them */
  const int64_t* min_sizes; /* the same where the size is always one */
  const uint8_t* dim_order; /* rank of them: the dimension of each position in memory, outermost first */
  berth_bytes constant;     /* the elements of a constant, in dim_order, little-endian; valid until the call returns */
} berth_value;

enum {
  BERTH_ARG_NONE = 0,    /* an optional argument that is not given */
  BERTH_ARG_VALUE = 1,   /* values[0] */
  BERTH_ARG_VALUES = 2,  /* a list of values; -1 for one that is not given */
  BERTH_ARG_INTS = 3,    /* one or several; a size that is only known at run time is -1 */
  BERTH_ARG_DOUBLES = 4, /* one or several */
  BERTH_ARG_BOOLS = 5,   /* one or several, as 0 and 1 in ints */
  BERTH_ARG_TEXT = 6,
  BERTH_ARG_DTYPE = 7, /* ints[0] */
  BERTH_ARG_OTHER = 8  /* something that this version cannot say */
};

typedef struct berth_argument {
  const char* name; /* of the operator's schema: "self", "dim" */
  int32_t kind;
  int32_t is_list;
  size_t count;
  const int32_t* values; /* indices into berth_graph.values */
  const int64_t* ints;
  const double* doubles;
  const char* text;
} berth_argument;

typedef struct berth_node {
  const char* op;                  /* "aten::add.Tensor" */
  const char* source;              /* where the model says it; may be empty */
  const berth_argument* arguments; /* one a parameter of the schema, in its order */
  size_t num_arguments;
  const int32_t* results; /* indices into berth_graph.values */
  size_t num_results;
} berth_node;

/* Nodes in the order of execution: each reads inputs, constants and results of nodes before it. */
typedef struct berth_graph {
  const berth_value* values;
  size_t num_values;
  const berth_node* nodes;
  size_t num_nodes;
  const int32_t* inputs; /* in the order of the call's arguments */
  size_t num_inputs;
  const int32_t* outputs; /* the same, after the inputs */
  size_t num_outputs;
} berth_graph;

/* What preprocess() gives back. Everything is copied. */
typedef struct berth_sink {
  size_t size;
  void* self;
  /* The payload. Called once; later calls append. */
  void (*payload)(void* self, const void* data, size_t size);
  /* Adds a compile spec to the delegate. */
  void (*spec)(void* self, const char* key, const void* value, size_t size);
  /* Adds a blob that the program stores once, however many delegates give the same bytes under the same key. */
  void (*named_data)(void* self, const char* key, const void* data, size_t size);
  /* Bytes of the device's memory that each call gets as its last argument, a tensor of bytes after the outputs, planned
   * with everything else. Not called: none, and no such argument. */
  void (*scratch)(void* self, size_t bytes);
  /* Bytes of the device's memory that keep from one call to the next what the delegate writes there: a tensor of bytes
   * that each call gets behind the inputs. They hold at first what `initial` has, zeros if it is null. Delegates of one
   * target that give the same `name`, in whatever method, share the bytes; null or "" is for a delegate alone. Called
   * once at most. Not there in hosts of an earlier header: see `size`. */
  void (*state)(void* self, const char* name, size_t bytes, const void* initial);
} berth_sink;

/* What together() gives back. `nodes` are indices into berth_graph.nodes, and are copied. */
typedef struct berth_sets {
  size_t size;
  void* self;
  /* These nodes are in one delegate, or none of them is in one. Sets that share a node are one set. */
  void (*together)(void* self, const int32_t* nodes, size_t num_nodes);
  /* The target does not want these after all. */
  void (*leave)(void* self, const int32_t* nodes, size_t num_nodes);
} berth_sets;

/* Sizes 0 mean "no limit" and "the default". Berth's own targets are made of this and nothing else:
 * compiler/targets/own/.
 *
 * With preprocess(), delegates have payloads of the target's own. Without it they are nested programs: Berth compiles
 * and plans the regions, and a NestedBackend (backends/nested/nested_backend.h) runs them with kernels of its own.
 * Without a backend there are no delegates: what the target takes stays in the program. */
typedef struct berth_target {
  size_t size;
  void* self;
  /* What --target says: "mine". Lower-case letters, digits and underscores, and not a target of Berth's. */
  const char* name;
  /* The name that programs give their delegates. It begins with "berth." when there is no preprocess(), and must not
   * otherwise. Null: no delegates, and then there is neither preprocess() nor a device type. */
  const char* backend;
  /* 0 for the host: "--target mine". Otherwise a device type that exists or is among berth_plugin.device_types:
   * "--target mine:0" is its device 0. */
  int32_t device_type;

  size_t most_nodes; /* of one delegate */
  size_t most_inputs;
  size_t most_outputs;
  /* In bytes. Where a delegate's inputs and outputs begin: a power of two; 16 by default. */
  size_t alignment;
  /* Bytes after the last tensor of each arena of a method that calls a delegate, which its kernels may read. */
  size_t padding;
  /* Not 0: a call only computes its outputs. Otherwise calls keep their order and none is dropped. */
  int32_t is_pure;

  /* Whether the target takes the one node of `node`, whose inputs and outputs are the node's. BERTH_NOT_SUPPORTED for
   * no, with the reason in `message`, which `--why partition` prints; any other error ends the compilation. Specs are
   * those of the command line. Never asked about control flow, state and copies, nor, with a backend, about random
   * numbers and sizes that depend on data. Without preprocess() it may be null: the target takes every node that it
   * would be asked about. */
  int32_t (*takes)(void* self, const berth_graph* node, const berth_spec* specs, size_t num_specs,
                   berth_message* message);
  /* Compiles a region for one delegate. */
  int32_t (*preprocess)(void* self, const berth_graph* region, const berth_spec* specs, size_t num_specs,
                        const berth_sink* sink, berth_message* message);

  /* From here on, a target that was made before may end earlier. */

  /* Not 0: the kernels of the backend, or preprocess(), know what fusion makes: the operators "berth::…" at the end of
   * format/operators.def, which portable::kernels() has all of. */
  int32_t fuses;
  /* Not 0: images are faster with their channels innermost. 2: the constant weights of convolutions and of linear
   * layers are given with what is summed over innermost too. */
  int32_t channels_last;
  /* Not 0: weights are packed for the kernels of CpuBackend, for the instruction set of --cpu. */
  int32_t packs_weights;
  /* What takes() cannot see: may be null. Called once for each graph of each method, with all nodes of it that the
   * target takes and gets; inputs are what they read from elsewhere, outputs what is read elsewhere. */
  int32_t (*together)(void* self, const berth_graph* taken, const berth_spec* specs, size_t num_specs,
                      const berth_sets* sets, berth_message* message);
} berth_target;

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* A queue of work of one device, as create_stream() made it; null: work is complete when a call returns. */
typedef void* berth_stream;

/* runtime/device_allocator.h says what each function promises. `index` is the device's. */
typedef struct berth_allocator {
  size_t size;
  void* self;
  int32_t device_type;
  int32_t (*allocate)(void* self, size_t bytes, int32_t index, size_t alignment, void** address);
  void (*deallocate)(void* self, void* address, int32_t index);
  int32_t (*copy_host_to_device)(void* self, void* target, const void* source, size_t bytes, int32_t index,
                                 berth_stream stream);
  int32_t (*copy_device_to_host)(void* self, void* target, const void* source, size_t bytes, int32_t index,
                                 berth_stream stream);
  int32_t (*copy_device_to_device)(void* self, void* target, int32_t target_index, const void* source,
                                   int32_t source_index, size_t bytes, berth_stream stream);
  /* The rest may be null: one device, and no streams. All of the stream's functions or none. */
  int32_t (*device_count)(void* self);
  int32_t (*create_stream)(void* self, int32_t index, berth_stream* stream);
  void (*destroy_stream)(void* self, berth_stream stream, int32_t index);
  int32_t (*synchronize)(void* self, berth_stream stream, int32_t index);
  int32_t (*record)(void* self, berth_stream stream, int32_t index);
  int32_t (*wait)(void* self, berth_stream stream, int32_t index, berth_stream other, int32_t other_index);
  int32_t is_gpu; /* not zero: programs that run on whatever GPU is there may run here */
} berth_allocator;

/* A delegate as the file has it. */
typedef struct berth_delegate {
  berth_bytes payload; /* valid until unload() */
  const berth_spec* specs;
  size_t num_specs;
  int32_t device_type; /* where it runs, after --map-device */
  int32_t device_index;
  /* The blob of the program's file or of its data files with this key; BERTH_NOT_FOUND when there is none. It is valid
   * until unload(). To be called in load() only. */
  void* files;
  int32_t (*named_data)(void* files, const char* key, berth_bytes* blob);
} berth_delegate;

typedef struct berth_tensor {
  void* data;      /* an address of the delegate's device */
  size_t bytes;    /* of its elements with its sizes */
  size_t capacity; /* bytes that there are */
  int32_t dtype;
  int32_t rank;
  /* rank of them. An output whose sizes are not always the same has those of the last run, and the call sets them; what
   * exceeds the capacity is refused. */
  int32_t* sizes;
  const uint8_t* dim_order; /* rank of them: the dimension of each position in memory, outermost first */
} berth_tensor;

typedef struct berth_backend {
  size_t size;
  void* self;
  const char* name; /* berth_target.backend */
  int32_t (*serves)(void* self, int32_t device_type);
  /* Checks the payload, which may be damaged, and makes what execute() needs, `handle`. May use the heap. */
  int32_t (*load)(void* self, const berth_delegate* delegate, void** handle, berth_message* message);
  /* `arguments` are the inputs, the state if there is one, the outputs, and the scratch if there is one. With a stream,
   * the work may still be in progress when this returns. Must not use the heap if programs are to run without one. */
  int32_t (*execute)(void* self, void* handle, const berth_tensor* arguments, size_t num_arguments, berth_stream stream,
                     berth_message* message);
  void (*unload)(void* self, void* handle);
} berth_backend;

/* ---- Operators of one's own -------------------------------------------------------------------------------------- */

/* What a shape rule answers with. A size is a number from 0 on, or, where it is only known at run time, a number below
 * BERTH_NO_NUMBER that these functions return: it stands for the size until the rule returns, and for that size
 * alone. */
#define BERTH_NO_NUMBER (-(INT64_C(1) << 62))
typedef struct berth_types {
  size_t size;
  void* self;
  /* The size of a dimension of berth_graph.values[value]. */
  int64_t (*dim)(void* self, int32_t value, int32_t dimension);
  int64_t (*add)(void* self, int64_t a, int64_t b);
  int64_t (*multiply)(void* self, int64_t a, int64_t b);
  int64_t (*divide)(void* self, int64_t a, int64_t b); /* rounds down; b is a number from 1 on */
  /* Adds the type of the next result, rank of sizes. */
  void (*result)(void* self, int32_t dtype, const int64_t* sizes, int32_t rank);
  /* A size that depends on what the arguments hold, of an operator that is sized_by_contents: from 0 to `most`, a
   * number or a size. One of a call: asked again, it is the same. Not there in hosts of an earlier header: see
   * `size`. */
  int64_t (*contents)(void* self, int64_t most);
} berth_types;

/* An argument of a kernel's call: one for each of the schema, the results last. */
typedef struct berth_call_argument {
  int32_t kind;          /* BERTH_ARG_NONE, VALUE, VALUES, INTS, DOUBLES, BOOLS or TEXT; a dtype is one of INTS */
  size_t count;          /* of tensors or numbers, or of bytes of text */
  berth_tensor* tensors; /* on the host; of a list, one that is not given has rank -1 */
  const int64_t* ints;
  const double* doubles;
  const char* text; /* not ended by a zero */
} berth_call_argument;

typedef struct berth_operator {
  size_t size;
  void* self;
  /* "my::gain", or "my::gain.Tensor" of several overloads: base/operator_name.h. */
  const char* name;
  /* The overload of the kernel in programs. Null: "out", or of "my::gain.Tensor" "Tensor_out". */
  const char* out_overload;
  /* In the language of format/operators.def: "Tensor self, float factor=1 -> Tensor out". One or several results
   * `Tensor x`, or one `Tensor[] x`; at most 32 parameters and results. */
  const char* schema;
  /* Bit i: the first result may lie on argument i, a tensor or a list, if it has the result's sizes, order and element
   * size. Then the kernel writes each element after all that depends on it was read. */
  uint32_t in_place;
  /* Not 0: a call does more than compute its results, so calls keep their order and none is dropped. */
  int32_t has_effects;
  /* The shape rule, for the compiler: `call` has one node without results; values have no users. */
  int32_t (*infer)(void* self, const berth_graph* call, const berth_types* types, berth_message* message);
  /* The kernel, for the runtime. A result whose sizes are not always the same has those of the last call, and this one
   * sets them; what exceeds the capacity is refused. Of a call there are at most 64 tensors, and 256 numbers in lists.
   * One of the two functions may be null: then the plug-in has the other half only. */
  int32_t (*compute)(void* self, const berth_call_argument* arguments, size_t num_arguments, berth_message* message);

  /* From here on, an operator that was made before may end earlier. */

  /* Not 0: the first dimension of the first result is berth_types.contents, which the kernel sets; it may be that of
   * other results as well, and no other dimension. Equal calls have equal sizes, so not together with has_effects. */
  int32_t sized_by_contents;
} berth_operator;

/* ---- The plug-in ------------------------------------------------------------------------------------------------- */

typedef struct berth_device_type {
  const char* name;
  int32_t number; /* 101 to 127, stored in programs: never change it */
} berth_device_type;

typedef struct berth_host {
  size_t size;
  int32_t version;           /* BERTH_PLUGIN_VERSION of the host */
  const char* berth_version; /* for messages: "0.1.0" */
} berth_host;

/* Filled in by berth_plugin_v1; zero when it is called, but for `size`, which is the host's. */
typedef struct berth_plugin {
  size_t size;
  const char* name; /* for messages */
  const berth_device_type* device_types;
  size_t num_device_types;
  const berth_target* const* targets;
  size_t num_targets;
  const berth_allocator* const* allocators;
  size_t num_allocators;
  const berth_backend* const* backends;
  size_t num_backends;
  berth_message message; /* why it failed */
  const berth_operator* const* operators;
  size_t num_operators;
} berth_plugin;

typedef int32_t (*berth_plugin_entry)(const berth_host* host, berth_plugin* plugin);

#ifdef __cplusplus
}
#endif

#endif /* BERTH_PLUGIN_PLUGIN_H_ */
