"""faster-whisper's voice detection."""
import numpy as np
import sounds

NEEDS = ("faster_whisper",)


def results():
    from faster_whisper.vad import VadOptions, get_speech_timestamps, get_vad_model
    sound = sounds.speech()
    spans = get_speech_timestamps(sound, VadOptions(threshold=0.3, min_silence_duration_ms=300))
    whole = sound[:len(sound) // 512 * 512]
    return {"spans": np.array([[s["start"], s["end"]] for s in spans], np.int64), "probabilities": get_vad_model()(whole)}
