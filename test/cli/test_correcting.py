"""`emv merge`, `emv split`, `emv rename`, and what they change for those who ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emv_ros.memory import schema
from emv_ros.memory.store import MemoryStore
from emv_ros.records import Observation
from emv_ros.settings import MemorySettings
from emv_ros.timeline import SECOND_NS

Emv = Callable[..., Any]
NOON_NS = 1_772_366_400 * SECOND_NS


@pytest.fixture
def mugs(emv: Emv, tmp_path: Path) -> Emv:
    """Return `emv` over a memory with three mugs, which were seen twice each."""
    with MemoryStore.open(MemorySettings(robot='r1'), tmp_path / 'memory') as store:
        with store.writing() as session:
            for _ in range(3):
                session.add(schema.EntityRow(robot_id=store.robot_id(session, 'r1'), name='mug',
                                             is_person=False, attributes={}))
        for place in range(6):
            stamp_ns = NOON_NS + 60 * place * SECOND_NS
            store.add(Observation(stamp_ns=stamp_ns, end_ns=stamp_ns + SECOND_NS, name='mug',
                                  robot='r1', location=f'shelf {place}',
                                  entity_id=1 + place // 2))
        with store.writing() as session:
            session.add(schema.SeparationRow(first_id=1, second_id=5, shared_frames=9))
    return emv


def test_a_merge_and_its_old_id(mugs: Emv) -> None:
    done = mugs('merge', 'e2', 'e1', '--name', 'my mug', '--author', 'Anna', '--json')
    assert done.status == 0 and done.json['entities'] == ['e2'] and done.json['changed']
    assert len(done.json['verdicts']) == 3 and len(done.json['names']) == 1
    shown = mugs('show', 'e1', '--json').json
    assert shown['merged_into'] == 'e2' and len(shown['members']) == 4
    assert shown['verdicts'][0]['author'] == 'Anna'
    assert [item['id'] for item in mugs('biography', 'e1', '--json').json] == [
        'o1', 'o2', 'o3', 'o4']
    assert not mugs('merge', 'e2', 'e1', '--json').json['changed']
    told = mugs('entities')
    assert 'e2' in told.out and 'e1' not in told.out


def test_what_is_refused_and_what_makes_no_sense(mugs: Emv) -> None:
    refused = mugs('merge', 'e1', 'e3')
    assert refused.status == 1 and 'seen apart in 9 pictures' in refused.err
    assert mugs('merge', 'e1', 'e3', '--force').status == 0
    assert mugs('merge', 'e1', 'o3').status == 2
    assert mugs('merge', 'e1', 'e77').status == 1
    assert mugs('split', 'e1', 'o3').status == 1
    assert mugs('split', 'e1').status == 2
    assert mugs('rename', 'e1').status == 2
    assert mugs('rename', 'mug', 'cup').status == 2


def test_a_split(mugs: Emv) -> None:
    done = mugs('split', 'e1', 'o2', '--reason', 'another handle')
    assert done.status == 0 and 'e4' in done.out
    assert [item['id'] for item in mugs('biography', 'e4', '--json').json] == ['o2']
    shown = mugs('show', 'e4')
    assert 'another handle' in shown.out and 'different' in shown.out


def test_a_new_name_is_found_by_search_and_biography(mugs: Emv) -> None:
    assert mugs('rename', 'e3', 'my', 'favourite', 'beaker').status == 0
    hits = mugs('search', 'my favourite beaker', '--json').json['hits']
    assert {hit['entity'] for hit in hits[:2]} == {'e3'}
    assert hits[0]['text'].startswith('my favourite beaker (mug)')
    found = mugs('biography', 'my favourite beaker', '--json').json
    assert [item['id'] for item in found] == ['o5', 'o6']
    assert len(mugs('biography', 'mug', '--json').json) == 6
    assert 'already' in mugs('rename', 'e3', 'my favourite beaker').out


def test_a_page(mugs: Emv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert 'biography-e1.html' in mugs('biography', 'e1', '--html').out
    assert '<h1>mug <small>e1</small></h1>' in (tmp_path / 'biography-e1.html').read_text('utf-8')
    told = mugs('biography', 'e2', '--html', 'two.html', '--json').json
    assert told == {'id': 'e2', 'file': 'two.html', 'bytes': (tmp_path / 'two.html').stat().st_size}
    assert mugs('biography', 'e1', '--html', '-').out.startswith('<!DOCTYPE html>')
    several = mugs('biography', 'mug', '--html')
    assert several.status == 1 and 'e1, e2, e3' in several.err
    assert mugs('biography', 'e99', '--html').status == 1
    assert mugs('biography', 'e1', '--html', 'no/such/folder/page.html').status == 1
    heading = mugs('biography', 'e1').out.splitlines()[0]
    assert heading.startswith('e1 mug: seen 2 times') and 'not e3: seen apart' in heading
    assert 'perhaps e2' in heading


def test_reindex(mugs: Emv) -> None:
    assert mugs('reindex').status == 2
    assert mugs('merge', 'e1', 'e2').status == 0
    done = mugs('reindex', '--entities', '--json')
    assert done.status == 0 and done.json['r1']['kept'] == 2
    assert len(mugs('biography', 'e2', '--json').json) == 4
    assert 'associated anew' in mugs('reindex', '--entities').out
