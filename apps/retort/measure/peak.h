// Measures the peak performance of this machine, which profiles are compared with.
#pragma once

namespace retort::cli {

/// Float32 operations per second of `threads` threads that only multiply and add in registers, with the widest
/// instructions of instruction_level(); a multiply-add counts as 2. 0 threads: one per core. Takes about 0.1 s.
double peak_flops(int threads);

/// Bytes per second that this many threads read from memory at once, each from its own part of 256 MiB. Takes about
/// half a second.
double read_bandwidth(int threads);

}  // namespace retort::cli
