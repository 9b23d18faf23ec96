// The arguments of every operator's kernel by name and type, generated from the schemas in format/operators.def by
// format/generate_arguments.py. Do not edit.
//
//   Error convolution_out(KernelContext& context, const arguments::convolution_out& args) {
//     if (args.groups < 1 || (args.bias != nullptr && args.bias->rank() != 1)) …
//
// There is a structure for each row of the table, named like its kernel: the arguments of the out variant, then the
// outputs. kOperator is the registered name. runtime/arguments.h says which type stands for which of the schema's, and
// makes a KernelEntry's functions of functions on such structures. A structure is made for one call, from all values of
// that call: REQUIRES: as many as the schema has arguments and outputs; the loader has seen to it.
#pragma once

#include "runtime/arguments.h"

namespace berth::arguments {
// clang-format off

struct abs_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::abs.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct acos_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::acos.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct acosh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::acosh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct asin_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::asin.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct asinh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::asinh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct atan_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::atan.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct atanh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::atanh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_not_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_not.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct ceil_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ceil.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct clamp_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::clamp.out";
  const Tensor& self = next<const Tensor&>();
  const EValue& min = next<const EValue&>();
  const EValue& max = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct clamp_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::clamp.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor* min = next<const Tensor*>();
  const Tensor* max = next<const Tensor*>();
  Tensor& out = next<Tensor&>();
};

struct cos_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::cos.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct cosh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::cosh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct elu_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::elu.out";
  const Tensor& self = next<const Tensor&>();
  const EValue& alpha = next<const EValue&>();
  const EValue& scale = next<const EValue&>();
  const EValue& input_scale = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct erf_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::erf.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct exp_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::exp.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct expm1_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::expm1.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct floor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::floor.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct gelu_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::gelu.out";
  const Tensor& self = next<const Tensor&>();
  StringRef approximate = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct hardtanh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::hardtanh.out";
  const Tensor& self = next<const Tensor&>();
  const EValue& min_val = next<const EValue&>();
  const EValue& max_val = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct isinf_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::isinf.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct isnan_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::isnan.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct leaky_relu_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::leaky_relu.out";
  const Tensor& self = next<const Tensor&>();
  const EValue& negative_slope = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct log_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::log.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct log10_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::log10.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct log1p_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::log1p.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct log2_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::log2.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct logical_not_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::logical_not.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct logit_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::logit.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<double> eps = next<std::optional<double>>();
  Tensor& out = next<Tensor&>();
};

struct neg_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::neg.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct reciprocal_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::reciprocal.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct relu_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::relu.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct round_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::round.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct rsqrt_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::rsqrt.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct sigmoid_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sigmoid.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct sign_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sign.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct sin_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sin.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct sinh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sinh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct sqrt_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sqrt.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct tan_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::tan.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct tanh_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::tanh.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct trunc_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::trunc.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct conj_physical_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_conj_physical.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct add_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::add.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct add_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::add.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct atan2_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::atan2.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_and_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_and.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_and_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_and.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_or_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_or.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_or_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_or.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_xor_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_xor.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_xor_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_xor.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_left_shift_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_left_shift.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_left_shift_Tensor_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_left_shift.Tensor_Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_right_shift_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_right_shift.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct bitwise_right_shift_Tensor_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bitwise_right_shift.Tensor_Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct div_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::div.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct div_Scalar_mode_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::div.Scalar_mode_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  std::optional<StringRef> rounding_mode = next<std::optional<StringRef>>();
  Tensor& out = next<Tensor&>();
};

struct div_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::div.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct div_out_mode : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::div.out_mode";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  std::optional<StringRef> rounding_mode = next<std::optional<StringRef>>();
  Tensor& out = next<Tensor&>();
};

