#!/usr/bin/env python3
"""Counts the results in the reports of surefire. Prints a line for each failure and for each reason of skipped tests,
and the totals at the end."""
import collections
import glob
import sys
import xml.etree.ElementTree


def main(folder):
    passed = failed = 0
    skipped = collections.Counter()
    for path in sorted(glob.glob(folder + "/*/target/surefire-reports*/TEST-*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
            bad = [found for kind in ("failure", "error") if (found := case.find(kind)) is not None]
            skip = case.find("skipped")
            if bad:
                failed += 1
                text = bad[0].get("message") or (bad[0].text or "no message").strip()
                print(f"FAIL {name}: {text.splitlines()[0] if text else bad[0].get('type')}")
            elif skip is not None:
                # If an assumption ended the test, this is the reason with a stack trace.
                reason = skip.get("message") or (skip.text or "").strip() or "no reason given"
                skipped[reason.splitlines()[0].removeprefix("org.opentest4j.TestAbortedException: ").removeprefix("Assumption failed: ")] += 1
            else:
                passed += 1
    for reason, count in sorted(skipped.items()):
        print(f"skipped: {count} for: {reason}")
    print(f"{passed} passed, {failed} failed, {sum(skipped.values())} skipped")


if __name__ == "__main__":
    main(sys.argv[1])
