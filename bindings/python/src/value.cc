#include "value.h"

#include <string>

#include "drops.h"
#include "sparse.h"

namespace nb = nanobind;

namespace retort::python {

Value::~Value() {
  const HoldsGil gil;
  handle_.reset();
}

uint8_t Value::ask() const {
  int tensor = 0;
  check(api().IsTensor(get(), &tensor));
  uint8_t facts = kAsked;
  if (tensor && kind_of(get()) == ONNX_TYPE_TENSOR) {
    facts = is_on_host(get()) ? kAsked | kTensor | kHostTensor : kAsked | kTensor;
  }
  std::atomic_ref(facts_).store(facts, std::memory_order_relaxed);
  return facts;
}

nb::object wrap(Owned<OrtValue> handle, bool writeable) { return nb::cast(Value(std::move(handle), writeable)); }

OrtValue* try_unwrap(nb::handle object) {
  if (nb::isinstance<Value>(object)) {
    return nb::inst_ptr<Value>(object)->get();
  }
  if (nb::isinstance<SparseTensor>(object)) {
    return nb::inst_ptr<SparseTensor>(object)->get();
  }
  for (const char* name : {"_ortvalue", "_tensor"}) {
    nb::object inner = nb::getattr(object, name, nb::none());
    if (nb::isinstance<Value>(inner) || nb::isinstance<SparseTensor>(inner)) {
      return try_unwrap(inner);  // which the wrapper keeps alive
    }
  }
  return nullptr;
}

const Value* require_writeable(nb::handle object, std::string_view what) {
  const nb::object inner = nb::getattr(object, "_ortvalue", object);  // which the wrapper keeps alive
  const Value* value = nb::isinstance<Value>(inner) ? nb::inst_ptr<Value>(inner) : nullptr;
  if (value && !value->writeable()) {
    throw Misuse(ORT_INVALID_ARGUMENT, std::string(what) + ": it lies in the memory of a read-only array; give a copy");
  }
  return value;
}

OrtValue* unwrap(nb::handle object, std::string_view what) {
  OrtValue* value = try_unwrap(object);
  if (!value) {
    const std::string text =
        std::string(what) + ": an OrtValue is expected, not " + nb::type_name(object.type()).c_str();
    throw nb::type_error(text.c_str());
  }
  return value;
}

}  // namespace retort::python
