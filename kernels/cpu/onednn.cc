#include "kernels/cpu/onednn.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/cpu/onednn_library.h"

namespace berth::cpu {
namespace {

// REQUIRES: it could be opened.
const OneDnn& dnn() { return *onednn(); }

dnnl_engine_t engine() {
  static const dnnl_engine_t made = [] {
    dnnl_engine_t e = nullptr;
    return dnn().engine_create(&e, dnnl_cpu, 0) == dnnl_success ? e : nullptr;
  }();
  return made;
}

// Calls a function of oneDNN's when it goes out of scope.
template <typename T, dnnl_status_t (*OneDnn::*kDestroy)(T)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) (dnn().*kDestroy)(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* out() { return &value_; }
  T get() const { return value_; }

 private:
  T value_ = nullptr;
};

using MemoryDesc = Owned<dnnl_memory_desc_t, &OneDnn::memory_desc_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, &OneDnn::primitive_attr_destroy>;
using PostOps = Owned<dnnl_post_ops_t, &OneDnn::post_ops_destroy>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t, &OneDnn::primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, &OneDnn::primitive_destroy>;
using Memory = Owned<dnnl_memory_t, &OneDnn::memory_destroy>;
using Stream = Owned<dnnl_stream_t, &OneDnn::stream_destroy>;

bool make_attributes(const Finish& finish, Attributes& attributes) {
  PostOps ops;
  if (dnn().primitive_attr_create(attributes.out()) != dnnl_success ||
      dnn().primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user) != dnnl_success ||
      dnn().post_ops_create(ops.out()) != dnnl_success) {
    return false;
  }
  if (finish.residual != 0 && dnn().post_ops_append_sum(ops.get(), 1, 0, dnnl_data_type_undef) != dnnl_success) {
    return false;
  }
  return dnn().primitive_attr_set_post_ops(attributes.get(), ops.get()) == dnnl_success;
}

// Null strides: whatever oneDNN likes.
bool describe(int rank, const int64_t* sizes, const int64_t* strides, MemoryDesc& desc) {
  if (strides == nullptr) {
    return dnn().memory_desc_create_with_tag(desc.out(), rank, sizes, dnnl_f32, dnnl_format_tag_any) == dnnl_success;
  }
  return dnn().memory_desc_create_with_strides(desc.out(), rank, sizes, dnnl_f32, strides) == dnnl_success;
}

// oneDNN wants true strides along an axis of one pixel too.
bool describe_activation(const ConvSpec& s, const int64_t (&pixels)[2], int64_t channels, const int64_t (&known)[4],
                         MemoryDesc& desc) {
  const int64_t sizes[4] = {s.batch, channels, pixels[0], pixels[1]};
  const int64_t last[4] = {channels * pixels[0] * pixels[1], 1, channels * pixels[1], channels};
  const int64_t first[4] = {channels * pixels[0] * pixels[1], pixels[0] * pixels[1], pixels[1], 1};
  for (const auto& strides : {last, first}) {
    bool same = true;
    for (int i = 0; i < 4; ++i) same = same && (known[i] == 0 || known[i] == strides[i]);
    if (same) return describe(4, sizes, strides, desc);
  }
  return false;
}

bool read_layout(const_dnnl_memory_desc_t desc, WeightLayout* layout) {
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  const auto query = [&](dnnl_query_t what, void* result) {
    return dnn().memory_desc_query(desc, what, result) == dnnl_success;
  };
  if (!query(dnnl_query_format_kind, &kind) || kind != dnnl_blocked) return false;
  int blocks = 0;
  int dims = 0;
  const dnnl_dims_t* sizes = nullptr;
  const dnnl_dims_t* strides = nullptr;
  const dnnl_dims_t* inner = nullptr;
  const dnnl_dims_t* owners = nullptr;
  if (!query(dnnl_query_ndims_s32, &dims) || !query(dnnl_query_inner_nblks_s32, &blocks) ||
      !query(dnnl_query_dims, &sizes) || !query(dnnl_query_strides, &strides) ||
      !query(dnnl_query_inner_blks, &inner) || !query(dnnl_query_inner_idxs, &owners)) {
    return false;
  }
  if (dims > WeightLayout::kMaxDims || blocks > WeightLayout::kMaxBlocks) return false;
  layout->dims = dims;
  layout->blocks = blocks;
  for (int i = 0; i < dims; ++i) {
    layout->size[i] = (*sizes)[i];
    layout->stride[i] = (*strides)[i];
  }
  for (int i = 0; i < blocks; ++i) {
    layout->block[i] = (*inner)[i];
    layout->block_dim[i] = static_cast<int>((*owners)[i]);
  }
  // What else a format may ask for, sums beside the elements say, would show in its size.
  return dnn().memory_desc_get_size(desc) == layout->packed_numel() * sizeof(float);
}

// What models have. oneDNN reckons in 32 bits, and files may ask for anything.
bool is_ordinary(const ConvSpec& s) {
  constexpr int64_t kMostStep = 4096;
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    if (s.stride[i] > kMostStep || s.dilation[i] > kMostStep || s.padding[i] > reach) return false;
  }
  return true;
}

