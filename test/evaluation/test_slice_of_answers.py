"""A small slice of the evaluation with the model that ships: questions about a simulated household.

The kinds are those that exact functions answer at once, so that the slice tells whether model,
prompt, console and scorer still go together; how good the answers are, the whole evaluation tells.
"""

from collections import Counter
import json
from pathlib import Path

import pytest

from emv_ros.agent.models.client import ModelClient
from emv_ros.cli import main
from emv_ros.settings import Settings

KINDS = ('by_object', 'when', 'duration', 'yes_no', 'unanswerable')

pytestmark = [
    pytest.mark.model, pytest.mark.timeout(900),
    pytest.mark.skipif(not ModelClient(Settings().model).available,
                       reason='the weights are not here')]


def test_most_of_a_slice_is_answered_rightly_and_from_evidence(tmp_path: Path) -> None:
    assert main(['--set', 'agent.time_limit_s=300', 'eval', 'qa', '--episodes', '5',
                 '--seeds', '1', '--first-seed', '901', '--kinds', ','.join(KINDS),
                 '--limit', '1', '--out', str(tmp_path)]) == 0
    results = [json.loads(line) for line in (tmp_path / 'results.jsonl').read_text().splitlines()]
    assert sorted(item['kind'] for item in results) == sorted(KINDS)
    right = Counter(item['category'].startswith('correct') for item in results)
    assert right[True] >= 4, [(item['question'], item['status'], item['answer'], item['category'])
                              for item in results]
    for item in results:
        assert bool(item['evidence']) is (item['status'] == 'ANSWERED')
    tokens = sum(item['prompt_tokens'] + item['completion_tokens'] for item in results)
    assert tokens / len(results) < 6000
