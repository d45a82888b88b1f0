"""open-voicefilter-lite: one voice out of a mixture, chunk by chunk; its two models are quantised to eight bits."""
import numpy as np
import sounds

NEEDS = ("voicefilter_lite", "librosa")


def results():
    from voicefilter_lite import StreamingVoiceFilter
    stream = StreamingVoiceFilter()
    hop = stream.hp.hop_length
    stream.set_enrollment(sounds.speech(seed=1))
    mixture = sounds.speech(5, seed=1) + 0.3 * sounds.speech(5, seed=9)
    chunks = [stream.step(mixture[i:i + hop]) for i in range(0, len(mixture) - hop, hop)]
    return {"voice": np.concatenate(chunks)}
