// All rules; a family of rules is in one file.
#pragma once
#include "passes/pass.h"

namespace retort {

// noop.cc: nodes that return their input
extern const Rule rule_identity, rule_noop_transpose, rule_noop_reshape, rule_noop_cast, rule_noop_expand,
    rule_noop_concat, rule_noop_slice;
// neutral.cc: arithmetic with a neutral scalar
extern const Rule rule_neutral_add, rule_neutral_sub, rule_neutral_mul, rule_neutral_div;
extern const Rule rule_cast_chain;
extern const Rule rule_constant_reshape;
extern const Rule rule_reshape_chain;
extern const Rule rule_transpose_chain;
extern const Rule rule_transpose_unit;

// conv_affine.cc: scale and shift of channels into a convolution
extern const Rule rule_conv_batch_norm, rule_conv_add, rule_conv_sub, rule_conv_mul, rule_conv_div;
extern const Rule rule_batch_norm_affine;
extern const Rule rule_pad_conv;
extern const Rule rule_channel_multiplier;
extern const Rule rule_global_pool;

extern const Rule rule_attention;  // attention/attention.cc
// sink_transpose.cc: nodes between attention and its products
extern const Rule rule_sink_transpose_linear, rule_sink_transpose_reshape, rule_unfold_linear;

extern const Rule rule_gelu;
// swish.cc: SiLU and HardSwish as sequences of operators
extern const Rule rule_silu, rule_hard_swish, rule_hard_swish_inner, rule_hard_swish_outer, rule_hard_swish_outer_mul;
// layer_norm.cc: layer and RMS normalisation as sequences of operators
extern const Rule rule_layer_norm, rule_layer_norm_gamma, rule_layer_norm_beta, rule_rms_norm_div, rule_rms_norm_mul,
    rule_rms_norm_gamma;
// skip_norm.cc: Add and normalisation
extern const Rule rule_skip_layer_norm, rule_skip_rms_norm;

// linear.cc: products with constant weights
extern const Rule rule_linear_from_matmul, rule_linear_from_gemm, rule_linear_bias, rule_linear_scale;
// epilogue.cc: nodes that follow retort.Conv and retort.Linear
extern const Rule rule_epilogue_residual, rule_epilogue_relu, rule_epilogue_sigmoid, rule_epilogue_tanh,
    rule_epilogue_clip, rule_epilogue_leaky_relu, rule_epilogue_hard_sigmoid, rule_epilogue_hard_swish,
    rule_epilogue_gelu, rule_epilogue_swish;

}  // namespace retort