struct eq_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::eq.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct eq_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::eq.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct floor_divide_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::floor_divide.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct fmod_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::fmod.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct fmod_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::fmod.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct ge_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ge.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct ge_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ge.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct gt_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::gt.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct gt_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::gt.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct le_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::le.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct le_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::le.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct logical_and_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::logical_and.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct logical_or_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::logical_or.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct logical_xor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::logical_xor.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct lt_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::lt.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct lt_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::lt.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct masked_fill_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::masked_fill.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mask = next<const Tensor&>();
  const EValue& value = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct maximum_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::maximum.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct minimum_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::minimum.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct mul_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::mul.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct mul_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::mul.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct ne_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ne.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct ne_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ne.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct pow_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::pow.Scalar_out";
  const EValue& self = next<const EValue&>();
  const Tensor& exponent = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct pow_Tensor_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::pow.Tensor_Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& exponent = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct pow_Tensor_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::pow.Tensor_Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& exponent = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct remainder_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::remainder.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct remainder_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::remainder.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct rsub_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::rsub.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct sub_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sub.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct sub_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sub.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& other = next<const EValue&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct where_self_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::where.self_out";
  const Tensor& condition = next<const Tensor&>();
  const Tensor& self = next<const Tensor&>();
  const Tensor& other = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct amax_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::amax.out";
  const Tensor& self = next<const Tensor&>();
  IntList dim = next<IntList>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct amin_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::amin.out";
  const Tensor& self = next<const Tensor&>();
  IntList dim = next<IntList>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct any_all_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::any.all_out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct any_dims_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::any.dims_out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct any_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::any.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct argmax_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::argmax.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<int64_t> dim = next<std::optional<int64_t>>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct argmin_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::argmin.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<int64_t> dim = next<std::optional<int64_t>>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct cumsum_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::cumsum.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct max_dim_max : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::max.dim_max";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool keepdim = next<bool>();
  Tensor& max = next<Tensor&>();
  Tensor& max_values = next<Tensor&>();
};

struct max_unary_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::max.unary_out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct mean_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::mean.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  bool keepdim = next<bool>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct mean_dtype_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::mean.dtype_out";
  const Tensor& self = next<const Tensor&>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct min_dim_min : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::min.dim_min";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool keepdim = next<bool>();
  Tensor& min = next<Tensor&>();
  Tensor& min_indices = next<Tensor&>();
};

struct min_unary_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::min.unary_out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct prod_int_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::prod.int_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool keepdim = next<bool>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct prod_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::prod.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct sum_IntList_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::sum.IntList_out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  bool keepdim = next<bool>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct topk_values : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::topk.values";
  const Tensor& self = next<const Tensor&>();
  int64_t k = next<int64_t>();
  int64_t dim = next<int64_t>();
  bool largest = next<bool>();
  bool sorted = next<bool>();
  Tensor& values = next<Tensor&>();
  Tensor& indices = next<Tensor&>();
};

struct var_correction_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::var.correction_out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  const EValue& correction = next<const EValue&>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct var_mean_correction_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::var_mean.correction_out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  const EValue& correction = next<const EValue&>();
  bool keepdim = next<bool>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
};

struct var_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::var.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<IntList> dim = next<std::optional<IntList>>();
  bool unbiased = next<bool>();
  bool keepdim = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct log_softmax_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_log_softmax.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool half_to_float = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct native_batch_norm_legit_no_training_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_native_batch_norm_legit_no_training.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* weight = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor& running_mean = next<const Tensor&>();
  const Tensor& running_var = next<const Tensor&>();
  double momentum = next<double>();
  double eps = next<double>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
  Tensor& out2 = next<Tensor&>();
};

struct softmax_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_softmax.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  bool half_to_float = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct native_group_norm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::native_group_norm.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* weight = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  int64_t N = next<int64_t>();
  int64_t C = next<int64_t>();
  int64_t HxW = next<int64_t>();
  int64_t group = next<int64_t>();
  double eps = next<double>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
  Tensor& out2 = next<Tensor&>();
};

struct native_layer_norm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::native_layer_norm.out";
  const Tensor& input = next<const Tensor&>();
  IntList normalized_shape = next<IntList>();
  const Tensor* weight = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  double eps = next<double>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
  Tensor& out2 = next<Tensor&>();
};

struct native_batch_norm_legit_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_native_batch_norm_legit.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* weight = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  Tensor& running_mean = next<Tensor&>();
  Tensor& running_var = next<Tensor&>();
  bool training = next<bool>();
  double momentum = next<double>();
  double eps = next<double>();
  Tensor& out = next<Tensor&>();
  Tensor& save_mean = next<Tensor&>();
  Tensor& save_invstd = next<Tensor&>();
};

