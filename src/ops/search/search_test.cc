#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Their graphs need a session.
constexpr auto kDomain = "com.microsoft";
const OpTest beam_search("BeamSearch", {},
                         {.domain = kDomain, .own_test = "BeamSearch in session/engine_tests/search_test.cc"});
const OpTest greedy_search("GreedySearch", {},
                           {.domain = kDomain, .own_test = "GreedySearch in session/engine_tests/search_test.cc"});
const OpTest sampling("Sampling", {},
                      {.domain = kDomain, .own_test = "Sampling in session/engine_tests/search_test.cc"});
const OpTest whisper("WhisperBeamSearch", {},
                     {.domain = kDomain, .own_test = "cases search/whisper* of tests/conformance"});

}  // namespace
}  // namespace retort::ops
