# The rules come from the file names: rules/<name>.cc exports rules_<name>.
retort_table(rule_table "extern const Rules rules_@name@;" "&rules_@name@" ${dir}/rules/*.cc)
