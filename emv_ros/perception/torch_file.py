"""Reads the tensors of a torch checkpoint without torch, and nothing but tensors.

The older form of the file is meant (a stream of pickles, then the numbers of each storage), which
is what `torch.save` wrote before version 1.6. A pickle can name any function to be called; this
reader knows three names, all of them for tensors of floats or integers, and refuses each other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
import io
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emv_ros.errors import PerceptionError

MAGIC = 0x1950a86a20f9469cfc6c
TYPES = {'FloatStorage': np.dtype('<f4'), 'LongStorage': np.dtype('<i8')}

Array = NDArray[Any]


def read_tensors(content: bytes) -> dict[str, Array]:
    """Return the tensors of a state dict by their names, contiguous.

    Raises PerceptionError where the content is no such file, is cut off, or names anything else.
    """
    stream = io.BytesIO(content)
    try:
        if _Reader(stream).load() != MAGIC:
            raise PerceptionError('the file does not begin like a checkpoint of torch')
        _Reader(stream).load()  # the version of the form
        _Reader(stream).load()  # the machine's sizes and order of bytes
        reader = _Reader(stream)
        tensors = reader.load()
        for key in _Reader(stream).load():
            reader.fill(key, stream)
    except (pickle.UnpicklingError, EOFError, KeyError, ValueError, TypeError,
            AttributeError, IndexError) as error:
        raise PerceptionError(f'the checkpoint cannot be read: {error}') from error
    if not isinstance(tensors, Mapping):
        raise PerceptionError('the checkpoint holds no tensors by name')
    return {str(name): np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


class _Reader(pickle.Unpickler):
    """Makes arrays whose numbers `fill` puts in place afterwards."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._storages: dict[str, Array] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name stands for; only tensors have names."""
        if (module, name) == ('collections', 'OrderedDict'):
            return OrderedDict
        if (module, name) == ('torch._utils', '_rebuild_tensor_v2'):
            return _tensor
        if module == 'torch' and name in TYPES:
            return TYPES[name]
        raise pickle.UnpicklingError(f'{module}.{name} is no part of a tensor')

    def persistent_load(self, pid: Any) -> Array:
        """Return the storage that a tensor is a view of."""
        kind, dtype, key, _device, count, view = pid
        if kind != 'storage' or view is not None or not isinstance(dtype, np.dtype):
            raise pickle.UnpicklingError(f'{kind!r} is no storage that is known')
        if key not in self._storages:
            self._storages[key] = np.zeros(int(count), dtype)
        return self._storages[key]

    def fill(self, key: str, stream: io.BytesIO) -> None:
        """Read the numbers of one storage."""
        storage = self._storages[key]
        count = int.from_bytes(stream.read(8), 'little')
        numbers = stream.read(storage.nbytes)
        if count != len(storage) or len(numbers) != storage.nbytes:
            raise EOFError(f'storage {key} is cut off')
        storage[:] = np.frombuffer(numbers, storage.dtype)


def _tensor(storage: Array, offset: int, size: Sequence[int], stride: Sequence[int],
            *_: Any) -> Array:
    """Return the view of a storage, within its bounds."""
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if min((offset, *size, *stride), default=0) < 0 or last >= len(storage):
        raise pickle.UnpicklingError('a tensor reaches beyond its storage')
    return np.lib.stride_tricks.as_strided(
        storage[offset:], tuple(size), tuple(step * storage.itemsize for step in stride))
