"""The stand-in for a model: words of its prompt, in the form that is asked for, nothing else."""

from __future__ import annotations

import json

from emv_ros.evaluation.extractive import SUMMARY_CHARS, Extractive
from emv_ros.evaluation.metered import MESSAGE_TOKENS, REPLY_TOKENS, Metered, TokenCounter
from emv_ros.tree.plain import ask_one
from emv_ros.tree.replies import ask, schema_for, task_of

LINES = ('08:00 Anna said "please tidy up"', '08:01 navigate to (desk) succeeded',
         '08:02 grasp object (novel) FAILED', '08:04 place object (atlas, bookcase) succeeded',
         '08:06 robot said "done"')
LIMIT = 3000


def counter() -> TokenCounter:
    return TokenCounter(lambda text: len(text.split()), 'words')


def complete(messages, **more):
    return Extractive(counter()).complete(messages, purpose='summary', max_tokens=140, **more)


def test_a_summary_is_made_of_the_records_and_tells_what_failed():
    messages = ask_one(LINES, LIMIT)
    said = complete(messages, fixed_messages=len(messages) - 1).text
    assert 'grasp object (novel) FAILED' in said
    assert all(any(part in line for line in LINES) for part in said.split('; '))
    assert len(said) <= SUMMARY_CHARS + 2


def test_groups_cover_the_list_in_order():
    listed = [f'08:{minute:02d} navigate to (desk) succeeded' for minute in range(12)]
    reply = complete(ask(listed, 8, LIMIT), fixed_messages=1, schema=schema_for(12))
    groups = json.loads(reply.text)['groups']
    assert [group['first'] for group in groups] == [
        1, *(group['last'] + 1 for group in groups[:-1])]
    assert groups[-1]['last'] == 12
    assert all(group['summary'] for group in groups)


def test_groups_that_are_given_are_kept():
    given = [(1, 2), (3, 5)]
    again = {'role': 'user', 'content': task_of(given)}
    reply = complete([*ask(LINES, 8, LIMIT), again], fixed_messages=1, schema=schema_for(5, given))
    assert [(group['first'], group['last']) for group in json.loads(reply.text)['groups']] == given


def test_tokens_are_those_of_all_messages_with_their_frame():
    messages = [{'role': 'system', 'content': 'one two'}, {'role': 'user', 'content': 'three'}]
    tokens = 3 + 2 * MESSAGE_TOKENS + REPLY_TOKENS
    words = counter()
    assert [words.prompt(messages, fixed) for fixed in (0, 1, 1)] == [tokens] * 3
    model = Metered(Extractive(words), words, budget=tokens - 1)
    reply = model.complete(messages, purpose='summary', max_tokens=9, fixed_messages=1)
    assert (reply.prompt_tokens, model.counted_tokens, model.longest_prompt) == (tokens,) * 3
    assert model.prompts_over_budget == 1
