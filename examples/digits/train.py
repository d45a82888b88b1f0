#!/usr/bin/env python3
"""Train a small convolutional network on scikit-learn's handwritten digits and write digits.onnx.

    train.py [--out DIR] [--epochs N]

The network: two blocks of 3x3 convolution, Relu and 2x2 max-pool, then one linear layer and Softmax. Trained with Adam
in plain numpy (a few seconds), on images shifted by up to one pixel. One third of the data set is held out and never
trained on; it is written beside the model: heldout_images.npy (uint8 [n, 8, 8], 0..16) and heldout_labels.npy (uint8
[n]).

Data: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository (CC BY 4.0),
the copy that scikit-learn ships.
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 7
CHANNELS = (16, 32)
BATCH = 64
LEARNING_RATE = 2e-3


class Conv:
    """A 3x3 convolution with zero padding of one, followed by Relu."""

    def __init__(self, rng, inputs, outputs):
        self.w = (rng.standard_normal((outputs, inputs * 9)) * np.sqrt(2 / (inputs * 9))).astype(np.float32)
        self.b = np.zeros(outputs, np.float32)

    def parameters(self):
        return [self.w, self.b]

    def forward(self, x):
        n, c, h, w = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))  # n c h w 3 3
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        self.shape = x.shape
        y = np.maximum(self.columns @ self.w.T + self.b, 0)
        self.active = y > 0
        return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, c, h, w = self.shape
        dy = dy.transpose(0, 2, 3, 1).reshape(n * h * w, -1) * self.active
        self.gradients = [dy.T @ self.columns, dy.sum(0)]
        dcolumns = (dy @ self.w).reshape(n, h, w, c, 3, 3)
        dx = np.zeros((n, c, h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                dx[:, :, i:i + h, j:j + w] += dcolumns[..., i, j].transpose(0, 3, 1, 2)
        return dx[:, :, 1:-1, 1:-1]


class MaxPool:
    """2x2 maximum pooling with stride two."""

    def parameters(self):
        return []

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max(axis=(3, 5), keepdims=True)
        mask = blocks == y
        self.share = mask / mask.sum(axis=(3, 5), keepdims=True, dtype=np.float32)  # ties share the gradient
        return y[:, :, :, 0, :, 0]

    def backward(self, dy):
        self.gradients = []
        n, c, h, w = dy.shape
        return (self.share * dy[:, :, :, None, :, None]).reshape(n, c, h * 2, w * 2)


class Linear:
    """A linear layer, which flattens its input."""

    def __init__(self, rng, inputs, outputs):
        self.w = (rng.standard_normal((outputs, inputs)) * np.sqrt(1 / inputs)).astype(np.float32)
        self.b = np.zeros(outputs, np.float32)

    def parameters(self):
        return [self.w, self.b]

    def forward(self, x):
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.w.T + self.b

    def backward(self, dy):
        self.gradients = [dy.T @ self.x, dy.sum(0)]
        return (dy @ self.w).reshape(self.shape)


class Adam:
    def __init__(self, parameters):
        self.parameters = parameters
        self.mean = [np.zeros_like(p) for p in parameters]
        self.square = [np.zeros_like(p) for p in parameters]
        self.steps = 0

    def step(self, gradients, rate):
        self.steps += 1
        for p, g, m, v in zip(self.parameters, gradients, self.mean, self.square):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * (m / (1 - 0.9**self.steps)) / (np.sqrt(v / (1 - 0.999**self.steps)) + 1e-8)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def shifted(rng, images):
    """Moves each image by -1, 0 or 1 pixels in both directions."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = rng.integers(0, 3, (len(images), 2))
    return np.stack([p[:, i:i + 8, j:j + 8] for p, (i, j) in zip(padded, moves)])


def predict(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return softmax(x)


def train(layers, x, labels, rng, epochs):
    optimizer = Adam([p for layer in layers for p in layer.parameters()])
    targets = np.eye(10, dtype=np.float32)[labels]
    for epoch in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            pick = order[start:start + BATCH]
            error = (predict(layers, shifted(rng, x[pick])) - targets[pick]) / len(pick)  # gradient of the cross entropy
            for layer in reversed(layers):
                error = layer.backward(error)
            rate = LEARNING_RATE * (1 - epoch / epochs)
            optimizer.step([g for layer in layers for g in layer.gradients], rate)


def export(layers, path):
    first, _, second, _, linear = layers
    weights = {
        "conv1.weight": first.w.reshape(CHANNELS[0], 1, 3, 3), "conv1.bias": first.b,
        "conv2.weight": second.w.reshape(CHANNELS[1], CHANNELS[0], 3, 3), "conv2.bias": second.b,
        "linear.weight": linear.w, "linear.bias": linear.b,
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        node("Relu", ["c2"], ["r2"], "relu2"),
        node("MaxPool", ["r2"], ["p2"], "pool2", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p2"], ["flat"], "flatten"),
        node("Gemm", ["flat", "linear.weight", "linear.bias"], ["logits"], "linear", transB=1),
        node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="digits/train.py")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--out", default=HERE)
    ap.add_argument("--epochs", type=int, default=60)
    a = ap.parse_args()
    data = load_digits()
    images = data.images.astype(np.uint8)
    kept, heldout, kept_labels, heldout_labels = train_test_split(
        images, data.target, test_size=1 / 3, random_state=SEED, stratify=data.target)
    rng = np.random.default_rng(SEED)
    layers = [Conv(rng, 1, CHANNELS[0]), MaxPool(), Conv(rng, *CHANNELS), MaxPool(), Linear(rng, CHANNELS[1] * 4, 10)]
    as_input = lambda x: x[:, None].astype(np.float32) / 16  # noqa: E731
    train(layers, as_input(kept), kept_labels, rng, a.epochs)
    accuracy = (predict(layers, as_input(heldout)).argmax(1) == heldout_labels).mean()
    export(layers, os.path.join(a.out, "digits.onnx"))
    np.save(os.path.join(a.out, "heldout_images.npy"), heldout)
    np.save(os.path.join(a.out, "heldout_labels.npy"), heldout_labels.astype(np.uint8))
    print(f"trained on {len(kept)} images; {accuracy:.2%} of {len(heldout)} held-out images are right")


if __name__ == "__main__":
    main()
