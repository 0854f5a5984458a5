"""What a process does that is to be killed at any moment: it consolidates with a scripted model.

The model writes each question to a file, synced, before it replies.
"""

from __future__ import annotations

from dataclasses import replace
import hashlib
import json
import os
from pathlib import Path
import threading
from typing import Any

from life_parts import SETTINGS, Said, is_plain, listed, open_memory, say

from emv_ros.tree.consolidate import consolidate

WORK = replace(SETTINGS, model_groups=True, call_budget=1000, hourly_tokens=0, hourly_cost=0.0)
DAYS, WORDS = 3, 20


def a_life() -> list[Any]:
    """Return a few days of words, in pairs with pauses."""
    return [say(day * 86_400 + n // 5 * 3600 + n, f'w{day}x{n}')
            for day in range(DAYS) for n in range(WORDS)]


def reply_to(messages: list[dict[str, Any]]) -> str:
    """Reply as a poor model does: many a first try is wrong, some are wrong for good."""
    lines = listed(messages)
    number = int(hashlib.sha256(lines[0].encode()).hexdigest(), 16)
    if number % 5 == 0 or (number % 2 and len(messages) == (4 if is_plain(messages) else 2)):
        return 'Bob met Alice and Carol.'
    if is_plain(messages):
        return f'All about {lines[0].split()[-1]}'
    return json.dumps({'groups': [
        {'first': at + 1, 'last': min(at + 4, len(lines)),
         'summary': f'All about {lines[at].split()[-1]}'} for at in range(0, len(lines), 4)]})


class Noted:
    """The model. It takes a moment for each reply, so that a kill meets it at work, too."""

    available = True

    def __init__(self, file: Path) -> None:
        self.file = file

    def name(self, _purpose: str) -> str:
        return 'scripted'

    def complete(self, messages: list[dict[str, Any]], **more: Any) -> Said:
        asked = json.dumps([messages, more['schema'], more['temperature']])
        with self.file.open('a') as file:
            file.write(hashlib.sha256(asked.encode()).hexdigest() + '\n')
            file.flush()
            os.fsync(file.fileno())
        threading.Event().wait(0.002)
        return Said(reply_to(messages), cost=0.25)


def work(folder: Path, file: Path) -> None:
    """Consolidate the memory in a folder once; write each question to the file."""
    with open_memory(folder) as store:
        consolidate(store, WORK, model=Noted(file))
