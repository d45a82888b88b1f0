// Streams, events and captured graphs.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/driver.h"

namespace software_cuda {

using providers::cuda::CUresult;
using Work = std::function<void()>;

/// Codes of the driver that the stand-in returns.
enum Code : CUresult {
  kSuccess = 0,
  kInvalidValue = 1,
  kNoMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kTooManyResources = 701,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
};

/// A thread that does pieces of work one after the other. Thread-safe.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  /// Number of the last piece of a queue; it is done if all until it are done.
  struct Ticket {
    std::shared_ptr<Queue> queue;
    uint64_t number = 0;
    bool done() const { return !queue || queue->done(number); }
    void wait() const {
      if (queue) queue->wait(number);
    }
  };
  static std::shared_ptr<Queue> make();
  /// `after`: what must be done before it.
  Ticket submit(Work work, std::vector<Ticket> after = {});
  Ticket last();
  /// No more work comes: the thread ends when it has done all that was submitted.
  void close();

 private:
  struct Item {
    Work work;
    std::vector<Ticket> after;
  };
  bool done(uint64_t number);
  void wait(uint64_t number);
  static void loop(const std::shared_ptr<Queue>& self);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  uint64_t submitted_ = 0, done_ = 0;
  bool closed_ = false;
};

/// The work of streams that is being captured.
struct Capture {
  struct Node {
    Work work;
    std::vector<int> after;
  };
  std::vector<Node> nodes;
  std::set<struct Stream*> streams;  // that take part
  Stream* origin = nullptr;
  std::thread::id thread;
  bool thread_local_mode = true;
  bool invalid = false;
};

struct Stream {
  std::shared_ptr<Queue> queue;
  int device = 0;
  bool blocking = true;  // waits for the legacy stream, and it for this one
  std::shared_ptr<Capture> capture;
  std::vector<int> tails;  // nodes that the next one follows
};

struct Event {
  int device = 0;
  bool recorded = false;
  Queue::Ticket ticket;
  std::shared_ptr<double> time = std::make_shared<double>(0);  // ms, written by the stream
  std::shared_ptr<Capture> capture;
  std::vector<int> nodes;
};

struct Graph {
  std::vector<Capture::Node> nodes;
};
struct GraphExec {
  std::vector<Capture::Node> nodes;
  Queue::Ticket last;
};

/// All streams, events and captures of the process. Its functions take the lock themselves.
class Streams {
 public:
  static Streams& get();

  Stream* create(int device, bool blocking);
  CUresult destroy(Stream* stream);
  /// Adds work to a stream (null: the legacy stream of `device`), or to the capture that it is in. `ticket` may be
  /// null.
  CUresult submit(Stream* stream, int device, Work work, Queue::Ticket* ticket = nullptr);
  CUresult synchronize(Stream* stream, int device);
  CUresult query(Stream* stream, int device);
  CUresult wait_event(Stream* stream, int device, Event* event);
  CUresult is_capturing(Stream* stream, int* status);
  CUresult begin_capture(Stream* stream, int mode);
  CUresult end_capture(Stream* stream, Graph** graph);
  CUresult launch(std::shared_ptr<GraphExec> exec, Stream* stream, int device);

  Event* create_event(int device);
  CUresult destroy_event(Event* event);
  CUresult record(Event* event, Stream* stream, int device);
  CUresult query(Event* event);
  CUresult synchronize(Event* event);
  CUresult elapsed(float* ms, Event* begin, Event* end);

  /// The error of a call that a thread with an open capture must not make; makes its captures invalid.
  CUresult forbid_in_capture();
  /// Waits for all work of the device.
  void wait_for_all(int device);

  bool captures(Stream* stream);
  int64_t stream_count();
  int64_t event_count();

 private:
  std::shared_ptr<Queue> legacy(int device);
  CUresult forbid();
  /// Whether the stream exists. The real driver crashes where it is asked about a stream that was destroyed, and so does
  /// this one.
  bool alive(Stream* stream) const;
  CUresult add(Stream* stream, Work work);
  CUresult submit_legacy(int device, Work work, Queue::Ticket* ticket);
  CUresult submit_locked(Stream* stream, int device, Work work, Queue::Ticket* ticket);

  std::mutex mutex_;
  std::set<Stream*> streams_;
  std::set<Event*> events_;
  std::vector<std::shared_ptr<Capture>> captures_;
  std::vector<std::shared_ptr<Queue>> legacy_;
};

/// Does the work of captured nodes, each after those that it follows.
void replay(const std::vector<Capture::Node>& nodes);
/// A random delay of up to SOFTWARE_CUDA_DELAY_US before a piece of work.
void delay();
/// Whether SOFTWARE_CUDA_DELAY_US is set.
bool delays();
/// A random number below `count`.
size_t draw(size_t count);

}  // namespace software_cuda
