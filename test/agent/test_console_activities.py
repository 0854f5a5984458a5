"""The console's functions about activities: what they were made of, who asked, why they failed."""

from collections.abc import Iterator

from databases import database_url
from households import Household
import pytest

from emv_ros.agent.examples_life import NOW, ZONE, records
from emv_ros.memory.store import MemoryStore


@pytest.fixture(scope='module')
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """The life of the worked examples."""
    folder = tmp_path_factory.mktemp('life')
    house = Household(MemoryStore(folder, database_url(folder), 'r1', ZONE), ZONE)
    house.store.add_many(list(records()))
    yield house
    house.store.close()


@pytest.mark.parametrize(('expression', 'value'), [
    # By a thing or a step within, by the activity itself, in the words of a request.
    ("told(goals_with('sponge', when='May 5'))", 'clean window'),
    ("told(goals_with('tin'))", 'feed cat'), ("told(goals_with('feed cat'))", 'feed cat'),
    ("told(goals_with('zebra'))", ''), ("told(goals(text='please feed cat'))", 'feed cat'),
    ("told(goals(text='bring the letter to Peter'))", 'bring letter Peter (failed)'),
    ("told(goals(text='bring the parcel to Anna'))", ''),
    # Who asked: the words that triggered it; nothing was said before others.
    ("[r.speaker for r in request(goals(text='feed cat')[0])]", "['Anna']"),
    ("request(goals(text='go garage')[0])", '[]'),
    # Where a thing was up to a time; before it was ever seen, nowhere.
    ("[r.place for r in where('umbrella', at='May 2')]", "['on rack']"),
    ("[r.place for r in where('umbrella', at='May 1 12:00')]", "['on door']"),
    ("where('umbrella', at='April 30')", '[]'), ("where('zebra')", '[]'),
    ("goals(status='failed', when='May 5')[0].reason", 'the door was locked'),
    ("took(goals(text='charge battery'))", '1 hour'),
    ("took(events(text='sand', when='May 3 10:01 to 10:05'))", '1 minute 30 seconds'),
    ('took([])', '0 seconds'),
    # Amounts stand beside their unit; a row gives the time for another look.
    ("events(skill='add_material')[1].text", 'material=cement; amount=5; unit=kg'),
    ("told(events(when=goals(text='clean window'), status='succeeded'))",
     'clean window, wipe glass sponge wet, scrape glass spoon 1'),
    # What went on meanwhile, and what did not.
    ("told(during(events(text='Smooth the joint')))", 'lay bricks')])
def test_values(life: Household, expression: str, value: str) -> None:
    with life.console(NOW) as console:
        assert console.value(expression) == value


@pytest.mark.parametrize(('command', 'error'), [
    ('request("s999")', 'no id that was shown'), ('during([])', 'got no rows'),
    ('still([], 5)', 'got no rows'), ('still(goals(), "x")', 'a number of seconds'),
    ('events(when=[])', 'when=rows got no rows'), ("where('pen', at='soon')", 'as a time')])
def test_what_cannot_be_looked_up_is_told(life: Household, command: str, error: str) -> None:
    with life.console(NOW) as console:
        assert error in console.run(command).error
