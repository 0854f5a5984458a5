"""Message definitions for the bytes in a bag, and the decoding of these."""

from __future__ import annotations

from functools import cache
import logging
import os
from pathlib import Path
import sys
from typing import Any

from emv_ros.errors import RecordError
from emv_ros.ingest.bag_salvage import RawMessage, Topic
from emv_ros.ingest.vision_types import VISION_TYPES

_LOG = logging.getLogger(__name__)

PACKAGE = 'emv_ros'


class BagTypes:
    """Decodes messages by the definitions of their topics.

    Each topic's definition is registered by itself, so that one that is broken spoils no other.
    """

    def __init__(self) -> None:
        self._stores: dict[Topic, Any] = {}

    def knows(self, topic: Topic) -> bool:
        """Return whether messages of the topic can be decoded."""
        return self._store(topic) is not None

    def decode(self, message: RawMessage) -> Any:
        """Return the message as an object with the fields of its type; RecordError otherwise."""
        topic = message.topic
        store = self._store(topic)
        if store is None:
            raise RecordError(f'the bag does not define the type {topic.type}')
        try:
            return store.deserialize_cdr(message.data, topic.type)
        except Exception as error:  # generated code: bad bytes fail in it wherever they are read
            reason = str(error) or type(error).__name__
            raise RecordError(f'{len(message.data)} bytes are no {topic.type}: {reason}') from error

    def _store(self, topic: Topic) -> Any:
        if topic not in self._stores:
            self._stores[topic] = _defined(topic) or _standard(topic)
        return self._stores[topic]


def _defined(topic: Topic) -> Any:
    """Return a store with the definition that the bag holds, None where it holds none."""
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    if topic.form == 'NONE' or not topic.definition:
        return None
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(
            get_types_from_msg(topic.definition, topic.type) if topic.form == 'MSG'
            else get_types_from_idl(topic.definition))
        return store if topic.type in store.fielddefs else None
    except Exception as error:  # the text is the bag's, and its parser raises what it meets
        _LOG.warning('the definition of %s in the bag cannot be used: %s', topic.type, error)
        return None


def _standard(topic: Topic) -> Any:
    store = standard_types()
    return store if topic.type in store.fielddefs else None


@cache
def standard_types() -> Any:
    """Return a store of the standard types of ROS 2 together with ours and vision_msgs'."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.LATEST)
    folder = message_folder()
    types: dict[str, Any] = {}
    for file in sorted(folder.glob('*.msg')) if folder else ():
        types.update(get_types_from_msg(
            file.read_text(encoding='utf-8'), f'{PACKAGE}/msg/{file.stem}'))
    for name, fields in VISION_TYPES.items():
        if name not in store.fielddefs:
            types.update(get_types_from_msg(fields, name))
    store.register(types)
    return store


def message_folder() -> Path | None:
    """Return the folder of our .msg files: of the checkout, else of where we are installed."""
    prefixes = [Path(prefix) for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(
        os.pathsep) if prefix]
    candidates = [
        Path(__file__).resolve().parents[2] / 'msg',
        *(prefix / 'share' / PACKAGE / 'msg' for prefix in [*prefixes, Path(sys.prefix)])]
    for folder in candidates:
        if (folder / 'SkillEvent.msg').exists():
            return folder
    _LOG.warning('our .msg files are not found: bags without definitions lack our types')
    return None
