"""`emv consolidate` with a model on loopback: what it cost, and what waits for the next hour."""

from __future__ import annotations

from fake_provider import Behaviour, provider
import pytest


@pytest.fixture
def spent(filled):
    """Return the words and the figures of a consolidation that may make one call an hour."""
    with provider(Behaviour('The robot worked.')) as model:
        options = ('--set', 'model.model=openai/gpt-4o-mini', '--set',
                   f'model.api_base={model.address}/v1', '--set', 'tree.hourly_calls=1')
        first = filled(*options, 'consolidate')
        second = filled(*options, 'consolidate', '--json')
        assert len(model.requests) == 1
    return first, second.json


def test_it_tells_what_it_cost_and_that_the_hour_is_spent(spent):
    first, again = spent
    assert first.status == 0
    assert '1 model calls, ' in first.out
    assert ' tokens, $0.00' in first.out
    assert 'some texts are templates for now: the model calls for summaries in an hour (1) are ' \
        'made; it goes on after ' in first.out
    assert (again['model_calls'], again['cost'], again['canceled']) == (0, 0.0, False)
    assert again['stopped'].startswith('the model calls for summaries in an hour (1) are made')
    assert again['resumes_ns'] > 0
