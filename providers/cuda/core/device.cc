#include "device.h"

#include <algorithm>
#include <cctype>

#include "attentions.h"
#include "convolutions.h"
#include "kernels.h"
#include "memory.h"
#include "products.h"

namespace providers::cuda {

int Device::count() {
  const Driver* const found = find_driver();
  int count = 0;
  return found && found->device_count(&count) == 0 ? count : 0;
}

Device& Device::get(int number) {
  static std::mutex& mutex = *new std::mutex;
  static std::map<int, Device*>& made = *new std::map<int, Device*>;
  const std::lock_guard lock(mutex);
  if (const auto at = made.find(number); at != made.end()) return *at->second;
  driver();  // its error is the better one
  if (number < 0 || number >= count())
    throw Error(text("CUDA device ", number, " does not exist; the driver has ", count(), " devices"),
                ORT_INVALID_ARGUMENT);
  return *(made[number] = new Device(number));
}

Device::Device(int number) : number_(number) {
  const Driver& d = driver();
  check(d.device(&handle_, number), "choosing a CUDA device");
  char buffer[256] = "";
  check(d.device_name(buffer, sizeof buffer, handle_), "reading the name of a CUDA device");
  name_ = buffer;
  check(d.device_bus_id(buffer, sizeof buffer, handle_), "reading the bus of a CUDA device");
  bus_id_ = buffer;
  std::transform(bus_id_.begin(), bus_id_.end(), bus_id_.begin(), small_letter);
  const auto attribute = [&](int which) {
    int value = 0;
    check(d.device_attribute(&value, which, handle_), "reading an attribute of a CUDA device");
    return value;
  };
  architecture_ = 10 * attribute(kMajor) + attribute(kMinor);
  multiprocessors_ = attribute(kMultiprocessors);
  shared_bytes_ = size_t(attribute(kSharedOptIn));
  check(d.device_memory(&total_bytes_, handle_), "reading the memory of a CUDA device");
  memory_ = std::make_unique<Memory>(*this);
  kernels_ = std::make_unique<Kernels>(*this);
}

Device::~Device() = default;

size_t Device::available_bytes() const {
  size_t available = 0, total = 0;
  enter();
  check(driver().memory_info(&available, &total), "reading the free memory of a CUDA device");
  return available;
}

// The context costs time and hundreds of megabytes: it is made when the device is used, not when it is listed.
void Device::enter() const {
  std::call_once(entered_,
                 [&] { check(driver().primary_retain(&context_, handle_), "making the context of a CUDA device"); });
  check(driver().context_set(context_), "choosing the context of a CUDA device");
}

bool Device::try_enter() const noexcept {
  try {
    enter();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

Products& Device::products() {
  const std::lock_guard lock(mutex_);
  if (!products_) {
    enter();
    products_ = std::make_unique<Products>(*this);
  }
  return *products_;
}

Convolutions& Device::convolutions() {
  const std::lock_guard lock(mutex_);
  if (!convolutions_) {
    enter();
    if (!handles_) handles_ = std::make_unique<dnn::Handles>();
    convolutions_ = std::make_unique<Convolutions>(*this, *handles_);
  }
  return *convolutions_;
}

Attentions& Device::attentions() {
  const std::lock_guard lock(mutex_);
  if (!attentions_) {
    enter();
    if (!handles_) handles_ = std::make_unique<dnn::Handles>();
    attentions_ = std::make_unique<Attentions>(*this, *handles_);
  }
  return *attentions_;
}

}  // namespace providers::cuda
