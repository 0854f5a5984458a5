"""How far a scorer agrees with people: on the seven classes, on three, and in the shares.

A table may only be trusted as far as this goes: S_c and S_p by the scorer stand beside those by
people. Kappa (Cohen) is agreement beyond what the classes' frequencies give by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from emv_ros.agent.answers import QueryStatus
from emv_ros.evaluation.scoring.categories import Category, Share, coarse, s_c, s_p
from emv_ros.evaluation.scoring.exact import score_exact
from emv_ros.evaluation.scoring.graded import GradedAnswer, with_list
from emv_ros.evaluation.scoring.judge import Judge
from emv_ros.evaluation.scoring.lexical import Lexical

Scorer = Callable[[GradedAnswer], Category | None]


@dataclass
class Agreement:
    """A scorer's classes beside people's, in the order of the answers; None: it gave none."""

    scorer: str
    people: list[Category] = field(default_factory=list)
    scored: list[Category | None] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def pairs(self) -> list[tuple[Category, Category]]:
        """The classes by people and by the scorer where it gave one."""
        return [(person, found) for person, found in zip(self.people, self.scored, strict=True)
                if found is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return agreement, kappa and shares, each share with its 95 % interval."""
        pairs = self.pairs
        three = [(coarse(person), coarse(found)) for person, found in pairs]
        return {
            'scorer': self.scorer, 'answers': len(self.people), 'scored': len(pairs),
            'seven': _share(_same(pairs)), 'kappa_seven': round(kappa(pairs), 4),
            'three': _share(_same(three)), 'kappa_three': round(kappa(three), 4),
            's_c_people': _share(s_c(person for person, _ in pairs)),
            's_c': _share(s_c(found for _, found in pairs)),
            's_p_people': _share(s_p(person for person, _ in pairs)),
            's_p': _share(s_p(found for _, found in pairs)),
            'prompt_tokens': self.prompt_tokens, 'completion_tokens': self.completion_tokens,
            'differences': [
                {'id': answer, 'people': str(person), 'scorer': str(found)}
                for answer, person, found in zip(self.ids, self.people, self.scored, strict=True)
                if found is not None and found is not person]}


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Return Cohen's kappa of two raters; 0 of nothing, 1 where both always say the same one."""
    if not pairs:
        return 0.0
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    first, second = (Counter(pair[rater] for pair in pairs) for rater in (0, 1))
    by_chance = sum(first[name] * second[name] for name in first) / len(pairs) ** 2
    return 1.0 if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)


def agreement(name: str, answers: Sequence[GradedAnswer], scorer: Scorer) -> Agreement:
    """Return how a scorer classes the answers, beside people."""
    return Agreement(name, [answer.category for answer in answers],
                     [scorer(answer) for answer in answers],
                     [answer.question.id for answer in answers])


def by_rule(graded: GradedAnswer) -> Category | None:
    """Return the class where the gold is exact."""
    return score_exact(graded.question, graded.answer, QueryStatus.ANSWERED, UTC, graded.now_ns)


def by_lists(graded: GradedAnswer) -> Category | None:
    """Return the class where the gold is exact, or can be made a list of tasks."""
    return by_rule(with_list(graded))


def by_words(lexical: Lexical) -> Scorer:
    """Return the scorer by rule where the gold is exact, else by the words."""
    def score(graded: GradedAnswer) -> Category | None:
        return by_rule(graded) or lexical.category_of(
            graded.question.text, graded.gold_text, graded.answer)
    return score


def by_judge(judge: Judge, answers: Sequence[GradedAnswer],
             progress: Callable[[str], None] = lambda _: None) -> Agreement:
    """Return how a model classes the answers, with the tokens that it took."""
    found = Agreement(f'judge: {judge.name}')
    for number, graded in enumerate(answers, 1):
        progress(f'{number}/{len(answers)}')
        told = judge.category_of(graded.question.text, graded.gold_text, graded.answer)
        found.people.append(graded.category)
        found.scored.append(told.category)
        found.ids.append(graded.question.id)
        found.prompt_tokens += told.prompt_tokens
        found.completion_tokens += told.completion_tokens
    return found


def _same(pairs: Sequence[tuple[Hashable, Hashable]]) -> Share:
    return Share(sum(one == other for one, other in pairs), len(pairs))


def _share(share: Share) -> dict[str, Any]:
    return {'count': share.count, 'share': round(share.value, 4),
            '95': [round(end, 4) for end in share.interval]}
