"""Runs graphs on one library with ONNX Runtime's C interface, with the messages of worker.py in the folder above.

    worker.py LIBRARY CONFIGURATION...      a CONFIGURATION is LEVEL:THREADS:WAY; WAY 1 is by I/O binding, 0 is not

A case is (key, model bytes, [what a run is fed with: [(name, value)]], outputs wanted, [feeds that are to fail: (feeds,
outputs)]). Its outcome is ("ok", [[values of the outputs] of each run], [error code of each that is to fail, -1 where
it ran], whether a repetition had the same bits).
"""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import worker  # noqa: E402
from worker import PTR, SIZE  # noqa: E402


class Engine(worker.Engine):
    def bound(self, session, binding, inputs, outputs, earlier=None):
        """The values of a run by I/O binding; if an earlier run has shown their types and shapes, tensors are bound to
        memory of the caller."""
        kept, given = [], []
        try:
            for name, value in inputs:
                given.append(self.value(value, kept))
                self.call("BindInput", binding, ctypes.c_char_p(name.encode()), given[-1])
            self.function("ClearBoundOutputs", None, PTR)(binding)
            for name, value in zip(outputs, earlier or [("none",)] * len(outputs)):
                if value[0] == "tensor":
                    given.append(self.value((*value[:3], bytes(len(value[3]))), kept))
                    self.call("BindOutput", binding, ctypes.c_char_p(name.encode()), given[-1])
                else:
                    self.call("BindOutputToDevice", binding, ctypes.c_char_p(name.encode()), self.memory)
            self.call("RunWithBinding", session, None, binding)
            array, count = PTR(), SIZE()
            self.call("GetBoundOutputValues", binding, self.allocator, ctypes.byref(array), ctypes.byref(count))
            made = [PTR.from_address(array.value + i * ctypes.sizeof(PTR)).value for i in range(count.value)]
            self.call("AllocatorFree", self.allocator, array)
            taken = [self.taken(PTR(v)) for v in made]
            for value in made:
                if value:
                    self.release("Value", PTR(value))
            return taken
        finally:
            for value in given:
                if value:
                    self.release("Value", value)

    def code_of(self, session, inputs, outputs):
        """The error code of a run that must fail; -1 if it does not fail."""
        try:
            self.run(session, inputs, outputs, ())
            return -1
        except worker.ApiError as e:
            return e.code

    def once(self, session, binding, inputs, outputs, earlier=None):
        return self.bound(session, binding, inputs, outputs, earlier) if binding else self.run(session, inputs, outputs, ())

    def outcome(self, configuration, model, runs, outputs, failing):
        stage = "load"
        try:
            session = self.session(model, configuration[:2])
            binding = self.make("CreateIoBinding", session) if configuration[2:] == (1,) else None
            try:
                stage = "run"
                made = [self.once(session, binding, feeds, outputs) for feeds in runs]
                codes = [self.code_of(session, *feeds) for feeds in failing]
                return "ok", made, codes, not failing or self.once(session, binding, runs[0], outputs, made[0]) == made[0]
            finally:
                if binding:
                    self.release("IoBinding", binding)
                self.release("Session", session)
        except worker.ApiError as e:
            return "error", stage, e.code, str(e)


if __name__ == "__main__":
    worker.main(Engine)
