"""EfficientNet-lite0 as published, as an ONNX graph whose outputs are means over each picture.

The architecture: a stem, sixteen inverted residual blocks, a head; ReLU6 everywhere, padding as
TensorFlow does it, batch normalisation folded into the convolutions. Outputs are the means over
height and width of chosen stages: early ones keep pattern and shade, late ones the kind of thing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from emv_ros.perception.onnx_graph import OnnxGraph

# kernel and stride of each block's depthwise convolution
BLOCKS = ((3, 1), (3, 2), (3, 1), (5, 2), (5, 1), (3, 2), (3, 1), (3, 1), (5, 1), (5, 1), (5, 1),
          (5, 2), (5, 1), (5, 1), (5, 1), (3, 1))
EPSILON = 1e-3
# (pixel - MEAN) / SCALE is what the network was trained on
MEAN, SCALE = 127.0, 128.0
HEAD = len(BLOCKS)

Weights = Mapping[str, NDArray[np.float32]]


def build(weights: Weights, stages: Mapping[int, int]) -> bytes:
    """Return an ONNX model: 'pixels' (n, 3, height, width) to one output a stage, in their order.

    A stage is the number of a block, or HEAD. Its number of rows says in how many parts, one below
    the other, the picture is averaged (1: as a whole; each part is so many rows of the state that
    they must divide): an output is (n, channels × rows). Raises KeyError where a weight is missing.
    """
    network = _Network(weights)
    state = network.convolution('pixels', '_conv_stem', '_bn0', stride=2)
    for at, (_, stride) in enumerate(BLOCKS):
        if at > max(stages):
            break
        state = network.block(state, f'_blocks.{at}', stride)
        if at in stages:
            network.mean(state, stages[at])
    if HEAD in stages:
        network.mean(network.convolution(state, '_conv_head', '_bn1'), stages[HEAD])
    network.graph.input('pixels', ('n', 3, 'height', 'width'))
    return network.graph.to_bytes()


class _Network:
    """The graph, and how its parts are made from the weights."""

    def __init__(self, weights: Weights) -> None:
        self.graph = OnnxGraph('efficientnet_lite0')
        self._weights = weights
        self._zero = self.graph.weight(np.array(0, np.float32))
        self._six = self.graph.weight(np.array(6, np.float32))

    def convolution(self, source: str, name: str, norm: str, *, stride: int = 1, groups: int = 1,
                    is_linear: bool = False) -> str:
        """Add a convolution with its normalisation folded in, and ReLU6 unless linear."""
        kernel, bias = self._folded(name, norm)
        size = int(kernel.shape[-1])
        state = self.graph.node(
            'Conv', [source, self.graph.weight(kernel), self.graph.weight(bias)],
            auto_pad='SAME_UPPER', group=groups, kernel_shape=(size, size),
            strides=(stride, stride))
        return state if is_linear else self.graph.node('Clip', [state, self._zero, self._six])

    def block(self, source: str, name: str, stride: int) -> str:
        """Add an inverted residual block."""
        state, expansion = source, self._weights.get(f'{name}._expand_conv.weight')
        if expansion is not None:
            state = self.convolution(state, f'{name}._expand_conv', f'{name}._bn0')
        groups = len(self._weights[f'{name}._depthwise_conv.weight'])
        state = self.convolution(state, f'{name}._depthwise_conv', f'{name}._bn1', stride=stride,
                                 groups=groups)
        state = self.convolution(state, f'{name}._project_conv', f'{name}._bn2', is_linear=True)
        leaving = len(self._weights[f'{name}._project_conv.weight'])
        if expansion is not None and stride == 1 and expansion.shape[1] == leaving:
            state = self.graph.node('Add', [state, source])
        return state

    def mean(self, state: str, rows: int) -> None:
        """Add an output: the means of a state over its width and each of so many parts."""
        across = self.graph.node('ReduceMean', [state], axes=(3,), keepdims=0)
        parts = [across] if rows == 1 else self.graph.split(across, rows, axis=2)
        means = [self.graph.node('ReduceMean', [part], axes=(2,), keepdims=0) for part in parts]
        self.graph.output(self.graph.node('Concat', means, axis=1), ('n', 'channels'))

    def _folded(self, name: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        get = self._weights.__getitem__
        scale = get(f'{norm}.weight') / np.sqrt(get(f'{norm}.running_var') + EPSILON)
        return (get(f'{name}.weight') * scale[:, None, None, None],
                get(f'{norm}.bias') - get(f'{norm}.running_mean') * scale)
