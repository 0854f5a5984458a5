"""The model of looks: its file of weights, its network beside torch's numbers, its vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import pickle

import cv2
import numpy as np
import pytest

from emv_ros.carried import carried
from emv_ros.errors import PerceptionError
from emv_ros.memory.store import MemoryStore
from emv_ros.memory.thresholds import note_thresholds, stored_thresholds
from emv_ros.perception import appearance
from emv_ros.perception.appearance import EfficientNetLooks, Features, make_appearance
from emv_ros.perception.colour_histogram import CELLS, colour_histogram
from emv_ros.perception.efficientnet import build
from emv_ros.perception.onnx_graph import OnnxGraph
from emv_ros.perception.torch_file import MAGIC, read_tensors
from emv_ros.settings import PerceptionSettings


@pytest.fixture(scope='module')
def looks() -> EfficientNetLooks:
    return EfficientNetLooks()


def mug(colour: tuple[int, int, int], size: int = 90, gain: float = 1.0) -> np.ndarray:
    """Return a crop with a round thing of a colour, with white stripes, on grey."""
    pixels = np.full((size, size, 3), 120, np.uint8)
    cv2.circle(pixels, (size // 2, size // 2), size * 2 // 5, colour, -1)
    for at in range(2, 8, 2):
        cv2.line(pixels, (size // 4, size * at // 10), (size * 3 // 4, size * at // 10),
                 (250, 250, 250), size // 24)
    return np.clip(pixels * gain, 0, 255).astype(np.uint8)


# The file of weights

def test_a_checkpoint_is_read_without_torch() -> None:
    weights = read_tensors(carried(*appearance.WEIGHTS))
    # As torch.load reads it.
    assert len(weights) == 296
    assert weights['_conv_stem.weight'].shape == (32, 3, 3, 3)
    assert weights['_fc.weight'].shape == (1000, 1280)
    assert weights['_bn0.num_batches_tracked'].dtype == np.int64
    assert all(np.isfinite(values).all() for values in weights.values())


class Evil:
    def __reduce__(self) -> object:
        import os

        return os.system, ('touch /tmp/emv_was_here',)


def test_a_checkpoint_that_names_a_function_is_refused() -> None:
    head = pickle.dumps(MAGIC, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    with pytest.raises(PerceptionError, match='system is no part of a tensor'):
        read_tensors(head + pickle.dumps({'w': Evil()}, 2))
    with pytest.raises(PerceptionError, match='system is no part of a tensor'):
        read_tensors(pickle.dumps(Evil(), 2))


def test_a_checkpoint_that_is_cut_off_is_refused() -> None:
    content = carried(*appearance.WEIGHTS)
    for length in (0, 10, 3000, len(content) // 2, len(content) - 4):
        with pytest.raises(PerceptionError):
            read_tensors(content[:length])


# The network

def test_the_graph_computes_what_it_says() -> None:
    import onnxruntime

    graph = OnnxGraph('sums')
    kernel = np.zeros((1, 3, 1, 1), np.float32)
    kernel[0, :, 0, 0] = 1, 10, 100
    mixed = graph.node('Conv', ['pixels', graph.weight(kernel)], kernel_shape=(1, 1),
                       strides=(1, 1), group=1)
    for half in graph.split(mixed, 2, axis=2):
        graph.output(half, (1, 1, 1, 'width'))
    graph.input('pixels', (1, 3, 2, 'width'))
    pixels = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    session = onnxruntime.InferenceSession(graph.to_bytes(), providers=['CPUExecutionProvider'])
    above, below = session.run(None, {'pixels': pixels})
    assert above.ravel().tolist() == [0 + 40 + 800, 1 + 50 + 900]
    assert below.ravel().tolist() == [2 + 60 + 1000, 3 + 70 + 1100]


def test_the_network_gives_what_torch_gives() -> None:
    import onnxruntime

    network = build(read_tensors(carried(*appearance.WEIGHTS)), {6: 4, 11: 1})
    session = onnxruntime.InferenceSession(network, providers=['CPUExecutionProvider'])
    down, across = np.mgrid[0:128, 0:128].astype(np.float32)
    pixels = np.stack([np.sin(across / 7), np.cos(down / 11), np.sin((across + down) / 13)])
    early, late = session.run(None, {'pixels': pixels[None]})
    assert (early.shape, late.shape) == ((1, 4 * 80), (1, 192))
    # Of the published implementation on torch, from the same weights.
    parts = early.reshape(4, 80)
    assert parts[:, 0] == pytest.approx([10.330492, 8.35854, 11.492701, 6.6980467], rel=1e-4)
    assert parts[:, 2] == pytest.approx([-5.4990606, -1.7385776, -3.4579432, -3.5761917], rel=1e-4)
    assert late[0, :4] == pytest.approx([2.7434943, -4.667003, 0.21140149, -0.5674268], rel=1e-3)


# Vectors

def test_rows_have_length_one_and_depend_on_their_crop_alone(looks: EfficientNetLooks) -> None:
    crops = [mug((30, 30, 200)), mug((200, 60, 30), 60), mug((30, 30, 200), 300)]
    rows = looks.embed(crops)
    assert rows.shape == (3, looks.dimension) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert looks.embed(crops[1:2])[0] == pytest.approx(rows[1], abs=1e-5)
    assert looks.embed([]).shape == (0, looks.dimension)


def test_light_and_size_move_less_than_another_colour(looks: EfficientNetLooks) -> None:
    red, dimmed, small, blue = looks.embed([
        mug((30, 30, 200)), mug((30, 30, 200), gain=0.7), mug((30, 30, 200), 60),
        mug((200, 60, 30))])
    assert min(red @ dimmed, red @ small) > looks.thresholds.match > red @ blue


def test_a_crop_without_pixels_is_refused(looks: EfficientNetLooks) -> None:
    for shape in ((0, 10, 3), (10, 10), (10, 10, 4)):
        with pytest.raises(PerceptionError, match='has no looks'):
            looks.embed([np.zeros(shape, np.uint8)])
    assert np.isfinite(looks.embed([np.zeros((1, 1, 3), np.uint8)])).all()


def test_colours_are_shares_and_hardly_know_the_light() -> None:
    cells = colour_histogram(mug((30, 30, 200)))
    assert cells.shape == (CELLS,) and float((cells**2).sum()) == pytest.approx(1, abs=1e-4)
    dimmed, other = colour_histogram(mug((30, 30, 200), gain=0.7)), colour_histogram(
        mug((200, 60, 30)))
    assert cells @ dimmed > 0.93 > 0.8 > cells @ other


def test_colours_that_are_not_levelled_tell_shades_apart() -> None:
    bright, dark = mug((30, 30, 200)), mug((30, 30, 200), gain=0.5)
    levelled = colour_histogram(bright) @ colour_histogram(dark)
    assert levelled - 0.1 > colour_histogram(bright, is_levelled=False) @ colour_histogram(
        dark, is_levelled=False)


def test_another_metric_is_another_model(
        looks: EfficientNetLooks, monkeypatch: pytest.MonkeyPatch, memory: MemoryStore,
        tmp_path: Path) -> None:
    with np.load(appearance.METRIC) as metric:
        mean, matrix = metric['mean'], metric['matrix'].copy()
    monkeypatch.setattr(appearance, 'METRIC', tmp_path / 'metric.npz')
    np.savez(appearance.METRIC, mean=mean, matrix=matrix)
    assert EfficientNetLooks().name == looks.name
    matrix[0, 0] += 1
    np.savez(appearance.METRIC, mean=mean, matrix=matrix)
    other = EfficientNetLooks()
    assert other.name != looks.name
    # What the one noted in a memory does not outlive it.
    note_thresholds(memory, looks.name, 0.5, 0.4)
    with memory.reading() as session:
        assert stored_thresholds(session, looks.name, (0.9, 0.8)) == (0.5, 0.4)
        assert stored_thresholds(session, other.name, (0.9, 0.8)) == (0.9, 0.8)


# What the settings name

def test_none_is_no_model() -> None:
    assert make_appearance(replace(PerceptionSettings(), appearance='none')) is None
    assert isinstance(make_appearance(PerceptionSettings()), EfficientNetLooks)


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appearance, 'WEIGHTS', (*appearance.WEIGHTS[:2], '0' * 64))
    with pytest.raises(PerceptionError, match='is not the expected file of weights'):
        Features()
    monkeypatch.setattr(appearance, 'WEIGHTS', ('no_such_package_here', 'a', ''))
    with pytest.raises(PerceptionError, match="'no_such_package_here' is not installed"):
        Features()


def test_a_model_of_transformers_that_cannot_be_had_is_told(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    with pytest.raises(PerceptionError, match='looks by facebook/dinov2-small'):
        make_appearance(replace(PerceptionSettings(), appearance='facebook/dinov2-small'))
