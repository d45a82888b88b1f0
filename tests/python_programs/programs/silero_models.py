"""silero-vad: each of its six models, frame by frame, as the package's own loops do it, without torch."""
import glob
import importlib.util
import os

import numpy as np
import onnxruntime
import sounds

NEEDS = ("silero_vad",)
FRAME, CONTEXT = 512, 64


def folder():
    return os.path.join(os.path.dirname(importlib.util.find_spec("silero_vad").origin), "data")


def frames():
    sound = sounds.speech()
    sound = sound[:len(sound) // FRAME * FRAME]
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), sound])
    return np.stack([padded[i:i + CONTEXT + FRAME] for i in range(0, len(sound), FRAME)])


def by_frame(session, inputs):
    """Probabilities of all frames; the state goes from one run to the next."""
    takes_rate = any(i.name == "sr" for i in session.get_inputs())
    state, found = np.zeros((2, 1, 128), np.float32), []
    for frame in inputs:
        feed = {"input": frame[None], "state": state}
        if takes_rate:
            feed["sr"] = np.array(sounds.RATE, np.int64)
        probability, state = session.run(None, feed)
        found.append(probability.item())
    return np.array(found, np.float32), state


def at_once(session, inputs):
    zero = np.zeros((1, 1, 128), np.float32)
    probabilities, hidden, cell = session.run(None, {"input": inputs, "h": zero, "c": zero})
    return probabilities, np.concatenate([hidden, cell])


def results():
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    options.log_severity_level = 3
    found = {}
    for path in sorted(glob.glob(os.path.join(folder(), "*.onnx"))):
        session = onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])
        run = at_once if "sequence" in path else by_frame
        name = os.path.basename(path)
        found[name], found[name + " state"] = run(session, frames())
    assert len(found) == 12, f"{len(found) // 2} models in place of six"
    return found
