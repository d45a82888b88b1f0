// A stand-in for cuDNN's backend interface. Every graph has one engine, which computes it by plain loops.
#include <cstdio>
#include <cstdlib>
#include <list>

#include "cudnn_graph.h"
#include "share.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace software_cuda;
using namespace software_cuda::dnn;

namespace {

struct Handle {
  void* stream = nullptr;
};

/// What a caller has of a descriptor.
struct Descriptor {
  std::shared_ptr<Data> data;
};

constexpr int64_t kWorkspace = 512;  // asked for, so that a caller that forgets it is found

thread_local std::string last_error;

int refuse(int status, const std::string& why) {
  last_error = "software cuDNN: " + why;
  return status;
}

enum Type { kHandleType = 0, kBoolean = 2, kInt64 = 3, kFloat = 4, kDouble = 5, kPointer = 6, kDescriptorType = 15 };

bool read(const void* values, int type, int64_t i, Value& to) {
  switch (type) {
    case kHandleType:
    case kPointer:
      to.integers.push_back(static_cast<const int64_t*>(values)[i]);
      return true;
    case kBoolean:
      to.integers.push_back(static_cast<const bool*>(values)[i]);
      return true;
    case kInt64:
      to.integers.push_back(static_cast<const int64_t*>(values)[i]);
      return true;
    case kFloat:
      to.reals.push_back(static_cast<const float*>(values)[i]);
      return true;
    case kDouble:
      to.reals.push_back(static_cast<const double*>(values)[i]);
      return true;
    case kDescriptorType: {
      const auto* const d = static_cast<Descriptor* const*>(values)[i];
      if (!d || !d->data->final) return false;
      to.descriptors.push_back(d->data);
      return true;
    }
    default:  // an enumeration
      to.integers.push_back(static_cast<const int*>(values)[i]);
      return true;
  }
}

/// The graph of a plan or configuration.
const Data& graph_of(const Data& plan) { return *plan.descriptor(401)->descriptor(300)->descriptor(1302); }

bool has_products(const Data& graph) {
  for (const auto& o : graph.find(801)->descriptors)
    if (o->kind == kMatmulOperation) return true;
  return false;
}

/// Throws Refusal if a descriptor lacks something.
void finalize(Data& d) {
  const auto need = [&](std::initializer_list<int> names) {
    for (const int name : names)
      if (!d.find(name)) throw Refusal{kBadParameter, "attribute " + std::to_string(name) + " is not set"};
  };
  switch (d.kind) {
    case kTensor: {
      need({900, 901, 902, 903, 906});
      const Tensor t(d);
      if (t.dims.size() != t.strides.size()) throw Refusal{kBadParameter, "dims and strides of different lengths"};
      for (const int64_t x : t.dims)
        if (x < 1) throw Refusal{kBadParameter, "a tensor without elements"};
      break;
    }
    case kConvolution:
      need({100, 101, 102, 103, 104, 105, 106});
      break;
    case kPointwise:
      need({0, 1});
      break;
    case kForward:
      need({700, 701, 702, 703, 704, 705});
      examine(d);
      break;
    case kBackwardData:
      need({706, 707, 708, 709, 710, 711});
      examine(d);
      break;
    case kPointwiseOperation:
      need({750, 751, 753});
      examine(d);
      break;
    case kMatmul:
      need({1500});
      break;
    case kReduction:
      need({1600, 1601});
      break;
    case kMatmulOperation:
      need({1520, 1521, 1522, 1523});
      examine(d);
      break;
    case kReductionOperation:
      need({1610, 1611, 1612});
      examine(d);
      break;
    case kGraph:
      need({800, 801});
      break;
    case kHeuristics:
      need({200, 201});
      break;
    case kPlan:
      need({400, 401});
      if (has_products(graph_of(d))) examine_attention(graph_of(d));
      break;
    case kPack:
      need({1000, 1001});
      if (d.integers(1000).size() != d.integers(1001).size())
        throw Refusal{kBadParameter, "the pack has another number of addresses than of tensors"};
      break;
    default:
      break;
  }
}

int put(const Data& d, int64_t* count, int64_t most, void* values, int64_t value) {
  (void)d;
  if (count) *count = 1;
  if (most > 0 && values) *static_cast<int64_t*>(values) = value;
  return kOk;
}

int give(Descriptor* to, std::shared_ptr<Data> made) {
  if (!to || to->data->kind != made->kind) return refuse(kBadParameter, "the result is for another kind of descriptor");
  made->final = true;
  to->data = std::move(made);
  return kOk;
}

/// The only configuration for a graph.
std::shared_ptr<Data> configuration(const Data& heuristics) {
  auto engine = std::make_shared<Data>();
  engine->kind = kEngine;
  engine->final = true;
  engine->attributes[1302] = *heuristics.find(201);
  auto made = std::make_shared<Data>();
  made->kind = kConfiguration;
  made->attributes[300].descriptors.push_back(std::move(engine));
  return made;
}

}  // namespace

