"""Small networks in ONNX, with the metadata that an export of ultralytics has."""

from pathlib import Path

import numpy as np

from emv_ros.perception.onnx_graph import OnnxGraph

EDGE = 64


def constant_file(path: Path, rows: list[list[float]], *, is_across: bool = False, **about) -> Path:
    """Write a network that finds the same rows in every picture of 64 × 64.

    is_across: (1, columns, n), as a plain export; else (1, n, columns), as an end-to-end one.
    """
    values = np.array([rows], np.float32)
    values = values.transpose(0, 2, 1) if is_across else values
    graph = OnnxGraph('constant')
    graph.input('images', (1, 3, EDGE, EDGE))
    nothing = graph.node('Mul', [mean_colour(graph), graph.weight(np.zeros(1, np.float32))])
    one = graph.node('ReduceMean', [nothing], axes=[1], keepdims=1)
    return write(path, graph, graph.node('Add', [graph.weight(values), one]), values.shape, about)


def colour_file(path: Path, box: list[float], shape=(1, 3, EDGE, EDGE), **about) -> Path:
    """Write a network whose three scores for one box are the mean red, green and blue."""
    graph = OnnxGraph('colour')
    graph.input('images', shape)
    place = graph.weight(np.array(box, np.float32).reshape(1, 4, 1))
    output = graph.node('Concat', [place, mean_colour(graph)], axis=1)
    return write(path, graph, output, (1, 7, 1), about)


def mean_colour(graph: OnnxGraph) -> str:
    """Add the mean of each channel of the input, 1 × 3 × 1."""
    rows = graph.node('ReduceMean', ['images'], axes=[3], keepdims=0)
    return graph.node('ReduceMean', [rows], axes=[2], keepdims=1)


def write(path: Path, graph: OnnxGraph, output: str, shape, about) -> Path:
    graph.output(output, shape)
    path.write_bytes(graph.to_bytes() + b''.join(
        _message(14, _message(1, key) + _message(2, value)) for key, value in about.items()))
    return path


def _message(number: int, content: str | bytes) -> bytes:
    """Return a field of a protocol buffer, whose number fits into four bits."""
    data = content.encode() if isinstance(content, str) else content
    length, rest = [], len(data)
    while rest > 0x7f:
        length.append(rest & 0x7f | 0x80)
        rest >>= 7
    return bytes([number << 3 | 2, *length, rest]) + data