bool make_desc(const ConvSpec& s, PrimitiveDesc& desc) {
  if (!is_ordinary(s)) return false;
  MemoryDesc in, weight, bias, out;
  Attributes attributes;
  const int64_t grouped[5] = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel[0], s.kernel[1]};
  const bool groups = s.groups > 1;
  const int64_t dilates[2] = {s.dilation[0] - 1, s.dilation[1] - 1};
  int64_t end[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    end[i] = s.transposed != 0 ? (s.in[i] - 1) * s.stride[i] + reach - s.out[i] - s.padding[i]
                               : (s.out[i] - 1) * s.stride[i] + reach - s.in[i] - s.padding[i];
  }
  if (!describe_activation(s, s.in, s.in_channels, s.in_stride, in) ||
      !describe_activation(s, s.out, s.out_channels, s.out_stride, out) ||
      !describe(groups ? 5 : 4, groups ? grouped : grouped + 1, nullptr, weight) ||
      (s.finish.bias != 0 &&
       dnn().memory_desc_create_with_tag(bias.out(), 1, &s.out_channels, dnnl_f32, dnnl_a) != dnnl_success) ||
      !make_attributes(s.finish, attributes)) {
    return false;
  }
  if (s.transposed != 0) {
    return dnn().deconvolution_forward_primitive_desc_create(
               desc.out(), engine(), dnnl_forward_inference, dnnl_deconvolution_direct, in.get(), weight.get(),
               bias.get(), out.get(), s.stride, dilates, s.padding, end, attributes.get()) == dnnl_success;
  }
  return dnn().convolution_forward_primitive_desc_create(
             desc.out(), engine(), dnnl_forward_inference, dnnl_convolution_direct, in.get(), weight.get(), bias.get(),
             out.get(), s.stride, dilates, s.padding, end, attributes.get()) == dnnl_success;
}

bool make_desc(const LinearSpec& s, PrimitiveDesc& desc) {
  MemoryDesc in, weight, bias, out;
  Attributes attributes;
  const int64_t in_size[2] = {s.rows, s.depth};
  const int64_t in_stride[2] = {s.depth, 1};
  const int64_t weight_size[2] = {s.columns, s.depth};
  const int64_t out_size[2] = {s.rows, s.columns};
  const int64_t out_stride[2] = {s.columns, 1};
  if (!describe(2, in_size, in_stride, in) || !describe(2, out_size, out_stride, out) ||
      !describe(2, weight_size, nullptr, weight) ||
      (s.finish.bias != 0 &&
       dnn().memory_desc_create_with_tag(bias.out(), 1, &s.columns, dnnl_f32, dnnl_a) != dnnl_success) ||
      !make_attributes(s.finish, attributes)) {
    return false;
  }
  return dnn().inner_product_forward_primitive_desc_create(desc.out(), engine(), dnnl_forward_inference, in.get(),
                                                           weight.get(), bias.get(), out.get(),
                                                           attributes.get()) == dnnl_success;
}

// The strides with which a packed weight's dimensions run through the dense one.
void set_from(const ConvSpec& s, WeightLayout* layout) {
  int64_t stride = 1;
  for (int d = layout->dims - 1; d >= 0; --d) {
    layout->from[d] = stride;
    stride *= layout->size[d];
  }
  if (s.transposed == 0) return;
  // The dense one has the input's channels first: [groups * in][out][kernel].
  const int out = layout->dims - 4;
  const int64_t taps = s.kernel[0] * s.kernel[1];
  layout->from[out] = taps;
  layout->from[out + 1] = layout->size[out] * taps;
}
void set_from(const LinearSpec& s, WeightLayout* layout) {
  layout->from[0] = 1;
  layout->from[1] = s.columns;
}

// Those that are plain loops, or that copy the input first.
bool is_slow(const char* implementation) {
  return std::strncmp(implementation, "ref", 3) == 0 || std::strncmp(implementation, "simple", 6) == 0;
}

}  // namespace

struct OneDnnPrimitive::Handles {
  PrimitiveDesc desc;
  Primitive primitive;
};

OneDnnPrimitive::OneDnnPrimitive() : handles_(new Handles()) {}
OneDnnPrimitive::~OneDnnPrimitive() = default;

const char* OneDnnPrimitive::implementation() const {
  const char* name = "";
  dnn().primitive_desc_query(handles_->desc.get(), dnnl_query_impl_info_str, 0, &name);
  return name;
}

namespace {

// All primitives of the process by their numbers, nulls for those that oneDNN does not have among them.
class Cache {
 public:
  using Entry = std::shared_ptr<const OneDnnPrimitive>;

  template <typename Spec>
  static std::string key_of(const Spec& spec, int threads) {
    static_assert(std::has_unique_object_representations_v<int64_t> && sizeof(Spec) % sizeof(int64_t) == 0);
    std::string key(reinterpret_cast<const char*>(&spec), sizeof(spec));
    return key.append(reinterpret_cast<const char*>(&threads), sizeof(threads));
  }

