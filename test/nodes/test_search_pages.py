"""Pages of SearchEpisodicMemory, with the names of its fields as its file has them."""

from __future__ import annotations

from pathlib import Path
import re
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import conversions
from emv_ros.nodes.lookups import Lookups
from emv_ros.records import Utterance
from emv_ros.retrieval.search import Searcher
from emv_ros.settings import MemorySettings, RetrievalSettings
from emv_ros.timeline import SECOND_NS

pytestmark = pytest.mark.ros
FILE = Path(__file__).parents[2] / 'srv' / 'SearchEpisodicMemory.srv'
DEFAULTS = {'string': '', 'bool': False, 'builtin_interfaces/Time': conversions.time_to_ros(None)}


def parts():
    """Return the fields of request and response, each as (type, name), and the constants."""
    texts = FILE.read_text('utf-8').split('\n---\n')
    fields = [re.findall(r'^(\S+) ([a-z]\w*)$', text, re.MULTILINE) for text in texts]
    return fields, dict(re.findall(r'^uint8 ([A-Z]\w*)=(\d+)$', texts[1], re.MULTILINE))


class Slotted(SimpleNamespace):
    """What has the fields of a message, and as such takes no others."""

    def __setattr__(self, name, value):
        assert name in self.__dict__, f'there is no field {name}'
        super().__setattr__(name, value)


def made(fields, **values):
    return Slotted(**{name: [] if kind.endswith(']') else DEFAULTS.get(kind, 0)
                      for kind, name in fields} | values)


@pytest.fixture
def search(tmp_path):
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path) as store:
        store.add_many(Utterance(stamp_ns=(10**9 + at) * SECOND_NS, speaker='', robot='r1',
                                 text=f'the cup number {at}') for at in range(5))
        lookups = Lookups(store, Searcher(store, RetrievalSettings(embedder='none')))
        (request, response), constants = parts()

        def call(**values):
            numbers = {name: int(number) for name, number in constants.items()}
            return lookups.search(made(request, **values), made(response, **numbers))

        yield call


def test_pages_have_all_hits_once_and_tell_the_total(search):
    pages = [search(text='cup', k=2, offset=offset) for offset in (0, 2, 4)]
    assert [len(page.evidence) for page in pages] == [2, 2, 1]
    assert {item.id for page in pages for item in page.evidence} == {f'u{at}' for at in range(1, 6)}
    assert pages[0].is_limited and 2 <= pages[0].total <= 5
    assert (pages[2].total, pages[2].is_limited) == (5, False)
    beyond = search(text='cup', k=2, offset=9)
    assert (beyond.status, beyond.total, beyond.evidence) == (beyond.STATUS_OK, 5, [])


def test_a_search_at_its_bound_says_so(search):
    found = search(text='cup', k=1)
    assert found.is_limited and found.total >= len(found.evidence) == 1
    assert search(text='dragons').status == found.STATUS_NOT_FOUND
