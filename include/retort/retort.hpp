// Retort for C++20: owners for the handles of the C interface, spans for data, exceptions for statuses. Header only.
//
//   retort::api::Env env;
//   retort::api::Session session(env, "model.onnx");
//   auto x = retort::api::Value::tensor<float>({1, 3});
//   std::ranges::fill(x.data<float>(), 1.0f);
//   auto outputs = session.run({{"x", x}}, {"y"});
//   for (float v : outputs[0].data<float>()) …
//
// Everything goes through the C interface, so the same program runs on Retort and on ONNX Runtime. The library is, in
// this order: what Library::load() opened; the file that the environment variable RETORT_LIBRARY names; the one the
// program is linked with. A program compiled with RETORT_API_DLOPEN is linked with none: the last step then opens
// libretort.so.1 or libonnxruntime.so.1.
//
// Owners are move-only and release what they hold. One object belongs to one thread at a time, except that a Session
// may run from several threads at once, each with inputs, outputs or an IoBinding of its own. A moved-from owner may
// only be destroyed or assigned to. Every function may throw Error.
#pragma once
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "retort/retort.hpp needs C++20: compile with -std=c++20, or use onnxruntime_cxx_api.h, which needs C++17"
#else
#include "cxx/binding.hpp"
#include "cxx/compile.hpp"
#include "cxx/devices.hpp"
#include "cxx/library.hpp"
#include "cxx/memory.hpp"
#include "cxx/options.hpp"
#include "cxx/package.hpp"
#include "cxx/session.hpp"
#include "cxx/value.hpp"
#endif
