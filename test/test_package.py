"""The package: what its files say agrees, and what is installed is all of it.

The tests marked `build` build everything anew with pip and with colcon; they need a C++ compiler
and minutes, and run with `make build-test`.
"""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tarfile
from xml.etree import ElementTree
import zipfile

import pytest

import emv_ros

ROOT = Path(__file__).resolve().parents[1]
BIN = str(Path(sys.executable).parent)
CMAKE = (ROOT / 'CMakeLists.txt').read_text('utf-8')
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()


def setup_cfg() -> ConfigParser:
    config = ConfigParser()
    config.read(ROOT / 'setup.cfg', 'utf-8')
    return config


def console_scripts() -> dict[str, str]:
    """Return name and module of each executable."""
    text = setup_cfg()['options.entry_points']['console_scripts']
    lines = (line.split(' = ') for line in text.strip().splitlines())
    return {name: target.removesuffix(':main') for name, target in lines}


def test_one_version():
    assert PACKAGE.findtext('version') == emv_ros.__version__
    assert setup_cfg()['metadata']['version'] == 'attr: emv_ros.__version__'


def test_each_executable_has_a_module_with_a_main():
    for name, module in console_scripts().items():
        path = ROOT / f'{module.replace(".", "/")}.py'
        assert path.is_file(), f'{name}: {module} is missing'
        assert re.search(r'^def main\(', path.read_text('utf-8'), re.M), f'{module}: no main()'


def test_each_interface_is_built():
    listed = set(re.findall(r'^  ((?:msg|srv|action)/\w+\.\w+)$', CMAKE, re.M))
    assert listed == {f'{path.parent.name}/{path.name}'
                      for kind in ('msg', 'srv', 'action') for path in (ROOT / kind).iterdir()}


def test_each_dependency_of_the_interfaces_is_declared():
    dependencies = re.search(r'  DEPENDENCIES (.+)', CMAKE)[1].split()
    texts = ''.join(path.read_text('utf-8') for kind in ('msg', 'srv', 'action')
                    for path in (ROOT / kind).iterdir())
    assert set(re.findall(r'^([a-z_]+)/[A-Z]\w+(?:\[\d*\])? ', texts, re.M)) == set(dependencies)
    assert set(dependencies) <= {element.text for element in PACKAGE.findall('depend')}


def test_each_folder_with_code_is_a_package():
    for path in (ROOT / 'emv_ros').rglob('*.py'):
        if 'versions' not in path.parts:
            assert (path.parent / '__init__.py').is_file(), f'{path.parent} has no __init__.py'


@pytest.mark.ros
def test_what_is_installed_is_found_through_the_ament_index():
    generated = Path(pytest.importorskip('emv_ros.msg').__file__)
    share = next(parent / 'share' for parent in generated.parents
                 if (parent / 'share' / 'emv_ros').is_dir())
    assert (share / 'ament_index' / 'resource_index' / 'packages' / 'emv_ros').is_file()
    for path in [*(ROOT / 'config').iterdir(), *(ROOT / 'launch').glob('*.py')]:
        assert (share / 'emv_ros' / path.parent.name / path.name).is_file()


# -- the slow builds ------------------------------------------------------------------------------

def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command without the marks of another ROS and return its output; fail with it."""
    hidden = ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH',
              'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'COLCON_PREFIX_PATH')
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment | variables,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f'{command}\n{done.stdout[-8000:]}'
    return done.stdout


def copied(target: Path) -> Path:
    """Copy the sources, without what was built in the checkout."""
    ignored = shutil.ignore_patterns('.git', '.venv', 'build', 'dist', 'install', 'log',
                                     '*.egg-info', '__pycache__', '.*_cache', '.hypothesis')
    return shutil.copytree(ROOT, target, ignore=ignored)


def source_files(source: Path) -> set[str]:
    return {str(path.relative_to(source)) for path in (source / 'emv_ros').rglob('*')
            if path.is_file() and path.suffix != '.pyc'}


@pytest.mark.build
@pytest.mark.timeout(1800)
def test_sdist_makes_a_wheel_with_everything(tmp_path):
    source = copied(tmp_path / 'source')
    run(sys.executable, '-m', 'build', '--outdir', tmp_path, cwd=source)
    sdist, = tmp_path.glob('*.tar.gz')
    wheel, = tmp_path.glob('*.whl')
    with tarfile.open(sdist) as archive:
        inside = {name.partition('/')[2] for name in archive.getnames()}
    assert source_files(source) <= inside
    assert {'Makefile', 'test/test_package.py', 'test/consumer/consumer.cpp'} <= inside

    inside = set(zipfile.ZipFile(wheel).namelist())
    assert source_files(source) <= inside
    for end in ('emv_ros/msg/__init__.py', 'emv_ros/srv/__init__.py', 'emv_ros/action/__init__.py',
                'share/emv_ros/config/fastdds.xml', 'share/emv_ros/msg/SkillEvent.msg'):
        assert sum(name.endswith(f'/{end}') for name in inside) == 1, end
    assert not any(name.endswith('.pyc') for name in inside)


@pytest.fixture(scope='module', params=['copy', 'symlink'])
def workspace(request, tmp_path_factory) -> Iterator[Path]:
    """A colcon workspace over this environment's ROS, built, with a C++ package on top."""
    if shutil.which('colcon', path=BIN) is None:
        pytest.skip("colcon is missing: pip install 'emv_ros[build]'")
    folder = tmp_path_factory.mktemp(request.param)
    source = copied(folder / 'src' / 'emv_ros')
    shutil.copytree(source / 'test' / 'consumer', folder / 'src' / 'emv_ros_consumer')
    symlink = ['--symlink-install'] if request.param == 'symlink' else []
    colcon(folder, 'build', *symlink, '--cmake-args', f'-DPython3_EXECUTABLE={sys.executable}',
           f'-DCMAKE_PROJECT_INCLUDE={source / "cmake" / "ros_wheels.cmake"}')
    yield folder


def colcon(folder: Path, verb: str, *arguments: str) -> str:
    return run(Path(BIN) / 'colcon', verb, '--executor', 'sequential', *arguments, cwd=folder,
               AMENT_PREFIX_PATH=sys.prefix, CMAKE_PREFIX_PATH=sys.prefix,
               PATH=f'{BIN}:{os.environ["PATH"]}')


@pytest.mark.build
@pytest.mark.timeout(1800)
def test_colcon_installs_everything(workspace):
    prefix = workspace / 'install' / 'emv_ros'
    modules, = prefix.rglob('emv_ros/msg/__init__.py')
    for file in source_files(workspace / 'src' / 'emv_ros'):
        assert (modules.parents[2] / file).is_file(), file
    assert {path.name for path in (prefix / 'lib' / 'emv_ros').iterdir()} == set(console_scripts())
    assert (prefix / 'share' / 'emv_ros' / 'config' / 'fastdds.xml').is_file()


@pytest.mark.build
@pytest.mark.timeout(1800)
def test_a_cpp_package_uses_the_interfaces(workspace):
    cache = (workspace / 'build' / 'emv_ros_consumer' / 'CMakeCache.txt').read_text('utf-8')
    assert f'emv_ros_DIR:PATH={workspace}/install/emv_ros/' in cache
    output = run('bash', '-c', f'source install/setup.bash && LD_LIBRARY_PATH={sys.prefix}/lib:'
                 '$LD_LIBRARY_PATH install/emv_ros_consumer/lib/emv_ros_consumer/consumer',
                 cwd=workspace)
    assert 'skill: "Grasp"' in output
    assert 'status: 4' in output
