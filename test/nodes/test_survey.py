"""What the status tells of a memory."""

from __future__ import annotations

import shutil

from emv_ros.memory.store import MemoryStore
from emv_ros.nodes.survey import Survey
from emv_ros.settings import MemorySettings


def test_a_folder_that_is_gone_is_told(tmp_path):
    folder = tmp_path / 'memory'
    with MemoryStore.open(MemorySettings(), folder) as store:
        survey = Survey(store)
        shutil.rmtree(folder)
        survey.renew()
        assert str(folder) in survey.latest().problem
