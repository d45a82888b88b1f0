// Ctrl-C: long measurements end early and tell what they have so far.
#pragma once

namespace retort::cli {

/// From here on the first SIGINT only sets a mark; a second one ends the program.
void catch_interrupt();
/// Restores that SIGINT ends the process, for child processes.
void forget_interrupt();
/// Whether SIGINT has come.
bool interrupted();
/// Throws Exit with kInterrupted if SIGINT has come: call it after partial results are printed.
void end_if_interrupted();

}  // namespace retort::cli
