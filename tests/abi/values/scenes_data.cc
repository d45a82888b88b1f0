// Plain objects: attributes, places of external data, profiling events.
#include <cstring>
#include <string>

#include "scene.h"

namespace {

void read(scenes::Scene& s, const OrtOpAttr* attr, OrtOpAttrType type, size_t room) {
  char data[64] = {};
  std::memset(data, 'z', sizeof data - 1);
  size_t out = 77;
  s.note("as", type);
  CALL(ReadOpAttr, attr, type, data, room, &out);
  s.note("out", out);
  std::string text;
  for (size_t i = 0; i < 16; ++i) text += std::to_string(int(data[i])) + " ";
  s.note("data", text);
}

}  // namespace

SCENE(attribute, kinds) {
  const int64_t one = 5, many[3] = {1, 2, 3};
  const float real = 1.5f, reals[2] = {1, 2};
  const char *text = "text", *texts[2] = {"a", "bcd"};
  struct Case {
    OrtOpAttrType type;
    const void* data;
    int length;
  };
  for (const Case& c :
       {Case{ORT_OP_ATTR_INT, &one, 1}, Case{ORT_OP_ATTR_INTS, many, 3}, Case{ORT_OP_ATTR_FLOAT, &real, 1},
        Case{ORT_OP_ATTR_FLOATS, reals, 2}, Case{ORT_OP_ATTR_STRING, text, 4}, Case{ORT_OP_ATTR_STRINGS, texts, 2},
        Case{ORT_OP_ATTR_UNDEFINED, &one, 1}, Case{ORT_OP_ATTR_GRAPH, &one, 1}, Case{ORT_OP_ATTR_TENSOR, &one, 1},
        Case{OrtOpAttrType(99), &one, 1}}) {
    OrtOpAttr* attr = nullptr;
    s.note("type", c.type);
    if (CALL(CreateOpAttr, "name", c.data, c.length, c.type, &attr) != ORT_OK) continue;
    OrtOpAttrType type = OrtOpAttrType(-7);
    CALL(OpAttr_GetType, attr, &type);
    s.note("type", type);
    const char* name = nullptr;
    CALL(OpAttr_GetName, attr, &name);
    s.note("name", name);
    read(s, attr, c.type, 0);
    read(s, attr, c.type, 3);
    read(s, attr, c.type, 63);
    for (int other : {0, 1, 2, 3, 4, 5, 6, 8, 99}) {
      if (other != c.type) read(s, attr, OrtOpAttrType(other), 63);
    }
    OrtValue* tensor = nullptr;
    CALL(OpAttr_GetTensorAttributeAsOrtValue, attr, &tensor);
    s.api.ReleaseOpAttr(attr);
  }
  s.api.ReleaseOpAttr(nullptr);
}

SCENE(attribute, lengths) {
  const int64_t many[3] = {1, 2, 3};
  OrtOpAttr* attr = nullptr;
  CALL(CreateOpAttr, "name", many, 0, ORT_OP_ATTR_INTS, &attr);
  s.note("attr", attr);
  if (attr) read(s, attr, ORT_OP_ATTR_INTS, 63);
  attr = nullptr;
  CALL(CreateOpAttr, "name", "", 0, ORT_OP_ATTR_STRING, &attr);
  s.note("attr", attr);
  if (attr) read(s, attr, ORT_OP_ATTR_STRING, 63);
  attr = nullptr;
  CALL(CreateOpAttr, "name", "abcdef", 3, ORT_OP_ATTR_STRING, &attr);
  if (attr) read(s, attr, ORT_OP_ATTR_STRING, 63);
  attr = nullptr;
  CALL(CreateOpAttr, "", many, 3, ORT_OP_ATTR_INTS, &attr);
  s.note("attr", attr);
}

SCENE(external_info, life) {
  OrtExternalInitializerInfo* info = nullptr;
  CALL(CreateExternalInitializerInfo, "weights.bin", 128, 4096, &info);
  s.note("path", s.api.ExternalInitializerInfo_GetFilePath(info));
  s.note("offset", s.api.ExternalInitializerInfo_GetFileOffset(info));
  s.note("size", s.api.ExternalInitializerInfo_GetByteSize(info));
  s.api.ReleaseExternalInitializerInfo(info);
  s.api.ReleaseExternalInitializerInfo(nullptr);
  info = nullptr;
  CALL(CreateExternalInitializerInfo, "", 0, 0, &info);
  s.note("info", info);
  CALL(CreateExternalInitializerInfo, "w", -5, 10, &info);
  s.note("offset", info ? s.api.ExternalInitializerInfo_GetFileOffset(info) : -7);
}

SCENE(profiling_event, life) {
  const OrtEpApi& ep = *s.api.GetEpApi();
  const char *keys[2] = {"a", "b"}, *values[2] = {"1", "2"};
  OrtProfilingEvent* event = nullptr;
  s.call("create",
         ep.CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 2, "event", 100, 50, keys, values, 2, &event));
  OrtProfilingEventCategory category = OrtProfilingEventCategory(-7);
  const char* text = nullptr;
  int64_t number = -7;
  s.call("category", ep.ProfilingEvent_GetCategory(event, &category));
  s.note("category", category);
  s.call("name", ep.ProfilingEvent_GetName(event, &text));
  s.note("name", text);
  s.call("time", ep.ProfilingEvent_GetTimestampUs(event, &number));
  s.note("time", number);
  s.call("duration", ep.ProfilingEvent_GetDurationUs(event, &number));
  s.note("duration", number);
  s.call("arg", ep.ProfilingEvent_GetArgValue(event, "b", &text));
  s.note("arg", text);
  s.call("missing", ep.ProfilingEvent_GetArgValue(event, "missing", &text));
  s.note("missing", text);
  ep.ReleaseProfilingEvent(event);
  ep.ReleaseProfilingEvent(nullptr);
  event = nullptr;
  s.call("strange category",
         ep.CreateProfilingEvent(OrtProfilingEventCategory(9), 1, 2, "event", 100, 50, nullptr, nullptr, 0, &event));
  s.note("event", event);
  s.call("empty name",
         ep.CreateProfilingEvent(OrtProfilingEventCategory_API, -1, -1, "", -100, -50, nullptr, nullptr, 0, &event));
  s.note("event", event);
}
