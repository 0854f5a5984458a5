"""Parameters are the settings, the file lists them all, and the launch files compile."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from emv_ros.settings import Settings, load, walk

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / 'config' / 'emv.yaml'
CONTENT = yaml.safe_load(FILE.read_text('utf-8'))
OF_RCLPY = ('use_sim_time', 'start_type_description_service')


def flat(content, prefix=''):
    for name, value in content.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


def test_the_file_lists_every_setting_with_its_default():
    listed = dict(flat(CONTENT['/**']['ros__parameters']))
    assert listed == {name: item.default for name, item in walk()}


def test_the_command_line_reads_the_file_too():
    assert load(FILE) == Settings()


@pytest.mark.ros
def test_the_file_lists_every_parameter_of_each_node_and_no_other():
    pytest.importorskip('rclpy')
    import rclpy
    from rclpy.context import Context

    from emv_ros.nodes.consolidation import ConsolidationNode
    from emv_ros.nodes.memory import INGEST
    from emv_ros.nodes.perception import PerceptionNode
    from emv_ros.nodes.query import QueryNode
    from emv_ros.nodes.speech_bridge import SpeechBridge

    settings, context = dict(walk()), Context()
    rclpy.init(context=context)
    found = {}
    for kind in (*INGEST, PerceptionNode, QueryNode, ConsolidationNode, SpeechBridge):
        node = kind(context=context)
        found[node.get_name()] = {
            name: value.value for name, value in node.get_parameters_by_prefix('').items()
            if name not in settings and name not in OF_RCLPY
            and not name.startswith('qos_overrides')}
        described = node.describe_parameter('memory.batch_size')
        assert described.read_only and described.description == 'records in one commit'
        assert described.integer_range[0].to_value == 100_000
        node.destroy_node()
    rclpy.shutdown(context=context)
    assert {name: content['ros__parameters'] for name, content in CONTENT.items()
            if name != '/**'} == found


@pytest.mark.ros
def test_the_nodes_read_the_file(start, robot, tmp_path):
    """As rclpy parses it, with empty names in lists; a node finds what is for it."""
    from stand_in import wait_until

    start('skill_ingest', **{'--params-file': FILE})
    wait_until(lambda: 'skill_ingest' in robot.statuses, 'the node')
    status = robot.statuses['skill_ingest']
    assert [topic.topic for topic in status.topics] == ['/skill_events']
    assert status.memory == str(tmp_path / 'memory')


def test_launch_files_compile():
    files = sorted((ROOT / 'launch').glob('*.py'))
    assert files
    for path in files:
        tree = ast.parse(path.read_text('utf-8'), str(path))
        compile(tree, str(path), 'exec')
        assert any(isinstance(item, ast.FunctionDef) and item.name == 'generate_launch_description'
                   for item in tree.body)


def test_the_launch_file_starts_what_is_installed():
    scripts = (ROOT / 'setup.cfg').read_text('utf-8')
    tree = ast.parse((ROOT / 'launch' / 'emv.launch.py').read_text('utf-8'))
    named = next(ast.literal_eval(item.value) for item in tree.body if isinstance(item, ast.Assign))
    for name in (*named, 'memory'):
        assert f'{name} = emv_ros.nodes.{name}:main' in scripts
