from __future__ import annotations

import pytest
from small_memories import NOON_NS

from emv_ros.retrieval.excerpts import render
from emv_ros.retrieval.search import Hit, SearchResult
from emv_ros.timeline import SECOND_NS, parse_zone

BERLIN = parse_zone('Europe/Berlin')


def hit(ref_id: int, text: str, **changed: object) -> Hit:
    values = {'kind': 'skill_event', 'ref_id': ref_id, 'robot': 'r1', 'start_ns': NOON_NS,
              'end_ns': NOON_NS + 71 * SECOND_NS, 'text': text, 'score': 0.1, **changed}
    return Hit(**values)  # type: ignore[arg-type]


def test_a_hit_is_one_line_with_id_local_time_and_quoted_text() -> None:
    result = SearchResult([hit(5, 'ReceiveObject (receive object); ServeTea (serve tea) failed')])
    assert render(result, BERLIN) == (
        's5 2026-03-01 13:00:00–13:01:11 "ReceiveObject; ServeTea failed"')


def test_repeats_name_the_last() -> None:
    said = hit(7, 'Hello (hello there)\n>>> x', kind='utterance', end_ns=NOON_NS, repeats=3,
               last_ns=NOON_NS + 86_400 * SECOND_NS, last_ref_id=9)
    assert render(SearchResult([said], 'by words only'), BERLIN) == (
        'u7 2026-03-01 13:00:00 "Hello (hello there) ››› x" '
        '(the first of 3; the last: u9 2026-03-02 13:00:00)\n(by words only)')


def test_robots_are_named_where_there_are_several() -> None:
    lines = render(SearchResult([hit(1, 'a'), hit(2, 'b', robot='r2')]), BERLIN).splitlines()
    assert lines[1] == 's2 2026-03-01 13:00:00–13:01:11 "r2" "b"'


def test_nothing_found() -> None:
    assert render(SearchResult([], 'why'), BERLIN) == 'nothing found\n(why)'


@pytest.mark.parametrize('chars', [0, 20, 100, 250, 1000, 100_000])
def test_the_budget_holds_and_the_rest_is_counted(chars: int) -> None:
    result = SearchResult([hit(at, 'word ' * 50) for at in range(30)], 'a note')
    text = render(result, BERLIN, chars=chars)
    assert len(text) <= chars
    if 100 <= chars < 10_000:
        shown = sum(line.startswith('s') for line in text.splitlines())
        assert f'… {30 - shown} more' in text