EXPORT size_t cudnnGetVersion() { return 91900; }

EXPORT const char* cudnnGetErrorString(int status) {
  switch (status) {
    case kOk:
      return "CUDNN_STATUS_SUCCESS";
    case kBadParameter:
      return "CUDNN_STATUS_BAD_PARAM";
    case kUnsupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case kFailed:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

EXPORT void cudnnGetLastErrorString(char* text, size_t bytes) {
  std::snprintf(text, bytes, "%s", last_error.c_str());
  last_error.clear();
}

EXPORT int cudnnCreate(Handle** handle) {
  *handle = new Handle;
  return kOk;
}
EXPORT int cudnnDestroy(Handle* handle) {
  delete handle;
  return kOk;
}
EXPORT int cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return kOk;
}

EXPORT int cudnnBackendCreateDescriptor(int kind, Descriptor** made) {
  auto* const d = new Descriptor{std::make_shared<Data>()};
  d->data->kind = kind;
  *made = d;
  return kOk;
}
EXPORT int cudnnBackendDestroyDescriptor(Descriptor* d) {
  delete d;
  return kOk;
}

EXPORT int cudnnBackendSetAttribute(Descriptor* d, int name, int type, int64_t count, const void* values) {
  if (!d || (count > 0 && !values)) return refuse(kBadParameter, "null");
  if (d->data->final) return refuse(kBadParameter, "the descriptor is final");
  Value v;
  v.type = type;
  for (int64_t i = 0; i < count; ++i)
    if (!read(values, type, i, v)) return refuse(kBadParameter, "a descriptor that is not final");
  d->data->attributes[name] = std::move(v);
  return kOk;
}

EXPORT int cudnnBackendFinalize(Descriptor* d) {
  try {
    finalize(*d->data);
    d->data->final = true;
    return kOk;
  } catch (const Refusal& r) {
    return refuse(r.status, r.why);
  }
}

EXPORT int cudnnBackendGetAttribute(Descriptor* d, int name, int, int64_t most, int64_t* count, void* values) {
  const Data& data = *d->data;
  if (!data.final) return refuse(kBadParameter, "the descriptor is not final");
  switch (name) {
    case 202:  // configurations
      if (count) *count = 1;
      return most > 0 && values ? give(*static_cast<Descriptor**>(values), configuration(data)) : int(kOk);
    case 300: {
      if (count) *count = 1;
      if (most < 1 || !values) return kOk;
      return give(*static_cast<Descriptor**>(values), std::make_shared<Data>(*data.descriptor(300)));
    }
    case 402:
      return put(data, count, most, values, kWorkspace);
    case 1301:
      return put(data, count, most, values, 0);
    case 1303:  // it rounds nothing
    case 1305:  // and has no special behaviour
      if (count) *count = 0;
      return kOk;
    default:
      return refuse(kUnsupported, "attribute " + std::to_string(name) + " cannot be read");
  }
}

EXPORT int cudnnBackendExecute(Handle* handle, Descriptor* plan, Descriptor* pack) {
  if (!handle || !plan || !pack || plan->data->kind != kPlan || pack->data->kind != kPack || !pack->data->final)
    return refuse(kBadParameter, "a plan and a variant pack are needed");
  auto places = std::make_shared<Places>();
  auto numbers = std::make_shared<std::list<int64_t>>();  // of the host, as they are now
  const auto ids = pack->data->integers(1000), addresses = pack->data->integers(1001);
  std::map<int64_t, int64_t> given;
  for (size_t i = 0; i < ids.size(); ++i) given[ids[i]] = addresses[i];
  const std::shared_ptr<const Data> kept = plan->data;
  for (const auto& o : graph_of(*kept).find(801)->descriptors)
    for (const auto& [name, value] : o->attributes)
      for (const auto& t : value.descriptors) {
        if (t->kind != kTensor || t->integer(907, 0)) continue;
        const Tensor tensor(*t);
        const auto found = given.find(tensor.id);
        if (found == given.end()) return refuse(kBadParameter, "the pack lacks tensor " + std::to_string(tensor.id));
        void* const address = reinterpret_cast<void*>(found->second);
        if (tensor.by_value) {
          numbers->push_back(0);
          std::memcpy(&numbers->back(), address, bytes_of(tensor.type));
          (*places)[tensor.id] = &numbers->back();
        } else if (!address || found->second % 16) {
          return refuse(kBadParameter, "tensor " + std::to_string(tensor.id) + " has no address that 16 divides");
        } else {
          (*places)[tensor.id] = behind(address);
        }
      }
  char* const workspace = behind(reinterpret_cast<char*>(pack->data->integer(1003, 0)));
  if (!workspace) return refuse(kBadParameter, "there is no workspace");
  const int result = submit(handle->stream, [kept, places, numbers, workspace] {
    std::memset(workspace, 0xFF, size_t(kWorkspace));
    compute(graph_of(*kept), *places);
  });
  return result == 0 ? int(kOk) : refuse(kFailed, "the driver returned " + std::to_string(result));
}
