// What this machine can do, measured: the yardstick of profiles.
#pragma once

namespace retort::cli {

/// Floating-point operations a second in float32 of `threads` threads that only multiply and add in registers, with the
/// widest instructions of the processor; a multiply-add is 2. 0 threads: one for each core. Takes about 0.1 s.
double peak_flops(int threads);

/// Bytes a second that so many threads read from memory at once, each another part of 256 MiB. Takes about half a second.
double read_bandwidth(int threads);

}  // namespace retort::cli
