#!/usr/bin/env python3
"""Describes the processor of this machine, for the pages with measurements; prints the description."""
import os
import platform

# A flag of Linux, and what the pages call the instructions.
INSTRUCTIONS = (("avx512f", "AVX-512"), ("avx512_vnni", "VNNI"), ("avx512_bf16", "BF16"))


def facts(cpuinfo):
    """The entries of the first processor in the text of /proc/cpuinfo."""
    entries = {}
    for line in cpuinfo.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        entries[name.strip()] = value.strip()
    return entries


def described(cpuinfo, machine):
    """The name, the family and the instructions: the name alone, AMD EPYC, does not tell generations apart."""
    entries = facts(cpuinfo)
    name = entries.get("model name", machine)
    flags = entries.get("flags", "").split()
    known = [text for flag, text in INSTRUCTIONS if flag in flags] or (["AVX2"] if "avx2" in flags else [])
    if "cpu family" in entries and "model" in entries:
        known.insert(0, f"family {entries['cpu family']}, model {entries['model']}")
    return f"{name} ({', '.join(known)})" if known else name


def describe():
    """The processor, the number of its cores that this process may use, and the system."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            text = f.read()
    except OSError:
        text = ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{described(text, platform.machine())}, {cores} cores, {platform.system()}"


if __name__ == "__main__":
    print(describe())
