"""Questions about what no made-up household holds: that it is not recorded is the right answer.

They sound like those that are answered: of things, deeds, people, reasons, amounts and places. Some
ask for what is near to something recorded (another drink, another guest), some for what nobody
notes, none for what a plain no would answer. Histories bring their own, generated from their truth;
these are written by hand, so that no rule of theirs is in both.
"""

from __future__ import annotations

import json
from pathlib import Path

from emv_ros.evaluation.questions import GoldKind
from emv_ros.timeline import format_rfc3339

# The word that nothing recorded holds, and the question.
NEVER_RECORDED = (
    ('aquarium', 'When did you clean the aquarium?'),
    ('hammock', 'Where did you hang up the hammock?'),
    ('piano', 'Who played the piano for you?'),
    ('lemonade', 'How many glasses of lemonade did you pour?'),
    ('ladder', 'Why did you climb the ladder?'),
    ('beekeeper', 'What did the beekeeper say about the honey?'),
    ('trampoline', 'How long did you inflate the trampoline?'),
    ('grandfather', "What is the name of Anna's grandfather?"),
    ('password', 'Which password did Tom tell you?'),
    ('burglar', 'What did the burglar take?'),
    ('candle', 'Which candle did you light first?'),
    ('snowman', 'What did you put on the head of the snowman?'),
    ('billiards', 'How did your game of billiards with Tom end?'),
    ('microwave', 'How often did you open the microwave?'),
    ('balloon', 'What colour were the balloons that you brought?'),
    ('violinist', 'At what time did the violinist leave?'),
    ('thermostat', 'To which temperature did you set the thermostat?'),
    ('waffle', 'For whom did you bake the waffles?'),
    ('sofa', 'What did you find under the sofa?'),
    ('battery', 'When was your battery replaced?'),
    ('elevator', 'How many floors did you ride in the elevator?'),
    ('notary', 'When is the appointment with the notary?'),
    ('garage', 'What did you last see in the garage?'),
    ('compost', 'What did you throw onto the compost?'))


def write_unanswerable(path: Path, query_time_ns: int) -> int:
    """Write them as a question set, asked at a time, and return how many they are."""
    asked_at = format_rfc3339(query_time_ns)
    path.write_text(''.join(json.dumps({
        'id': f'never-{word}', 'kind': 'unanswerable', 'question': question,
        'query_time': asked_at, 'answer': 'That is not recorded.',
        'gold': {'kind': str(GoldKind.NONE)}}) + '\n' for word, question in NEVER_RECORDED),
        'utf-8')
    return len(NEVER_RECORDED)
