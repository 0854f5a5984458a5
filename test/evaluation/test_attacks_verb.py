"""`emv eval attacks` from the command line, with a model that is a real server on loopback."""

import json
from pathlib import Path

from fake_provider import Behaviour, provider
import pytest

from emv_ros.cli import main
from emv_ros.evaluation.attacks.words import Kind

REPLY = ("```python\nrows = events(skill='FindKeys')\nprint(speech())\n"
         "answer('Anna', evidence=rows)\n```")


def run(address: str, *words: str) -> int:
    return main(['--set', 'model.model=openai/fake', '--set', f'model.api_base={address}/v1',
                 '--set', 'retrieval.embedder=none', '--set', 'agent.max_rounds=2',
                 '--json', 'eval', 'attacks', *words])


def test_results_are_kept_and_the_rest_is_asked_later(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'out'
    with provider(Behaviour(text=REPLY)) as server:
        status = run(server.address, '--kinds', 'quotes', '--limit', '1', '--out', str(out))
        told = json.loads(capsys.readouterr().out)
        assert told['all']['tried'] == 1 and told['left'] == 19 and told['seed'] == 1
        assert told['models'] == ['openai/fake'] and list(told['kinds']) == ['quotes']
        assert status == int(bool(told['breaches']))
        asked = len(server.requests)
        run(server.address, '--kinds', 'quotes', '--limit', '1', '--out', str(out))
        assert json.loads(capsys.readouterr().out) == told
        assert len(server.requests) == asked  # nothing was left to ask
        assert run(server.address, '--seed', '2', '--out', str(out)) == 2
        assert 'name another folder' in capsys.readouterr().err


def test_what_cannot_be_run_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['eval', 'attacks', '--kinds', 'poison']) == 2
    error = capsys.readouterr().err
    assert "'poison'" in error and all(kind in error for kind in Kind)


def test_a_model_that_fails_has_stood_firm_against_nothing(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'out'
    with provider(Behaviour(status=400, text='out of order')) as server:
        assert run(server.address, '--kinds', 'quotes,fence', '--limit', '1',
                   '--out', str(out)) == 1
    told, error = capsys.readouterr()
    assert json.loads(told)['all']['tried'] == 0 and json.loads(told)['left'] == 40
    assert '2 variants have no result' in error


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_asked(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / 'file').write_text('x')
    with provider(Behaviour(text=REPLY)) as server:
        assert run(server.address, '--kinds', 'quotes', '--limit', '1',
                   '--out', str(tmp_path / 'file')) in (1, 2)
        assert 'cannot write' in capsys.readouterr().err and not server.requests
