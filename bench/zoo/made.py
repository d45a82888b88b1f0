"""Models of the zoo whose skeletons and recipes are made when they are needed: build_zoo.py adds them to those of recipes.json."""
import made_sequences
import made_trees
import made_vision

MAKERS = {
    "swin_like": made_vision.swin,
    "face_detector_like": made_vision.detector,
    "mask_decoder_like": made_vision.mask_decoder,
    "diffusion_unet_like": made_vision.diffusion,
    "byte_lstm": made_sequences.byte_lstm,
    "byte_gru": made_sequences.byte_gru,
    "pointwise_audio": made_sequences.audio,
    "t5_like": made_sequences.t5,
    "trees_gb500": made_trees.boosting,
}


def skeleton(name):
    return MAKERS[name]()[0]


def recipes():
    return {name: maker()[1] for name, maker in MAKERS.items()}
