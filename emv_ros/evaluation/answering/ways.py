"""The ways of answering that are compared: settings of the product, each beside its own.

`whole-history` is the one prompt with everything of H-EMV's 1-pass baseline, `no-summaries` its
tree that ends at the goals (L3), `search-tools` ReMEmbR's agent with three searches over vectors.
A way that changes how things are told apart needs a memory that was made so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from emv_ros.errors import EmvError
from emv_ros.settings import Settings, with_values

OURS = 'ours'
WAYS: Mapping[str, Mapping[str, Any]] = {
    OURS: {},
    'whole-history': {'agent.way': 'whole_history'},
    'no-summaries': {'agent.top_level': 3},
    'search-tools': {'agent.way': 'search_tools', 'retrieval.words': False,
                     'retrieval.graph': False, 'retrieval.merge': 'none',
                     'retrieval.time_words': False},
    'no-biographies': {'biography.identity': 'none', 'retrieval.merge': 'events'},
    'no-association': {'retrieval.merge': 'events'},
    'by-name': {'biography.identity': 'name', 'retrieval.merge': 'name'},
    'no-exact-functions': {'agent.exact_functions': False},
    'no-examples': {'agent.examples': 0},
}
# What a memory is made with; the rest is how it is asked.
OF_MAKING = ('biography.', 'tree.', 'ingest.')


def known(names: Iterable[str]) -> list[str]:
    """Return the names once each. Raises EmvError for one that names no way."""
    found = list(dict.fromkeys(names))
    for name in found:
        if name not in WAYS:
            raise EmvError(f'there is no way {name!r}; there are: {", ".join(WAYS)}')
    return found


def settings_of(name: str, settings: Settings) -> Settings:
    """Return the settings under which a way answers."""
    return with_values(settings, WAYS[name])


def making_of(name: str) -> str:
    """Return the name of the way whose memory a way needs: its own, or '' for any memory."""
    return name if any(key.startswith(OF_MAKING) for key in WAYS[name]) else ''
