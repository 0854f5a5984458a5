"""A search page by page: no unit twice, none lost, and a total that says what was found."""

from __future__ import annotations

from small_memories import NOON_NS, say, see

from emv_ros.memory.store import MemoryStore
from emv_ros.retrieval.budget import chosen, page_of
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.search import Searcher
from emv_ros.retrieval.units import Span, Unit
from emv_ros.settings import RetrievalSettings
from emv_ros.timeline import HOUR_NS

WORDS_ONLY = RetrievalSettings(embedder='none')


def unit(at: int, kind: str = 'observation', thing: str = '') -> Unit:
    start_ns = NOON_NS + (at % 3) * HOUR_NS
    return Unit(key=(at,), group=at, kind=kind, robot='r1', robot_id=1, text=str(at), thing=thing,
                spans=[Span(at, start_ns, start_ns)], score=1 / (at + 1))


def read(parts: list[list[Unit]], limit: int) -> list[int]:
    """Return the units of all pages, each begun where the one before ended."""
    found: list[int] = []
    while page := page_of(parts, limit, len(found)):
        found += [unit.spans[0].ref_id for unit in page]
    return found


def test_pages_share_no_unit_and_lose_none() -> None:
    units = [unit(at, thing='cup' if at < 12 else '') for at in range(30)]
    for limit in (1, 4, 7, 16, 40):
        assert sorted(read([units], limit)) == list(range(30)), limit
        assert page_of([units], limit, 0) == chosen(units, limit)
        parts = read([units[:20], units[20:]], limit)
        assert sorted(parts[:20]) == list(range(20))
        assert sorted(parts[20:]) == list(range(20, 30))
    assert page_of([units], 4, 30) == page_of([units], 4, 2**32 - 1) == page_of([[]], 4, 0) == []


def test_a_search_tells_how_much_was_found(store: MemoryStore) -> None:
    say(store, *(f'the cup number {at} is on the table' for at in range(5)))
    see(store, 'cup', start_s=100)
    finder = Finder(store, Searcher(store, WORDS_ONLY))
    whole = finder.find('cup', limit=16)
    assert (len(whole.units), whole.total, whole.is_limited) == (6, 6, False)
    pages = [finder.find('cup', limit=4, offset=offset) for offset in (0, 4, 8)]
    assert [len(page.units) for page in pages] == [4, 2, 0]
    # The first page looked at as many texts as it shows, and says that there may be more.
    assert [(page.total, page.is_limited) for page in pages] == [
        (4, True), (6, False), (6, False)]
    shown = {(unit.kind, unit.spans[0].ref_id) for page in pages for unit in page.units}
    assert shown == {(unit.kind, unit.spans[0].ref_id) for unit in whole.units}


def test_a_search_that_ended_at_its_bound_says_so(store: MemoryStore) -> None:
    say(store, *(f'the cup number {at} is on the table' for at in range(40)))
    found = Finder(store, Searcher(store, WORDS_ONLY)).find('cup', limit=4)
    assert found.is_limited
    assert 4 <= found.total < 40
    assert not Finder(store, Searcher(store, WORDS_ONLY)).find('cup', limit=41).is_limited


def test_later_pages_look_further(store: MemoryStore) -> None:
    made = say(store, *(f'the cup number {at} is on the table' for at in range(40)))
    finder, shown = Finder(store, Searcher(store, WORDS_ONLY)), list[int]()
    while True:
        found = finder.find('cup', limit=4, offset=len(shown))
        if not found.units:
            break
        shown += [unit.spans[0].ref_id for unit in found.units]
    assert len(shown) == 40
    assert sorted(shown) == made
    assert (found.total, found.is_limited) == (40, False)
