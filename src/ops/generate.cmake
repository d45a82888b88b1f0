# The operator table comes from the file names: ops/<family>/<name>.cc exports op_<name>.
retort_table(op_table "extern const OpDef op_@name@;" "&ops::op_@name@" ${dir}/*/*.cc)
# The room is compiled with -O2. With it, these take up to three times as long.
set(loops math/arg_max.cc math/arg_min.cc math/cum_prod.cc math/cum_sum.cc math/top_k.cc ml/common/tree_ensemble.cc
          ml/normalizer.cc nn/lp_normalization.cc nn/non_max_suppression.cc)
list(TRANSFORM loops PREPEND ${dir}/)
set_source_files_properties(${loops} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_UNITY_BUILD_INCLUSION ON)
# In a group, these files would move all files after them to other groups, where other functions are inlined: 10 KB more.
set_source_files_properties(${dir}/fused/nhwc_conv_integer.cc ${dir}/fused/q_linear_mul.cc
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
