"""Hand-written questions without an answer: nothing in made-up lives has to do with them."""

from pathlib import Path

from emv_ros.evaluation.histories.days import live
from emv_ros.evaluation.life.days import Life
from emv_ros.evaluation.questions import GoldKind, read_questions
from emv_ros.evaluation.unanswerable import NEVER_RECORDED, write_unanswerable
from emv_ros.records import ImageRecord


class Unseen(dict[str, ImageRecord]):
    """A picture of each place, of which none is stored."""

    def __missing__(self, place: str) -> ImageRecord:
        return ImageRecord(stamp_ns=0, camera='head', sha256='0' * 64, media_type='image/png',
                           width=1, height=1)


def test_nothing_of_a_life_mentions_their_things() -> None:
    life = Life(1, Unseen())
    told = ' '.join(str(record) for number in range(1, 15) for record in life.day(number).records)
    told += ' '.join(str(record) for record in live(60, 3).records)
    told = told.casefold()
    assert 'dishwasher' in told
    assert [word for word, _ in NEVER_RECORDED if word in told] == []
    assert all(word in question for word, question in NEVER_RECORDED)


def test_they_are_read_as_a_question_set(tmp_path: Path) -> None:
    path = tmp_path / 'never_qa.jsonl'
    assert write_unanswerable(path, 10**18) == len(NEVER_RECORDED) == 24
    found = read_questions(path)
    assert len({question.id for question in found}) == 24
    for question in found:
        assert question.query_time_ns == 10**18
        assert question.gold is not None and question.gold.kind is GoldKind.NONE