struct native_batch_norm_legit_no_stats_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_native_batch_norm_legit.no_stats_out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* weight = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  bool training = next<bool>();
  double momentum = next<double>();
  double eps = next<double>();
  Tensor& out = next<Tensor&>();
  Tensor& save_mean = next<Tensor&>();
  Tensor& save_invstd = next<Tensor&>();
};

struct adaptive_avg_pool2d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_adaptive_avg_pool2d.out";
  const Tensor& self = next<const Tensor&>();
  IntList output_size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct addmm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::addmm.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mat1 = next<const Tensor&>();
  const Tensor& mat2 = next<const Tensor&>();
  const EValue& beta = next<const EValue&>();
  const EValue& alpha = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct avg_pool2d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::avg_pool2d.out";
  const Tensor& self = next<const Tensor&>();
  IntList kernel_size = next<IntList>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  bool ceil_mode = next<bool>();
  bool count_include_pad = next<bool>();
  std::optional<int64_t> divisor_override = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct bmm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::bmm.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mat2 = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct convolution_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::convolution.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  bool transposed = next<bool>();
  IntList output_padding = next<IntList>();
  int64_t groups = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct max_pool2d_with_indices_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::max_pool2d_with_indices.out";
  const Tensor& self = next<const Tensor&>();
  IntList kernel_size = next<IntList>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  bool ceil_mode = next<bool>();
  Tensor& out = next<Tensor&>();
  Tensor& indices = next<Tensor&>();
};

struct mm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::mm.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mat2 = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct pixel_shuffle_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::pixel_shuffle.out";
  const Tensor& self = next<const Tensor&>();
  int64_t upscale_factor = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct pixel_unshuffle_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::pixel_unshuffle.out";
  const Tensor& self = next<const Tensor&>();
  int64_t downscale_factor = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct upsample_bilinear2d_vec_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::upsample_bilinear2d.vec_out";
  const Tensor& input = next<const Tensor&>();
  std::optional<IntList> output_size = next<std::optional<IntList>>();
  bool align_corners = next<bool>();
  std::optional<Span<const double>> scale_factors = next<std::optional<Span<const double>>>();
  Tensor& out = next<Tensor&>();
};

struct upsample_nearest2d_vec_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::upsample_nearest2d.vec_out";
  const Tensor& input = next<const Tensor&>();
  std::optional<IntList> output_size = next<std::optional<IntList>>();
  std::optional<Span<const double>> scale_factors = next<std::optional<Span<const double>>>();
  Tensor& out = next<Tensor&>();
};

struct upsample_bilinear2d_aa_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_upsample_bilinear2d_aa.out";
  const Tensor& self = next<const Tensor&>();
  IntList output_size = next<IntList>();
  bool align_corners = next<bool>();
  std::optional<double> scales_h = next<std::optional<double>>();
  std::optional<double> scales_w = next<std::optional<double>>();
  Tensor& out = next<Tensor&>();
};

struct grid_sampler_2d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::grid_sampler_2d.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& grid = next<const Tensor&>();
  int64_t interpolation_mode = next<int64_t>();
  int64_t padding_mode = next<int64_t>();
  bool align_corners = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct grid_sampler_3d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::grid_sampler_3d.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& grid = next<const Tensor&>();
  int64_t interpolation_mode = next<int64_t>();
  int64_t padding_mode = next<int64_t>();
  bool align_corners = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct roi_align_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::roi_align.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& rois = next<const Tensor&>();
  const Tensor& images = next<const Tensor&>();
  int64_t height = next<int64_t>();
  int64_t width = next<int64_t>();
  int64_t samples = next<int64_t>();
  double scale = next<double>();
  bool largest = next<bool>();
  bool half_pixel = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct cdist_forward_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_cdist_forward.out";
  const Tensor& x1 = next<const Tensor&>();
  const Tensor& x2 = next<const Tensor&>();
  double p = next<double>();
  std::optional<int64_t> compute_mode = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct pdist_forward_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_pdist_forward.out";
  const Tensor& self = next<const Tensor&>();
  double p = next<double>();
  Tensor& out = next<Tensor&>();
};

