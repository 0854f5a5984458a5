"""Words to forget are found in whatever form their letters are written."""

from __future__ import annotations

import unicodedata

import pytest
from test_forgetting_kinds import at, ids, run, store, wipe  # noqa: F401 (store is a fixture)

from emv_ros.memory.store import MemoryStore
from emv_ros.records import Utterance


@pytest.mark.parametrize('stored, asked', [
    ('café 12', unicodedata.normalize('NFD', 'CAFÉ 12')),
    (unicodedata.normalize('NFD', 'Müller'), 'müller'),
    ('한글', unicodedata.normalize('NFD', '한글')),
    ('İSTANBUL', 'istanbul'), ('４７１１', '4711'), ('STRASSE', 'straße'), ('x\u00a0y', 'X Y')])
def test_the_form_of_letters_makes_no_difference(
        store: MemoryStore, stored: str, asked: str) -> None:  # noqa: F811
    store.add_many([Utterance(stamp_ns=at(0), speaker='', text=f'it is {stored}.'),
                    Utterance(stamp_ns=at(1), speaker=stored, text='hello')])
    store.add(run(3, 'succeeded', parameters={'a': [stored]}))
    assert wipe(store, speakers=(asked,), dry_run=True).numbers['utterances'] == 1
    wipe(store, text=asked)
    assert ids(store, 'utterance') == ids(store, 'skill_event') == []
