"""silero-vad as its users call it: speech in a sound, with torch."""
import numpy as np
import sounds

NEEDS = ("silero_vad", "torch")


def results():
    import torch
    from silero_vad import get_speech_timestamps, load_silero_vad
    sound = torch.from_numpy(sounds.speech())
    found = {}
    for version in (15, 16):
        model = load_silero_vad(onnx=True, opset_version=version)
        spans = get_speech_timestamps(sound, model, threshold=0.3)
        found[f"spans {version}"] = np.array([[s["start"], s["end"]] for s in spans], np.int64)
        found[f"probabilities {version}"] = model.audio_forward(sound, sounds.RATE).numpy()
    return found
