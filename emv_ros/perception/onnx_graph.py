"""Writes a small network as the bytes of an ONNX model, for onnxruntime.

Only what a network of convolutions needs: nodes with whole numbers, decimals or texts as
attributes, and float32 weights. The wire format is that of protocol buffers; the numbers of the
fields are those of `onnx.proto3`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import struct

import numpy as np
from numpy.typing import NDArray

OPSET = 13
IR_VERSION = 8
FLOAT = 1  # TensorProto.DataType

Attribute = int | float | str | Sequence[int]


class OnnxGraph:
    """A graph under construction, from one input of pictures to its outputs."""

    def __init__(self, name: str) -> None:
        """Begin an empty graph."""
        self._name = name
        self._parts: list[bytes] = []
        self._count = 0

    def weight(self, values: NDArray[np.float32]) -> str:
        """Add constant numbers and return their name."""
        name = self._next('w')
        values = np.ascontiguousarray(values, np.float32)
        self._parts.append(_field(5, b''.join([
            *(_field(1, int(length)) for length in values.shape), _field(2, FLOAT),
            _field(8, name), _field(9, values.tobytes())])))
        return name

    def node(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """Add an operation and return the name of its only output."""
        return self._node(kind, inputs, 1, attributes)[0]

    def split(self, source: str, parts: int, axis: int) -> list[str]:
        """Cut a state into equal parts along an axis and return their names."""
        return self._node('Split', [source], parts, {'axis': axis})

    def _node(self, kind: str, inputs: Sequence[str], count: int,
              attributes: Mapping[str, Attribute]) -> list[str]:
        names = [self._next('v') for _ in range(count)]
        self._parts.append(_field(1, b''.join([
            *(_field(1, source) for source in inputs), *(_field(2, name) for name in names),
            _field(4, kind),
            *(_field(5, _attribute(key, value)) for key, value in attributes.items())])))
        return names

    def input(self, name: str, shape: Sequence[int | str]) -> None:
        """Declare an input of float32; a length that is a word is free."""
        self._parts.append(_field(11, _value(name, shape)))

    def output(self, name: str, shape: Sequence[int | str]) -> None:
        """Declare an output of float32."""
        self._parts.append(_field(12, _value(name, shape)))

    def to_bytes(self) -> bytes:
        """Return the model, as a file of ONNX holds it."""
        graph = b''.join([*self._parts, _field(2, self._name)])
        return b''.join([_field(1, IR_VERSION), _field(2, 'emv_ros'), _field(7, graph),
                         _field(8, _field(1, '') + _field(2, OPSET))])

    def _next(self, letter: str) -> str:
        self._count += 1
        return f'{letter}{self._count}'


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    lengths = b''.join(_field(1, _field(1 if isinstance(length, int) else 2, length))
                       for length in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, lengths)))


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case int():
            told = _field(3, value) + _field(20, 2)
        case float():
            told = b'\x15' + struct.pack('<f', value) + _field(20, 1)
        case str():
            told = _field(4, value) + _field(20, 3)
        case _:
            told = b''.join(_field(8, item) for item in value) + _field(20, 7)
    return _field(1, name) + told


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return one field: a whole number that is not negative, a text or a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, str):
        value = value.encode('utf-8')
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
