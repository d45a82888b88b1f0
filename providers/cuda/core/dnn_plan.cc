#include "dnn_plan.h"

#include <algorithm>

namespace providers::cuda::dnn {
namespace {

bool capturing(CUstream stream) {
  int status = kCaptureNone;
  return driver().stream_is_capturing(stream, &status) == 0 && status != kCaptureNone;
}

}  // namespace

Handles::~Handles() {
  for (const auto handle : idle_) table().destroy(handle);
}

Loan::Loan(Handles& owner, CUstream stream) : owner_(owner) {
  std::unique_lock lock(owner.mutex_);
  if (owner.idle_.empty() && owner.made_ > 0 && capturing(stream))
    owner.returned_.wait(lock, [&] { return !owner.idle_.empty(); });
  if (owner.idle_.empty()) {
    check(table().create(&handle_), "cannot create a handle");
    ++owner.made_;
  } else {
    handle_ = owner.idle_.back();
    owner.idle_.pop_back();
  }
  lock.unlock();
  const int status = table().set_stream(handle_, stream);
  if (status == 0) return;
  back();
  check(status, "cannot set the stream");
}

void Loan::back() {
  {
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(handle_);
  }
  owner_.returned_.notify_one();
}

Plan::Plan(Handles& owner, Handle handle, std::shared_ptr<const void> graph, Descriptor configuration,
           std::vector<int64_t> ids, std::vector<ByValue> values)
    : owner_(owner),
      graph_(std::move(graph)),
      configuration_(std::move(configuration)),
      plan_(kExecutionPlan, "execution plan"),
      ids_(std::move(ids)),
      values_(std::move(values)) {
  plan_.set_handle(kPlanHandle, handle);
  plan_.set_descriptor(kPlanConfiguration, configuration_);
  plan_.finalize();
  int64_t bytes = 0, count = 0;
  check(table().get(plan_.raw(), kPlanWorkspace, kInt64, 1, &count, &bytes), "workspace of an execution plan");
  workspace_ = size_t(std::max<int64_t>(bytes, 0));
}

Descriptor Plan::pack(const std::vector<Address>& at, Address workspace) const {
  std::vector<int64_t> ids = ids_;
  std::vector<Address> pointers = at;
  for (const ByValue& v : values_) {
    ids.push_back(v.id);
    pointers.push_back(reinterpret_cast<Address>(v.at));
  }
  Descriptor pack(kVariantPack, "variant pack");
  pack.set_numbers(kPackIds, ids);
  pack.set(kPackPointers, kPointer, int64_t(pointers.size()), pointers.data());
  pack.set(kPackWorkspace, kPointer, 1, &workspace);
  pack.finalize();
  return pack;
}

void Plan::run(CUstream stream, const std::vector<Address>& at, Address workspace, const std::string& who) const {
  const Loan loan(owner_, stream);
  const std::lock_guard lock(mutex_);
  std::vector<Address> places = at;
  places.push_back(workspace);
  if (!last_pack_ || last_ != places) {
    last_pack_ = std::make_unique<Descriptor>(pack(at, workspace));
    last_ = std::move(places);
  }
  const int status = table().execute(loan.handle(), plan_.raw(), last_pack_->raw());
  if (status != 0) check(status, "execution by " + who);
}

}  // namespace providers::cuda::dnn