struct convolution_backward_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::convolution_backward.out";
  const Tensor& grad_output = next<const Tensor&>();
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  std::optional<IntList> bias_sizes = next<std::optional<IntList>>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  bool transposed = next<bool>();
  IntList output_padding = next<IntList>();
  int64_t groups = next<int64_t>();
  Span<const bool> output_mask = next<Span<const bool>>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
  Tensor& out2 = next<Tensor&>();
};

struct max_pool2d_with_indices_backward_grad_input : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::max_pool2d_with_indices_backward.grad_input";
  const Tensor& grad_output = next<const Tensor&>();
  const Tensor& self = next<const Tensor&>();
  IntList kernel_size = next<IntList>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  bool ceil_mode = next<bool>();
  const Tensor& indices = next<const Tensor&>();
  Tensor& grad_input = next<Tensor&>();
};

struct embedding_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::embedding.out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& indices = next<const Tensor&>();
  int64_t padding_idx = next<int64_t>();
  bool scale_grad_by_freq = next<bool>();
  bool sparse = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct gather_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::gather.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  bool sparse_grad = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct index_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::index.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  OptionalTensorList indices = next<OptionalTensorList>();
  Tensor& out = next<Tensor&>();
};

struct index_put_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::index_put.out";
  const Tensor& self = next<const Tensor&>();
  OptionalTensorList indices = next<OptionalTensorList>();
  const Tensor& values = next<const Tensor&>();
  bool accumulate = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct index_select_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::index_select.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct nonzero_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::nonzero.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct non_max_suppression_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::non_max_suppression.out";
  const Tensor& boxes = next<const Tensor&>();
  const Tensor& scores = next<const Tensor&>();
  int64_t most = next<int64_t>();
  double overlap = next<double>();
  std::optional<double> score = next<std::optional<double>>();
  bool centred = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct unique_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::unique.out";
  const Tensor& self = next<const Tensor&>();
  bool sorted = next<bool>();
  Tensor& rows = next<Tensor&>();
  Tensor& first = next<Tensor&>();
  Tensor& inverse = next<Tensor&>();
  Tensor& counts = next<Tensor&>();
};

struct scatter_src_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::scatter.src_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct scatter_value_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::scatter.value_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  const EValue& value = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct scatter_add_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::scatter_add.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct scatter_reduce_two_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::scatter_reduce.two_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  const Tensor& index = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  StringRef reduce = next<StringRef>();
  bool include_self = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct select_scatter_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::select_scatter.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  int64_t index = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct slice_scatter_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::slice_scatter.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  std::optional<int64_t> start = next<std::optional<int64_t>>();
  std::optional<int64_t> end = next<std::optional<int64_t>>();
  int64_t step = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct index_put_self : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::index_put_";
  Tensor& self = next<Tensor&>();
  OptionalTensorList indices = next<OptionalTensorList>();
  const Tensor& values = next<const Tensor&>();
  bool accumulate = next<bool>();
};

struct masked_scatter_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::masked_scatter.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mask = next<const Tensor&>();
  const Tensor& source = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct masked_select_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::masked_select.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& mask = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct repeat_interleave_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::repeat_interleave.Tensor_out";
  const Tensor& repeats = next<const Tensor&>();
  std::optional<int64_t> output_size = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct arange_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::arange.out";
  const EValue& end = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct arange_start_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::arange.start_out";
  const EValue& start = next<const EValue&>();
  const EValue& end = next<const EValue&>();
  const EValue& step = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct fill_Scalar_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::fill.Scalar_out";
  const Tensor& self = next<const Tensor&>();
  const EValue& value = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct fill_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::fill.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& value = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct full_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::full.out";
  IntList size = next<IntList>();
  const EValue& fill_value = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct full_like_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::full_like.out";
  const Tensor& self = next<const Tensor&>();
  const EValue& fill_value = next<const EValue&>();
  std::optional<int64_t> memory_format = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct refuse_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::refuse.out";
  IntList size = next<IntList>();
  StringRef why = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct ones_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::ones.out";
  IntList size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct scalar_tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::scalar_tensor.out";
  const EValue& s = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct zeros_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::zeros.out";
  IntList size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct empty_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::empty.out";
  IntList size = next<IntList>();
  std::optional<int64_t> memory_format = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct empty_dim_order_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "dim_order_ops::_empty_dim_order.out";
  IntList size = next<IntList>();
  std::optional<IntList> dim_order = next<std::optional<IntList>>();
  Tensor& out = next<Tensor&>();
};

