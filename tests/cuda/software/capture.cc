#include <algorithm>

#include "queue.h"

namespace software_cuda {

CUresult Streams::forbid() {
  CUresult result = kSuccess;
  for (const auto& c : captures_) {
    if (c->thread != std::this_thread::get_id() || !c->thread_local_mode) continue;
    c->invalid = true;
    result = kCaptureUnsupported;
  }
  return result;
}

CUresult Streams::forbid_in_capture() {
  const std::lock_guard lock(mutex_);
  return forbid();
}

bool Streams::captures(Stream* stream) {
  const std::lock_guard lock(mutex_);
  return stream && streams_.count(stream) && stream->capture;
}

CUresult Streams::is_capturing(Stream* stream, int* status) {
  const std::lock_guard lock(mutex_);
  if (!alive(stream)) return kInvalidHandle;
  *status = !stream || !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
  return kSuccess;
}

CUresult Streams::begin_capture(Stream* stream, int mode) {
  const std::lock_guard lock(mutex_);
  if (!alive(stream)) return kInvalidHandle;
  if (!stream) return kCaptureUnsupported;
  if (stream->capture) return kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  capture->thread_local_mode = mode != 2;  // 2: relaxed
  capture->streams.insert(stream);
  stream->capture = capture;
  stream->tails.clear();
  captures_.push_back(capture);
  return kSuccess;
}

/// Whether all nodes come before the tails of the stream in which the capture began.
static bool joined(const Capture& capture) {
  std::vector<bool> reached(capture.nodes.size());
  std::vector<int> open = capture.origin->tails;
  while (!open.empty()) {
    const auto node = size_t(open.back());
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

CUresult Streams::end_capture(Stream* stream, Graph** graph) {
  const std::lock_guard lock(mutex_);
  *graph = nullptr;
  if (!stream || !alive(stream)) return kInvalidHandle;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return kInvalidValue;
  if (capture->origin != stream) return kCaptureUnmatched;
  if (capture->thread_local_mode && capture->thread != std::this_thread::get_id()) return kCaptureWrongThread;
  const CUresult result = capture->invalid ? kCaptureInvalidated : joined(*capture) ? kSuccess : kCaptureUnjoined;
  for (Stream* s : capture->streams) {
    s->capture.reset();
    s->tails.clear();
  }
  captures_.erase(std::find(captures_.begin(), captures_.end(), capture));
  if (result != kSuccess) return result;
  *graph = new Graph{capture->nodes};
  return kSuccess;
}

}  // namespace software_cuda
