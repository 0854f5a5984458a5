"""Start the memory: all nodes in one process, or each in its own (`separate:=true`)."""

from ament_index_python.packages import get_package_share_path
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

NODES = ('camera_ingest', 'joint_state_ingest', 'speech_ingest', 'skill_ingest', 'pose_ingest',
         'scene_ingest', 'perception', 'consolidation', 'query', 'speech_bridge')


def generate_launch_description():
    """Return what to start, with `config` (parameters), `namespace` and `separate`."""
    settings = {
        'package': 'emv_ros', 'output': 'screen',
        'namespace': LaunchConfiguration('namespace'),
        'parameters': [LaunchConfiguration('config')]}
    separate = LaunchConfiguration('separate')
    return LaunchDescription([
        DeclareLaunchArgument(
            'config',
            default_value=str(get_package_share_path('emv_ros') / 'config' / 'emv.yaml'),
            description='File with the parameters of the nodes'),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of the nodes and their topics'),
        DeclareLaunchArgument(
            'separate', default_value='false', description='One process for each node'),
        # No name here: it would rename all nodes of the one process.
        Node(executable='memory', condition=UnlessCondition(separate), **settings),
        *(Node(executable=name, condition=IfCondition(separate), **settings) for name in NODES),
    ])