struct rand_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::rand.out";
  IntList size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct randn_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::randn.out";
  IntList size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct native_dropout_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::native_dropout.out";
  const Tensor& input = next<const Tensor&>();
  double p = next<double>();
  std::optional<bool> train = next<std::optional<bool>>();
  Tensor& out0 = next<Tensor&>();
  Tensor& out1 = next<Tensor&>();
};

struct alias_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::alias_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct cat_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::cat.out";
  TensorList tensors = next<TensorList>();
  int64_t dim = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct clone_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::clone.out";
  const Tensor& self = next<const Tensor&>();
  std::optional<int64_t> memory_format = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct constant_pad_nd_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::constant_pad_nd.out";
  const Tensor& self = next<const Tensor&>();
  IntList pad = next<IntList>();
  const EValue& value = next<const EValue&>();
  Tensor& out = next<Tensor&>();
};

struct copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::copy.out";
  const Tensor& self = next<const Tensor&>();
  const Tensor& src = next<const Tensor&>();
  bool non_blocking = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct copy_self : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::copy_";
  Tensor& self = next<Tensor&>();
  const Tensor& src = next<const Tensor&>();
  bool non_blocking = next<bool>();
};

struct detach_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::detach_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct diagonal_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::diagonal_copy.out";
  const Tensor& self = next<const Tensor&>();
  int64_t offset = next<int64_t>();
  int64_t dim1 = next<int64_t>();
  int64_t dim2 = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct expand_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::expand_copy.out";
  const Tensor& self = next<const Tensor&>();
  IntList size = next<IntList>();
  bool implicit = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct flip_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::flip.out";
  const Tensor& self = next<const Tensor&>();
  IntList dims = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct glu_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::glu.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct narrow_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::narrow_copy.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  int64_t start = next<int64_t>();
  int64_t length = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct permute_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::permute_copy.out";
  const Tensor& self = next<const Tensor&>();
  IntList dims = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct repeat_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::repeat.out";
  const Tensor& self = next<const Tensor&>();
  IntList repeats = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct reflection_pad1d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::reflection_pad1d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct reflection_pad2d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::reflection_pad2d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct reflection_pad3d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::reflection_pad3d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct replication_pad1d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::replication_pad1d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct replication_pad2d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::replication_pad2d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct replication_pad3d_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::replication_pad3d.out";
  const Tensor& self = next<const Tensor&>();
  IntList padding = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct roll_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::roll.out";
  const Tensor& self = next<const Tensor&>();
  IntList shifts = next<IntList>();
  IntList dims = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct select_copy_int_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::select_copy.int_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  int64_t index = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct slice_copy_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::slice_copy.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  std::optional<int64_t> start = next<std::optional<int64_t>>();
  std::optional<int64_t> end = next<std::optional<int64_t>>();
  int64_t step = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct split_copy_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::split_copy.Tensor_out";
  const Tensor& self = next<const Tensor&>();
  int64_t split_size = next<int64_t>();
  int64_t dim = next<int64_t>();
  TensorList out = next<TensorList>();
};

struct split_with_sizes_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::split_with_sizes_copy.out";
  const Tensor& self = next<const Tensor&>();
  IntList split_sizes = next<IntList>();
  int64_t dim = next<int64_t>();
  TensorList out = next<TensorList>();
};

struct squeeze_copy_dim_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::squeeze_copy.dim_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct squeeze_copy_dims_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::squeeze_copy.dims_out";
  const Tensor& self = next<const Tensor&>();
  IntList dim = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct stack_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::stack.out";
  TensorList tensors = next<TensorList>();
  int64_t dim = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct t_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::t_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct transpose_copy_int_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::transpose_copy.int_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim0 = next<int64_t>();
  int64_t dim1 = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct tril_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::tril.out";
  const Tensor& self = next<const Tensor&>();
  int64_t diagonal = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct unbind_copy_int_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::unbind_copy.int_out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  TensorList out = next<TensorList>();
};

struct unsqueeze_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::unsqueeze_copy.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dim = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct view_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::view_copy.out";
  const Tensor& self = next<const Tensor&>();
  IntList size = next<IntList>();
  Tensor& out = next<Tensor&>();
};

