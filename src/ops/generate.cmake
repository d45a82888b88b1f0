# The operator table comes from the file names: ops/<family>/<name>.cc exports op_<name>.
retort_table(op_table "extern const OpDef op_@name@;" "&ops::op_@name@" ${dir}/*/*.cc)
