"""Sounds for programs that detect speech: vowels of a synthetic voice between pauses."""
import numpy as np

RATE = 16000
VOWELS = ((700, 1200, 2600), (300, 2300, 3000), (500, 900, 2400), (350, 800, 2300), (550, 1800, 2500))  # formants in Hz


def resonance(signal, frequency, bandwidth=80.0):
    """A filter with two poles at the frequency."""
    radius = np.exp(-np.pi * bandwidth / RATE)
    first, second = 2 * radius * np.cos(2 * np.pi * frequency / RATE), -radius * radius
    out = np.zeros(len(signal) + 2)
    for i, sample in enumerate(signal):
        out[i + 2] = sample + first * out[i + 1] + second * out[i]
    return out[2:]


def vowel(formants, seconds, random):
    """Pulses of a falling pitch, with a little breath, through the formants."""
    count = int(seconds * RATE)
    phase = np.cumsum(np.linspace(150, 110, count) / RATE)
    source = (np.diff(np.floor(phase), prepend=0) > 0).astype(float) + 0.02 * random.standard_normal(count)
    sound = sum(resonance(source, f) for f in formants)
    return sound * np.hanning(count) / np.abs(sound).max()


def speech(syllables=10, seed=7):
    """Syllables of 0.25 s, after every fifth a pause of a second, with noise throughout; float32 between -1 and 1."""
    random = np.random.default_rng(seed)
    parts = [np.zeros(RATE // 2)]
    for i in range(syllables):
        parts += [vowel(VOWELS[i % len(VOWELS)], 0.25, random), np.zeros(RATE // 20 if i % 5 != 4 else RATE)]
    sound = np.concatenate(parts)
    return (0.5 * sound + 0.002 * random.standard_normal(len(sound))).astype(np.float32)
