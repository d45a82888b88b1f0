# The rules come from the file names: rules/<name>.cc exports lift_<name>.
retort_table(rule_table "extern const LiftRules lift_@name@;" "&lift_@name@" ${dir}/rules/*.cc)