struct to_dim_order_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "dim_order_ops::_to_dim_order_copy.out";
  const Tensor& self = next<const Tensor&>();
  bool non_blocking = next<bool>();
  std::optional<IntList> dim_order = next<std::optional<IntList>>();
  Tensor& out = next<Tensor&>();
};

struct clone_dim_order_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "dim_order_ops::_clone_dim_order.out";
  const Tensor& self = next<const Tensor&>();
  bool non_blocking = next<bool>();
  std::optional<IntList> dim_order = next<std::optional<IntList>>();
  Tensor& out = next<Tensor&>();
};

struct to_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::_to_copy.out";
  const Tensor& self = next<const Tensor&>();
  bool non_blocking = next<bool>();
  std::optional<int64_t> memory_format = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct bit_cast_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::bit_cast.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct lift_fresh_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::lift_fresh_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct as_strided_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::as_strided_copy.out";
  const Tensor& self = next<const Tensor&>();
  IntList size = next<IntList>();
  IntList stride = next<IntList>();
  std::optional<int64_t> storage_offset = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct unfold_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::unfold_copy.out";
  const Tensor& self = next<const Tensor&>();
  int64_t dimension = next<int64_t>();
  int64_t size = next<int64_t>();
  int64_t step = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct view_as_real_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "aten::view_as_real_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct quantize_per_tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::quantize_per_tensor.out";
  const Tensor& input = next<const Tensor&>();
  double scale = next<double>();
  int64_t zero_point = next<int64_t>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct quantize_per_tensor_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::quantize_per_tensor.Tensor_out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scale = next<const Tensor&>();
  const Tensor& zero_point = next<const Tensor&>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct quantize_per_channel_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::quantize_per_channel.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scales = next<const Tensor&>();
  const Tensor& zero_points = next<const Tensor&>();
  int64_t axis = next<int64_t>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct quantize_per_token_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::quantize_per_token.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scales = next<const Tensor&>();
  const Tensor& zero_points = next<const Tensor&>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct dequantize_per_tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::dequantize_per_tensor.out";
  const Tensor& input = next<const Tensor&>();
  double scale = next<double>();
  int64_t zero_point = next<int64_t>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  std::optional<int64_t> out_dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct dequantize_per_tensor_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::dequantize_per_tensor.Tensor_out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scale = next<const Tensor&>();
  const Tensor& zero_point = next<const Tensor&>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  std::optional<int64_t> out_dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct dequantize_per_channel_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::dequantize_per_channel.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scales = next<const Tensor&>();
  const Tensor* zero_points = next<const Tensor*>();
  int64_t axis = next<int64_t>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  std::optional<int64_t> out_dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct dequantize_per_token_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::dequantize_per_token.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& scales = next<const Tensor&>();
  const Tensor& zero_points = next<const Tensor&>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  int64_t dtype = next<int64_t>();
  int64_t output_dtype = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct choose_qparams_Tensor_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::choose_qparams.Tensor_out";
  const Tensor& input = next<const Tensor&>();
  int64_t quant_min = next<int64_t>();
  int64_t quant_max = next<int64_t>();
  double eps = next<double>();
  int64_t dtype = next<int64_t>();
  Tensor& scale_out = next<Tensor&>();
  Tensor& zero_point_out = next<Tensor&>();
};

struct choose_qparams_per_token_asymmetric_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::choose_qparams_per_token_asymmetric.out";
  const Tensor& input = next<const Tensor&>();
  int64_t dtype = next<int64_t>();
  Tensor& scale_out = next<Tensor&>();
  Tensor& zero_point_out = next<Tensor&>();
};

struct quantized_add_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::add.out";
  const Tensor& a = next<const Tensor&>();
  double a_scale = next<double>();
  int64_t a_zero_point = next<int64_t>();
  int64_t a_quant_min = next<int64_t>();
  int64_t a_quant_max = next<int64_t>();
  const Tensor& b = next<const Tensor&>();
  double b_scale = next<double>();
  int64_t b_zero_point = next<int64_t>();
  int64_t b_quant_min = next<int64_t>();
  int64_t b_quant_max = next<int64_t>();
  double out_scale = next<double>();
  int64_t out_zero_point = next<int64_t>();
  int64_t out_quant_min = next<int64_t>();
  int64_t out_quant_max = next<int64_t>();
  Tensor& out = next<Tensor&>();
};

