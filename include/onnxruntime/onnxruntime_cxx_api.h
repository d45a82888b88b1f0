// The C++ interface of ONNX Runtime 1.32, written for Retort over the C interface: a program that was written for the
// official header of this name compiles with this one, and then runs on Retort or on ONNX Runtime, whichever
// libonnxruntime.so.1 it loads. C++17 or newer. Header only. New programs may prefer <retort/retort.hpp>.
//
// - An object such as Ort::Session owns a handle of the C interface and releases it at its end. It can be moved, not
//   copied. Constructed from nullptr, or moved from, it is empty: it may only be destroyed or assigned to.
// - A ConstX or UnownedX refers to a handle that another object owns, and must not outlive it. It can be copied.
// - A function that fails throws Ort::Exception, except where it returns an Ort::Status. With ORT_NO_EXCEPTIONS, it
//   prints the message and aborts; a program may define ORT_CXX_API_THROW(string, code) to do something else, which must
//   not return.
// - One object belongs to one thread at a time, except that a Session may run from several threads at once.
// - With ORT_API_MANUAL_INIT, the program calls Ort::InitApi() before anything else. A library that is not linked with
//   libonnxruntime.so, such as one with custom operators, passes InitApi the table that it received.
#pragma once
#include "onnxruntime_c_api.h"
#include "onnxruntime_cxx/base.h"
#include "onnxruntime_cxx/binding.h"
#include "onnxruntime_cxx/compile.h"
#include "onnxruntime_cxx/custom_op.h"
#include "onnxruntime_cxx/devices.h"
#include "onnxruntime_cxx/env.h"
#include "onnxruntime_cxx/graph.h"
#include "onnxruntime_cxx/kernel.h"
#include "onnxruntime_cxx/memory.h"
#include "onnxruntime_cxx/options.h"
#include "onnxruntime_cxx/package.h"
#include "onnxruntime_cxx/provider.h"
#include "onnxruntime_cxx/session.h"
#include "onnxruntime_cxx/session_options.h"
#include "onnxruntime_cxx/types.h"
#include "onnxruntime_cxx/value.h"
#include "onnxruntime_cxx_inline.h"
#include "onnxruntime_float16.h"
