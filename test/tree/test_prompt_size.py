"""No prompt of the tree is over its limit, whatever the children say; the estimate errs upwards."""

import base64
from dataclasses import replace
import random

from hypothesis import given, settings as hypothesis_settings, strategies as st
from life_parts import SETTINGS, Scripted, say, see, shape, span
import pytest

from emv_ros.agent.models import ModelClient, weights
from emv_ros.settings import ModelSettings
from emv_ros.tree import plain, replies
from emv_ros.tree.prompt_size import cut, fitting, tokens, tokens_of

LEAST = 1500  # what the setting may be at least


def drawn(seed, low, high, count=600):
    rng = random.Random(seed)
    return ''.join(chr(rng.randrange(low, high)) for _ in range(count))


TEXTS = {
    'prose': 'The robot put the red mug on the kitchen table and waited for the guest. ' * 9,
    'names': 'BringNamedObjectFromNamedLocationToHuman (mobile-kitchen_counter_2) ' * 9,
    'json': '{"first": 1, "last": 12, "summary": "went"}, ' * 13,
    'stamps': '2024-06-26T18:38:20.300034+02:00 ' * 18,
    'digits': '0123456789' * 60, 'marks': '!?#{}[]()<>=+-*/' * 38, 'spaces': 'a' + ' ' * 600 + 'b',
    'base64': base64.b64encode(random.Random(1).randbytes(450)).decode(),
    'hex': random.Random(2).randbytes(300).hex(), 'letters': drawn(3, 97, 123),
    'capitals': drawn(4, 65, 91), 'words': ' '.join(
        drawn(seed, 97, 123, 1 + seed % 8) for seed in range(120)),
    'umlauts': 'Der Roboter stellt die Tasse auf den Küchentisch und öffnet die Tür. ' * 9,
    'chinese': '机器人把红色的杯子放在厨房的桌子上然后去拿牛奶' * 26,
    'rare signs': drawn(5, 0x4e00, 0x9fff),
    'rarest signs': drawn(6, 0x20000, 0x2a6df), 'hangul': drawn(7, 0xac00, 0xd7a3),
    'kana': drawn(8, 0x3041, 0x30ff), 'emoji': '😀🤖🥛👩‍👩‍👧‍👦🏳️‍🌈' * 43,
    'pictures': drawn(9, 0x1f300, 0x1f6ff),
    'thai': 'หุ่นยนต์วางแก้วไว้บนโต๊ะในครัว' * 20, 'arabic': 'وضع الروبوت الكوب على الطاولة ' * 20,
    'hindi': 'रोबोट ने रसोई में मेज पर कप रखा ' * 18, 'private': drawn(10, 0xe000, 0xf8ff)}


@pytest.mark.parametrize('count, limit', [(1, LEAST), (12, LEAST), (12, 8000), (500, LEAST)])
@pytest.mark.parametrize('text', TEXTS.values(), ids=TEXTS)
def test_prompts_for_one_summary_keep_to_the_limit(text, count, limit):
    lines = [f'{place % 24:02d}:00 {text[:600]}' for place in range(count)]
    begun = plain.ask_one(lines, limit)
    assert tokens_of(begun) <= limit
    assert begun[:3] == plain.fixed()
    again = plain.ask_again(begun, text * 3, [text, *lines[:3]], limit)
    assert tokens_of(again) <= limit
    anew = plain.ask_one(lines, limit, [text, 'kitchen'])
    assert tokens_of(anew) <= limit
    assert again[:4] == begun
    assert again[5]['content'].endswith('Write it again, corrected, and nothing else.')


@pytest.mark.parametrize('limit', [LEAST, 3000])
@pytest.mark.parametrize('text', TEXTS.values(), ids=TEXTS)
def test_prompts_for_groups_keep_to_the_limit(text, limit):
    count = replies.most_items(limit)
    lines = [f'{place % 24:02d}:00 {text[:600]}' for place in range(count)]
    each = [(place, place) for place in range(1, count + 1)]
    begun = replies.ask(lines, 8, limit)
    assert tokens_of(begun) <= limit
    numbers = [line.partition('.')[0] for line in begun[1]['content'].splitlines()]
    assert [number for number in numbers if number.isdigit()] == [
        str(number) for number in range(1, count + 1)]
    for ranges in (each, [(1, count)]):
        again = replies.ask_again(begun, text * 9, [text] * 4, ranges, limit)
        assert tokens_of(again) <= limit


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=400), max_size=80), st.integers(LEAST, 4000))
def test_any_lines_fit(lines, limit):
    assert tokens_of(plain.ask_one(lines, limit)) <= limit
    assert sum(tokens(line) + 1 for line in fitting(lines, 400)) <= 400


@given(st.text(max_size=400), st.integers(2, 300))
def test_a_text_is_cut_to_a_limit_and_keeps_its_beginning(text, limit):
    short = cut(text, limit)
    assert tokens(short) <= limit
    assert short == text or text.startswith(short.removesuffix('…'))


def test_short_lines_stay_whole_and_long_ones_share_what_is_left():
    short, long = '09:00 look up', '09:01 ' + 'grasp the mug ' * 60
    kept = fitting([short, long, long], 200)
    assert kept[0] == short
    assert kept[1] == kept[2] != long
    assert 190 <= sum(tokens(line) + 1 for line in kept) <= 200


def test_of_too_many_lines_the_first_and_the_last_are_told():
    lines = [f'09:00 grasp object {number} at the table in the kitchen, then look around again'
             for number in range(500)]
    kept = fitting(lines, 400)
    assert kept[0].startswith('09:00 grasp object 0 ')
    assert kept[-1].startswith('09:00 grasp object 499 ')
    assert f'({500 - len(kept) + 1} more records)' in kept


def test_no_prompt_of_a_consolidation_is_over_the_limit(store):
    """A goal with 3,000 scenes, 500 long sayings in Chinese, and a model that is always wrong."""
    settings = replace(SETTINGS, prompt_tokens=LEAST, max_summary_chars=600, call_budget=10_000)
    model = Scripted(lambda messages: '香蕉 banana ' * 400)
    records = [*span('CleanUp', 0, 3100), *(see(n, f'cup{n % 7}', 'table') for n in range(1, 3000)),
               *(say(4000 + n, f'{n} {TEXTS["chinese"][:500]}') for n in range(500))]
    for model_groups in (False, True):
        shape(store, records, model=model, settings=replace(settings, model_groups=model_groups))
        records = [say(5000, 'more')]
    assert len(model.asked) > 50
    assert max(map(tokens_of, model.asked)) <= LEAST


@pytest.mark.model
@pytest.mark.skipif(weights.find(weights.folder()) is None, reason='no weights (emv model pull)')
def test_the_estimate_is_never_below_the_tokens_of_the_embedded_model():
    client = ModelClient(ModelSettings(threads=1))
    short = {name: tokens(text) / client.count_tokens(text) for name, text in TEXTS.items()}
    assert min(short.values()) >= 1.0, short
    assert short['prose'] < 2.5
    messages = plain.ask_one([f'09:00 {TEXTS["names"]}', f'09:01 {TEXTS["emoji"]}'], 3000)
    reply = client.complete(messages, purpose='summary', max_tokens=1)
    assert reply.prompt_tokens <= tokens_of(messages) <= 3000