struct embedding_byte_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_byte.out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct embedding_byte_dtype_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_byte.dtype_out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct embedding_2bit_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_2bit.out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct embedding_2bit_dtype_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_2bit.dtype_out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct embedding_4bit_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_4bit.out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct embedding_4bit_dtype_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::embedding_4bit.dtype_out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  int64_t weight_quant_min = next<int64_t>();
  int64_t weight_quant_max = next<int64_t>();
  const Tensor& indices = next<const Tensor&>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct mixed_mm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::mixed_mm.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  Tensor& out = next<Tensor&>();
};

struct mixed_linear_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "quantized_decomposed::mixed_linear.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor& weight_scales = next<const Tensor&>();
  const Tensor* weight_zero_points = next<const Tensor*>();
  std::optional<int64_t> dtype = next<std::optional<int64_t>>();
  Tensor& out = next<Tensor&>();
};

struct h2d_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "et_copy::_h2d_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct d2h_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "et_copy::_d2h_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct d2d_copy_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::_d2d_copy.out";
  const Tensor& self = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
};

struct fused_conv_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::conv.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  bool transposed = next<bool>();
  IntList output_padding = next<IntList>();
  int64_t groups = next<int64_t>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct fused_linear_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::linear.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct fused_attention_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::attention.out";
  const Tensor& query = next<const Tensor&>();
  const Tensor& key = next<const Tensor&>();
  const Tensor& value = next<const Tensor&>();
  const Tensor* mask = next<const Tensor*>();
  int64_t heads = next<int64_t>();
  int64_t head_size = next<int64_t>();
  int64_t query_column = next<int64_t>();
  int64_t key_column = next<int64_t>();
  int64_t value_column = next<int64_t>();
  double scale = next<double>();
  bool causal = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct fused_attention_biased_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::attention.biased_out";
  const Tensor& query = next<const Tensor&>();
  const Tensor& key = next<const Tensor&>();
  const Tensor& value = next<const Tensor&>();
  const Tensor& bias = next<const Tensor&>();
  const Tensor& mask = next<const Tensor&>();
  int64_t heads = next<int64_t>();
  int64_t head_size = next<int64_t>();
  int64_t query_column = next<int64_t>();
  int64_t key_column = next<int64_t>();
  int64_t value_column = next<int64_t>();
  double scale = next<double>();
  Tensor& out = next<Tensor&>();
};

struct fused_elementwise_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::elementwise.out";
  TensorList inputs = next<TensorList>();
  IntList code = next<IntList>();
  Span<const double> constants = next<Span<const double>>();
  Tensor& out = next<Tensor&>();
};

struct fused_lstm_cell_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::lstm_cell.out";
  const Tensor& gates = next<const Tensor&>();
  const Tensor& hidden = next<const Tensor&>();
  const Tensor& cell = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  StringRef packing = next<StringRef>();
  Tensor& out_hidden = next<Tensor&>();
  Tensor& out_cell = next<Tensor&>();
};

struct fused_lstm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::lstm.out";
  const Tensor& gates = next<const Tensor&>();
  const Tensor& hidden = next<const Tensor&>();
  const Tensor& cell = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  bool reverse = next<bool>();
  Tensor& out = next<Tensor&>();
  Tensor& out_cell = next<Tensor&>();
};

struct fused_lstm_gates_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::lstm_gates.out";
  const Tensor& gates = next<const Tensor&>();
  const Tensor& cell = next<const Tensor&>();
  IntList order = next<IntList>();
  Tensor& out_hidden = next<Tensor&>();
  Tensor& out_cell = next<Tensor&>();
};

struct fused_shuffle_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::shuffle.out";
  TensorList parts = next<TensorList>();
  int64_t groups = next<int64_t>();
  IntList sizes = next<IntList>();
  TensorList out = next<TensorList>();
};

