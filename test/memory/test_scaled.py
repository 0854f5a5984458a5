"""Pictures scaled for those who ask for less."""

import cv2
import numpy as np
import pytest

from emv_ros.errors import ImageError
from emv_ros.memory.scaling import scaled


def decoded(data):
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def test_a_picture_is_scaled_to_its_longest_edge():
    data = cv2.imencode('.jpg', np.full((40, 80, 3), 100, np.uint8))[1].tobytes()
    small = decoded(scaled(data, 'image/jpeg', 20))
    assert small.shape == (10, 20, 3) and abs(int(small.mean()) - 100) <= 2
    assert scaled(data, 'image/jpeg', 80) is data


def test_depth_keeps_its_millimetres():
    depth = np.zeros((4, 4), np.uint16)
    depth[:, 2:] = 3000
    small = decoded(scaled(cv2.imencode('.png', depth)[1].tobytes(), 'image/png', 2))
    assert small.dtype == np.uint16 and set(small.ravel()) <= {0, 3000}


def test_what_is_no_picture_is_refused():
    with pytest.raises(ImageError):
        scaled(b'words', 'image/jpeg', 10)
