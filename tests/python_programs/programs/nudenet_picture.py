"""nudenet: its detector on pictures of blobs, and the scores of the model behind it."""
import numpy as np
import pictures

NEEDS = ("nudenet", "cv2")


def results():
    import cv2
    from nudenet import NudeDetector
    detector = NudeDetector()
    found = {}
    for seed in range(3):
        picture = pictures.scene(seed)
        seen = detector.detect(picture)
        found[f"picture {seed}"] = [f"{d['class']} {d['box']}" for d in seen]
        blob = cv2.dnn.blobFromImage(picture, 1 / 255.0, (320, 320))
        found[f"scores {seed}"] = detector.onnx_session.run(None, {detector.input_name: blob})[0]
    return found
