#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "queue.h"

namespace software_cuda {

static double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Streams& Streams::get() {
  static auto& streams = *new Streams;  // never destroyed: threads of streams may run until the process is gone
  return streams;
}

std::shared_ptr<Queue> Streams::legacy(int device) {
  if (legacy_.size() <= size_t(device)) legacy_.resize(size_t(device) + 1);
  auto& queue = legacy_[size_t(device)];
  if (!queue) queue = Queue::make();
  return queue;
}

Stream* Streams::create(int device, bool blocking) {
  const std::lock_guard lock(mutex_);
  auto* const stream = new Stream;
  stream->queue = Queue::make();
  stream->device = device;
  stream->blocking = blocking;
  streams_.insert(stream);
  return stream;
}

bool Streams::alive(Stream* stream) const {
  if (!stream || streams_.count(stream)) return true;
  std::fputs("software CUDA: a call names a stream that was destroyed\n", stderr);
  std::abort();
}

CUresult Streams::destroy(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (!streams_.erase(stream)) return kInvalidHandle;
  if (const auto capture = stream->capture) {
    capture->invalid = true;
    capture->streams.erase(stream);
    if (capture->origin == stream) {
      for (Stream* s : capture->streams) s->capture.reset();
      captures_.erase(std::find(captures_.begin(), captures_.end(), capture));
    }
  }
  stream->queue->close();
  delete stream;
  return kSuccess;
}

/// Adds a node to the capture that the stream is in.
CUresult Streams::add(Stream* stream, Work work) {
  Capture& capture = *stream->capture;
  if (capture.invalid) return kCaptureInvalidated;
  capture.nodes.push_back({std::move(work), stream->tails});
  stream->tails = {int(capture.nodes.size()) - 1};
  return kSuccess;
}

CUresult Streams::submit_legacy(int device, Work work, Queue::Ticket* ticket) {
  std::vector<Queue::Ticket> after;
  for (Stream* s : streams_) {
    if (s->device != device || !s->blocking) continue;
    if (s->capture) {
      s->capture->invalid = true;
      return kCaptureImplicit;
    }
    after.push_back(s->queue->last());
  }
  const auto made = legacy(device)->submit(std::move(work), std::move(after));
  if (ticket) *ticket = made;
  return kSuccess;
}

CUresult Streams::submit_locked(Stream* stream, int device, Work work, Queue::Ticket* ticket) {
  if (!alive(stream)) return kInvalidHandle;
  if (!stream) return submit_legacy(device, std::move(work), ticket);
  if (stream->device != device) return kInvalidHandle;
  if (stream->capture) return add(stream, std::move(work));
  std::vector<Queue::Ticket> after;
  if (stream->blocking) after.push_back(legacy(device)->last());
  const auto made = stream->queue->submit(std::move(work), std::move(after));
  if (ticket) *ticket = made;
  return kSuccess;
}

CUresult Streams::submit(Stream* stream, int device, Work work, Queue::Ticket* ticket) {
  const std::lock_guard lock(mutex_);
  return submit_locked(stream, device, std::move(work), ticket);
}

CUresult Streams::synchronize(Stream* stream, int device) {
  Queue::Ticket last;
  {
    const std::lock_guard lock(mutex_);
    if (!alive(stream)) return kInvalidHandle;
    if (stream && stream->capture) {
      stream->capture->invalid = true;
      return kCaptureUnsupported;
    }
    if (const CUresult result = forbid()) return result;
    if (stream) {
      last = stream->queue->last();
    } else if (const CUresult result = submit_legacy(device, {}, &last)) {
      return result;
    }
  }
  last.wait();
  return kSuccess;
}

CUresult Streams::query(Stream* stream, int device) {
  const std::lock_guard lock(mutex_);
  if (!alive(stream)) return kInvalidHandle;
  if (stream && stream->capture) {
    stream->capture->invalid = true;
    return kCaptureUnsupported;
  }
  if (const CUresult result = forbid()) return result;
  return (stream ? stream->queue : legacy(device))->last().done() ? kSuccess : kNotReady;
}

CUresult Streams::wait_event(Stream* stream, int device, Event* event) {
  const std::lock_guard lock(mutex_);
  if (!alive(stream) || !events_.count(event)) return kInvalidHandle;
  if (!event->recorded) return kSuccess;
  if (!event->capture) {
    if (stream && stream->capture) {
      stream->capture->invalid = true;
      return kCaptureIsolation;
    }
    if (!stream)
      return submit_legacy(
          device, [t = event->ticket] { t.wait(); }, nullptr);
    stream->queue->submit({}, {event->ticket});
    return kSuccess;
  }
  if (!stream) return kCaptureImplicit;
  if (event->capture->invalid) return kCaptureInvalidated;
  if (stream->capture && stream->capture != event->capture) {
    stream->capture->invalid = event->capture->invalid = true;
    return kCaptureMerge;
  }
  if (!stream->capture) {
    if (!std::count(captures_.begin(), captures_.end(), event->capture)) return kInvalidValue;
    stream->capture = event->capture;
    stream->capture->streams.insert(stream);
    stream->tails.clear();
  }
  for (const int node : event->nodes)
    if (!std::count(stream->tails.begin(), stream->tails.end(), node)) stream->tails.push_back(node);
  return kSuccess;
}

CUresult Streams::launch(std::shared_ptr<GraphExec> exec, Stream* stream, int device) {
  const std::lock_guard lock(mutex_);
  // A graph never runs twice at the same time.
  Queue::Ticket ticket;
  const CUresult result = submit_locked(
      stream, device,
      [exec, last = exec->last] {
        last.wait();
        replay(exec->nodes);
      },
      &ticket);
  if (result == kSuccess && ticket.queue) exec->last = ticket;
  return result;
}

Event* Streams::create_event(int device) {
  const std::lock_guard lock(mutex_);
  auto* const event = new Event;
  event->device = device;
  events_.insert(event);
  return event;
}

CUresult Streams::destroy_event(Event* event) {
  const std::lock_guard lock(mutex_);
  if (!events_.erase(event)) return kInvalidHandle;
  delete event;
  return kSuccess;
}

CUresult Streams::record(Event* event, Stream* stream, int device) {
  const std::lock_guard lock(mutex_);
  if (!alive(stream) || !events_.count(event)) return kInvalidHandle;
  if (event->device != device) return kInvalidHandle;
  if (stream && stream->capture) {
    if (stream->capture->invalid) return kCaptureInvalidated;
    event->capture = stream->capture;
    event->nodes = stream->tails;
    event->recorded = true;
    return kSuccess;
  }
  const auto time = std::make_shared<double>(0);
  Queue::Ticket ticket;
  if (const CUresult result = submit_locked(
          stream, device, [time] { *time = now_ms(); }, &ticket))
    return result;
  event->time = time;
  event->ticket = ticket;
  event->capture.reset();
  event->recorded = true;
  return kSuccess;
}

CUresult Streams::query(Event* event) {
  const std::lock_guard lock(mutex_);
  if (!events_.count(event)) return kInvalidHandle;
  if (const CUresult result = forbid()) return result;
  if (event->recorded && event->capture) return kCapturedEvent;
  return event->ticket.done() ? kSuccess : kNotReady;
}

CUresult Streams::synchronize(Event* event) {
  Queue::Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    if (!events_.count(event)) return kInvalidHandle;
    if (const CUresult result = forbid()) return result;
    if (event->recorded && event->capture) return kCapturedEvent;
    ticket = event->ticket;
  }
  ticket.wait();
  return kSuccess;
}

CUresult Streams::elapsed(float* ms, Event* begin, Event* end) {
  const std::lock_guard lock(mutex_);
  if (!events_.count(begin) || !events_.count(end) || !begin->recorded || !end->recorded) return kInvalidHandle;
  if (begin->capture || end->capture) return kCapturedEvent;
  if (!begin->ticket.done() || !end->ticket.done()) return kNotReady;
  *ms = float(*end->time - *begin->time);
  return kSuccess;
}

void Streams::wait_for_all(int device) {
  std::vector<Queue::Ticket> last;
  {
    const std::lock_guard lock(mutex_);
    for (Stream* s : streams_)
      if (s->device == device) last.push_back(s->queue->last());
    last.push_back(legacy(device)->last());
  }
  for (const auto& t : last) t.wait();
}

int64_t Streams::stream_count() {
  const std::lock_guard lock(mutex_);
  return int64_t(streams_.size());
}

int64_t Streams::event_count() {
  const std::lock_guard lock(mutex_);
  return int64_t(events_.size());
}

}  // namespace software_cuda