  template <typename Make>
  Entry find_or_make(const std::string& key, Make&& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    if (entries_.size() >= kMost) drop_unused();
    return entries_[key] = make();
  }

 private:
  static constexpr size_t kMost = 1024;

  void drop_unused() {
    for (auto i = entries_.begin(); i != entries_.end();) i = i->second.use_count() <= 1 ? entries_.erase(i) : ++i;
  }

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

// Never destroyed: methods may outlive static objects.
Cache& cache() {
  static Cache* const made = new Cache();
  return *made;
}

template <typename Spec>
bool fill(const Spec& spec, OneDnnPrimitive::Handles& handles, WeightLayout* weight, size_t* scratch_bytes) {
  if (engine() == nullptr || !make_desc(spec, handles.desc)) return false;
  const char* name = "ref";
  dnn().primitive_desc_query(handles.desc.get(), dnnl_query_impl_info_str, 0, &name);
  if (is_slow(name)) return false;
  if (!read_layout(dnn().primitive_desc_query_md(handles.desc.get(), dnnl_query_weights_md, 0), weight)) return false;
  set_from(spec, weight);
  *scratch_bytes =
      dnn().memory_desc_get_size(dnn().primitive_desc_query_md(handles.desc.get(), dnnl_query_scratchpad_md, 0));
  return dnn().primitive_create(handles.primitive.out(), handles.desc.get()) == dnnl_success;
}

}  // namespace

template <typename Spec>
std::shared_ptr<const OneDnnPrimitive> OneDnnPrimitive::find_or_make(const Spec& spec, int threads) {
  if (onednn() == nullptr) return nullptr;
  return cache().find_or_make(Cache::key_of(spec, threads), [&]() -> Cache::Entry {
    dnn().openmp.set_num_threads(threads);
    std::shared_ptr<OneDnnPrimitive> made(new OneDnnPrimitive());
    made->threads_ = threads;
    return fill(spec, *made->handles_, &made->weight_, &made->scratch_bytes_) ? made : nullptr;
  });
}

std::shared_ptr<const OneDnnPrimitive> OneDnnPrimitive::get(const ConvSpec& spec, int threads) {
  return find_or_make(spec, threads);
}
std::shared_ptr<const OneDnnPrimitive> OneDnnPrimitive::get(const LinearSpec& spec, int threads) {
  return find_or_make(spec, threads);
}

struct OneDnnCall::Memories {
  static constexpr int kCount = 5;
  Stream stream;
  Memory memory[kCount];
  dnnl_exec_arg_t args[kCount];
  int count = 0;
};

namespace {
std::atomic<int64_t> calls{0};
}

bool onednn_is_used() { return calls.load(std::memory_order_relaxed) > 0; }

OneDnnCall::OneDnnCall() : memories_(new Memories()) { ++calls; }
OneDnnCall::~OneDnnCall() { --calls; }

std::unique_ptr<OneDnnCall> OneDnnCall::make(std::shared_ptr<const OneDnnPrimitive> primitive) {
  std::unique_ptr<OneDnnCall> call(new OneDnnCall());
  call->primitive_ = std::move(primitive);
  Memories& m = *call->memories_;
  if (dnn().stream_create(m.stream.out(), engine(), dnnl_stream_default_flags) != dnnl_success) return nullptr;
  static constexpr struct {
    int arg;
    dnnl_query_t query;
    int index;
  } kPlan[Memories::kCount] = {{DNNL_ARG_SRC, dnnl_query_src_md, 0},
                               {DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0},
                               {DNNL_ARG_BIAS, dnnl_query_weights_md, 1},
                               {DNNL_ARG_DST, dnnl_query_dst_md, 0},
                               {DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0}};
  for (int i = 0; i < Memories::kCount; ++i) {
    const const_dnnl_memory_desc_t desc =
        dnn().primitive_desc_query_md(call->primitive_->handles_->desc.get(), kPlan[i].query, kPlan[i].index);
    if (dnn().memory_create(m.memory[i].out(), desc, engine(), DNNL_MEMORY_NONE) != dnnl_success) return nullptr;
    if (dnn().memory_desc_get_size(desc) > 0) m.args[m.count++] = {kPlan[i].arg, m.memory[i].get()};
  }
  return call;
}

Error OneDnnCall::run(const float* input, const float* weight, const float* bias, float* out, void* scratch) {
  Memories& m = *memories_;
  void* const pointers[Memories::kCount] = {const_cast<float*>(input), const_cast<float*>(weight),
                                            const_cast<float*>(bias), out, scratch};
  for (int i = 0; i < Memories::kCount; ++i) dnn().memory_set_data_handle(m.memory[i].get(), pointers[i]);
  dnn().openmp.set_num_threads(primitive_->threads_);
  const dnnl_status_t status =
      dnn().primitive_execute(primitive_->handles_->primitive.get(), m.stream.get(), m.count, m.args);
  return status == dnnl_success         ? Error::kOk
         : status == dnnl_out_of_memory ? Error::kMemoryAllocationFailed
                                        : Error::kInternal;
}

}  // namespace berth::cpu