struct quantized_linear_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::quantized_linear.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* input_scale = next<const Tensor*>();
  const Tensor* input_zero_point = next<const Tensor*>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* weight_zero_point = next<const Tensor*>();
  const Tensor& scale = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  double middle_scale = next<double>();
  int64_t middle_zero_point = next<int64_t>();
  double residual_scale = next<double>();
  int64_t residual_zero_point = next<int64_t>();
  double out_scale = next<double>();
  int64_t out_zero_point = next<int64_t>();
  int64_t out_min = next<int64_t>();
  int64_t out_max = next<int64_t>();
  StringRef rounding = next<StringRef>();
  int64_t dtype = next<int64_t>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct quantized_conv_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::quantized_conv.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* input_scale = next<const Tensor*>();
  const Tensor* input_zero_point = next<const Tensor*>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* weight_zero_point = next<const Tensor*>();
  const Tensor& scale = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  int64_t groups = next<int64_t>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  double middle_scale = next<double>();
  int64_t middle_zero_point = next<int64_t>();
  double residual_scale = next<double>();
  int64_t residual_zero_point = next<int64_t>();
  double out_scale = next<double>();
  int64_t out_zero_point = next<int64_t>();
  int64_t out_min = next<int64_t>();
  int64_t out_max = next<int64_t>();
  StringRef rounding = next<StringRef>();
  int64_t dtype = next<int64_t>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct fused_narrow_linear_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::narrow_linear.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor& scales = next<const Tensor&>();
  const Tensor* zero_points = next<const Tensor*>();
  const Tensor* bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  int64_t bits = next<int64_t>();
  int64_t block = next<int64_t>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct dynamic_quantize_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::dynamic_quantize.out";
  const Tensor& input = next<const Tensor&>();
  Tensor& out = next<Tensor&>();
  Tensor& out_scale = next<Tensor&>();
  Tensor& out_zero_point = next<Tensor&>();
};

struct grouped_attention_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::grouped_attention.out";
  const Tensor& query = next<const Tensor&>();
  const Tensor& key = next<const Tensor&>();
  const Tensor& value = next<const Tensor&>();
  const Tensor* mask = next<const Tensor*>();
  const Tensor* last = next<const Tensor*>();
  const Tensor* before = next<const Tensor*>();
  double scale = next<double>();
  bool guarded = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct grouped_attention_rows_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::grouped_attention.rows_out";
  const Tensor& query = next<const Tensor&>();
  const Tensor& key = next<const Tensor&>();
  const Tensor& value = next<const Tensor&>();
  const Tensor* mask = next<const Tensor*>();
  const Tensor* last = next<const Tensor*>();
  const Tensor* before = next<const Tensor*>();
  double scale = next<double>();
  bool guarded = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct fused_gru_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::gru.out";
  const Tensor& gates = next<const Tensor&>();
  const Tensor& hidden = next<const Tensor&>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  bool reset_first = next<bool>();
  bool linear_before_reset = next<bool>();
  bool reverse = next<bool>();
  Tensor& out = next<Tensor&>();
};

struct inverted_residual_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::inverted_residual.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* expand_weight = next<const Tensor*>();
  const Tensor* expand_bias = next<const Tensor*>();
  StringRef expand_activation = next<StringRef>();
  double expand_alpha = next<double>();
  double expand_beta = next<double>();
  StringRef expand_packing = next<StringRef>();
  const Tensor& weight = next<const Tensor&>();
  const Tensor* bias = next<const Tensor*>();
  IntList stride = next<IntList>();
  IntList padding = next<IntList>();
  IntList dilation = next<IntList>();
  StringRef activation = next<StringRef>();
  double alpha = next<double>();
  double beta = next<double>();
  StringRef packing = next<StringRef>();
  const Tensor* project_weight = next<const Tensor*>();
  const Tensor* project_bias = next<const Tensor*>();
  const Tensor* residual = next<const Tensor*>();
  StringRef project_activation = next<StringRef>();
  double project_alpha = next<double>();
  double project_beta = next<double>();
  StringRef project_packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct weight_rows_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::weight_rows.out";
  const Tensor& weight = next<const Tensor&>();
  const Tensor& indices = next<const Tensor&>();
  bool from_end = next<bool>();
  int64_t bits = next<int64_t>();
  StringRef form = next<StringRef>();
  StringRef packing = next<StringRef>();
  Tensor& out = next<Tensor&>();
};

struct fused_rms_norm_out : Arguments {
  using Arguments::Arguments;
  static constexpr const char* kOperator = "berth::rms_norm.out";
  const Tensor& input = next<const Tensor&>();
  const Tensor* weight = next<const Tensor*>();
  double eps = next<double>();
  Tensor& out = next<Tensor&>();
};

// clang-format on
}  // namespace berth::arguments
