// Prints what a C program sees of the library that it was linked with: its name, and the first input of a model.
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>

static const OrtApi* api;

static void check(OrtStatus* status) {
  if (!status) return;
  fprintf(stderr, "%s\n", api->GetErrorMessage(status));
  exit(1);
}

int main(int argc, char** argv) {
  OrtEnv* env = NULL;
  OrtSession* session = NULL;
  OrtSessionOptions* options = NULL;
  OrtAllocator* allocator = NULL;
  char* name = NULL;
  if (argc != 2) return 2;
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "describe", &env));
  check(api->CreateSessionOptions(&options));
  check(api->CreateSession(env, argv[1], options, &session));
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  check(api->SessionGetInputName(session, 0, allocator, &name));
  printf("%.6s %s\n", api->GetBuildInfoString(), name);
  check(api->AllocatorFree(allocator, name));
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return 0;
}
