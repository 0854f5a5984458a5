"""One tree of settings for the core, the command line and the nodes.

Each field carries its description and range, from which nodes declare ROS parameters
(`agent.max_rounds`) and the command line reads `emv.yaml`. A field that does not exist or is out
of its range is refused by name. No secret is a setting: `api_key_env` names the environment
variable that holds one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
import math
import os
from pathlib import Path
from typing import Any

from emv_ros.errors import SettingsError

# Parameters of every node that are no settings of ours.
OF_ROS = frozenset(('use_sim_time', 'start_type_description_service'))


def setting(default: Any, description: str, low: float | None = None,
            high: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    """Return a dataclass field with its description, its inclusive range and its choices."""
    return field(default=default, metadata={
        'description': description, 'low': low, 'high': high, 'choices': choices})


@dataclass(frozen=True)
class MemorySettings:
    """Where the memory lies and how it is written."""

    folder: str = setting('', "the memory's folder; empty: $EMV_MEMORY, else ~/.emv")
    url: str = setting('', 'SQLAlchemy URL of the database; empty: SQLite in the folder')
    robot: str = setting('robot', 'name of this robot in the memory')
    time_zone: str = setting('', "the robot's zone, IANA name or UTC+02:00; empty: the system's")
    busy_timeout_s: float = setting(30.0, 'wait for a locked database, s', 0.0, 3600.0)
    flush_period_s: float = setting(0.5, 'longest time before a record is committed, s', 0.01, 60.0)
    batch_size: int = setting(500, 'records in one commit', 1, 100_000)
    queue_size: int = setting(5000, 'records that may wait to be written', 1, 1_000_000)
    max_share: float = setting(
        0.5, 'largest share of a kind of record that may be dropped at once without force',
        0.0, 1.0)


@dataclass(frozen=True)
class IngestSettings:
    """What is kept of what arrives."""

    keyframe_period_s: float = setting(1.0, 'shortest time between pictures of one camera, s', 0.0)
    keyframe_change: float = setting(
        0.0, 'mean change of brightness (0..1) that makes a picture worth keeping; 0: all',
        0.0, 1.0)
    jpeg_quality: int = setting(90, 'quality at which raw pictures are compressed', 1, 100)
    max_image_bytes: int = setting(64_000_000, 'largest picture accepted, bytes', 1)
    joint_period_s: float = setting(0.1, 'shortest time between joint samples, s', 0.0)
    joint_change: float = setting(
        0.001, 'change in rad or m that makes a sample worth keeping', 0.0)
    pose_period_s: float = setting(1.0, 'shortest time between poses, s', 0.0)
    late_tolerance_s: float = setting(
        30.0, 'a stamp that lies further back than this opens a new session, s', 0.0)
    utterance_repeat_limit: int = setting(
        3, 'equal utterances in a row of one speaker that are kept within a minute', 1)


@dataclass(frozen=True)
class PrivacySettings:
    """What is taken out of pictures and words before anything is stored, logged or sent."""

    blur_faces: bool = setting(False, 'faces in pictures are covered before they are stored')
    face_model: str = setting(
        '', 'YuNet checkpoint (.onnx) that finds faces; empty: the cascades that OpenCV carries')
    blur_labels: str = setting(
        '', "what is covered in pictures, as 'person,screen', with commas: names that "
        'perception.detector finds; empty: nothing')
    min_confidence: float = setting(
        0.2, 'confidence from which something found is covered', 0.0, 1.0)
    margin: float = setting(
        0.25, 'how far beyond what was found a picture is covered, by its size', 0.0, 2.0)
    drop_depth: bool = setting(
        False, 'depth pictures, which are never covered, are not stored at all')
    drop_speakers: str = setting(
        '', 'speakers whose words are not kept, with commas; empty: none')
    drop_phrases: str = setting(
        '', "what must not be kept, as 'my address; /code \\d+/': phrases or, between slashes, "
        'regular expressions, with semicolons; empty: nothing')
    phrase_mode: str = setting(
        'utterance', "of words with such a phrase the whole 'utterance' goes, or the 'phrase' "
        'alone', choices=('utterance', 'phrase'))
    queue_size: int = setting(
        8, 'pictures that may wait to be looked at for this; more are dropped', 1, 1000)


@dataclass(frozen=True)
class PerceptionSettings:
    """What is seen in pictures."""

    detector: str = setting(
        '', "what finds things in pictures: a checkpoint (.onnx, .pt), the name of one that "
        "ultralytics knows, 'household' for that of the demonstration; empty: none")
    classes: str = setting(
        '', 'names that an open-vocabulary detector looks for, with commas; empty: its own')
    min_confidence: float = setting(0.35, 'confidence below which nothing was found', 0.0, 1.0)
    image_size: int = setting(
        640, 'longest edge of a picture as the detector sees it, px', 32, 8192)
    device: str = setting('', "where models run, as 'cpu' or 'cuda:0'; empty: a GPU if any")
    period_s: float = setting(2.0, 'time between looks for new pictures, s', 0.05, 3600.0)
    frame_period_s: float = setting(0.0, 'shortest time between pictures looked at, s', 0.0)
    backlog: int = setting(
        600, 'pictures of a camera that may wait; of more, some are passed over', 1)
    clip_s: float = setting(30.0, 'longest clip in which things are tracked, s', 1.0, 3600.0)
    clip_gap_s: float = setting(5.0, 'a pause of a camera that ends a clip, s', 0.1, 3600.0)
    min_visible_s: float = setting(2.0, 'time for which a thing must be seen to count, s', 0.0)
    crops: int = setting(4, 'pictures kept as the best of an observation', 1, 32)
    appearance: str = setting(
        'efficientnet', "model of looks: 'efficientnet', 'none', or one of transformers, as "
        "'facebook/dinov2-small'")


@dataclass(frozen=True)
class BiographySettings:
    """Which observations are of the same thing, and what is told of it."""

    identity: str = setting(
        'looks', "observations are of one entity by their 'looks', by 'name' alone, or 'none'",
        choices=('looks', 'name', 'none'))
    match_similarity: float = setting(
        0.0, 'cosine of looks that one of the observations of an entity must reach; 0: as '
        'calibrated, else as the model of looks has it', 0.0, 1.0)
    consistent_similarity: float = setting(
        0.0, 'cosine of looks that all of them must reach; 0: as calibrated, else as the model of '
        'looks has it', 0.0, 1.0)
    reconsider: str = setting(
        'day', "entities are looked at again, with all that is known by then, when a 'day' is "
        "over, or 'never'", choices=('day', 'never'))
    group_similarity: float = setting(
        0.0, 'how like two groups of looks must be then to be one thing, by how like looks are '
        'within them; 0: as the model of looks has it', 0.0, 1.0)
    references: int = setting(10, 'latest observations of an entity that are compared', 1, 1000)
    separation_frames: int = setting(
        3, 'pictures that two must share to count as seen apart', 1, 1000)
    separation_iou: float = setting(
        0.5, 'overlap (IoU) of boxes below which they are apart', 0.0, 1.0)
    separation_share: float = setting(
        0.66, 'share of the common pictures in which two are apart', 0.0, 1.0)
    carry_over_iou: float = setting(
        0.6, 'overlap (IoU) of boxes that stay put from one clip to the next', 0.0, 1.0)
    instances: str = setting(
        'session', "how far an instance that a source vouches for reaches: one 'session', or the "
        "'robot' for good", choices=('session', 'robot'))
    description_calls: int = setting(
        20, 'calls of the vision model that one consolidation may make for descriptions', 0)
    description_words_s: float = setting(
        40.0, 'words spoken this long before or after that may tell what is seen, s', 0.0, 3600.0)


@dataclass(frozen=True)
class TreeSettings:
    """How events, goals and summaries are made."""

    period_s: float = setting(60.0, 'time between consolidations, s', 0.1)
    event_gap_s: float = setting(
        60.0, 'a pause longer than this ends an event, s', 0.0, 86_400.0)
    goal_gap_s: float = setting(
        900.0, 'a pause longer than this ends an episode, s', 0.0, 86_400.0)
    group_size: int = setting(12, 'nodes that one summary prompt may list', 2, 200)
    fan_out: int = setting(8, 'children that a summary should have at most', 2, 100)
    max_summary_chars: int = setting(600, 'longest text of a node', 50, 10_000)
    prompt_tokens: int = setting(
        3000, 'tokens of a prompt for a summary at most, by an estimate that errs upwards', 1500)
    attempts: int = setting(3, 'tries for a valid grouping before the plain summary', 1, 10)
    call_budget: int = setting(40, 'model calls that one consolidation may make', 0)
    hourly_calls: int = setting(0, 'model calls for summaries in an hour; 0: no limit', 0)
    hourly_tokens: int = setting(
        1_000_000, 'tokens both ways for summaries in an hour; 0: no limit', 0)
    hourly_cost: float = setting(
        0.5, 'US dollars for summaries in an hour, where the price is known; 0: no limit', 0.0)
    use_model: bool = setting(True, 'summaries by the model; False: by calendar and template')
    model_groups: bool = setting(
        False, 'episodes are grouped by the model, too, which takes a strong one; False: by pauses')


@dataclass(frozen=True)
class RetrievalSettings:
    """Search over everything."""

    embedder: str = setting('minilm', "text vectors: 'minilm', 'none' or a litellm embedding model")
    units: int = setting(16, 'units that a search returns', 1, 200)
    words: bool = setting(True, 'search by words; False: by vectors alone')
    graph: bool = setting(True, 'rank by a walk on the graph; False: by nearness alone')
    time_words: bool = setting(True, 'times that a question names say where to look')
    merge: str = setting(
        'entity', "records that are one unit: of one 'entity' (or instance), of one 'name', only "
        "equal 'events', or 'none'", choices=('entity', 'name', 'events', 'none'))
    min_similarity: float = setting(
        0.25, 'cosine below which a text is no hit of the vectors', -1.0, 1.0)
    fresh_texts: int = setting(64, 'texts without a vector that a search embeds first', 0, 10_000)
    api_base: str = setting('', "base URL of a litellm embedder's provider; empty: its own")
    api_key_env: str = setting(
        '', "environment variable that holds that provider's key; empty: none")
    deadline_s: float = setting(
        30.0, 'our own limit on one call of a litellm embedder, s', 0.1, 3600.0)
    picture_embedder: str = setting(
        '', "litellm model that puts texts and pictures into one space, as 'jina_ai/jina-clip-v2': "
        'stored pictures, scaled down, and questions are SENT to its provider; empty: none')
    picture_api_base: str = setting(
        '', "base URL of the picture embedder's provider; empty: its own")
    picture_api_key_env: str = setting(
        '', "environment variable that holds the picture embedder's key; empty: none")
    picture_edge: int = setting(
        512, 'longest edge of a picture that is sent to the picture embedder, px', 32, 4096)
    pictures_a_run: int = setting(
        512, 'pictures that one consolidation gives vectors, newest first', 0, 1_000_000)
    picture_similarity: float = setting(
        0.15, 'cosine to a question below which a picture is no hit; models differ', -1.0, 1.0)


@dataclass(frozen=True)
class ModelSettings:
    """The language models. `embedded` runs in process; any other name is litellm's."""

    model: str = setting('embedded', "litellm model name, 'embedded', or 'none'")
    summary_model: str = setting('', 'model for summaries; empty: as `model`')
    vision_model: str = setting('', 'model that looks at pictures; empty: none')
    api_base: str = setting('', 'base URL of the provider; empty: its own')
    api_key_env: str = setting('', 'environment variable that holds the key; empty: none')
    deadline_s: float = setting(120.0, 'our own limit on one call, s', 0.1, 3600.0)
    retries: int = setting(2, 'further tries after a passing failure', 0, 10)
    retry_wait_s: float = setting(
        20.0, 'longest wait between tries, also if told to wait longer, s', 0.0)
    context_tokens: int = setting(8192, 'context of the embedded model, tokens', 1024, 131_072)
    threads: int = setting(
        0, 'threads of the embedded model; 0: half the cores, at least one', 0, 256)
    cache_folder: str = setting(
        '', 'folder of pulled weights; empty: $EMV_CACHE, else ~/.cache/emv_ros')


@dataclass(frozen=True)
class AgentSettings:
    """The limits within which a question is answered."""

    max_rounds: int = setting(8, 'commands that the model may run', 1, 100)
    max_tokens: int = setting(40_000, 'tokens that one question may use, both ways', 100)
    time_limit_s: float = setting(180.0, 'wall time for one question, s', 0.1, 3600.0)
    reply_tokens: int = setting(400, 'longest reply of the model', 16, 8192)
    state_tokens: int = setting(1200, 'tokens of the tree that the prompt shows', 50, 100_000)
    output_chars: int = setting(3000, 'longest output of one command, characters', 200, 100_000)
    examples: int = setting(
        4, 'worked examples in the prompt; 0: none, also none that look first and then answer',
        0, 20)
    way: str = setting(
        'console', "how a question is answered: by commands in a 'console', by the "
        "'whole_history' in one prompt, or with 'search_tools' alone (by text, time and place, "
        'over vectors); all but the first are there to be compared with',
        choices=('console', 'whole_history', 'search_tools'))
    top_level: int = setting(
        0, 'highest level of the tree that is shown, as 3: goals, and no summaries above them; '
        '0: the whole tree', 0, 12)
    exact_functions: bool = setting(
        True, 'the console has functions that find all that fits; False: search and tree alone')
    console_time_s: float = setting(
        5.0, 'computing time of one command in the console, s', 0.1, 600.0)
    console_memory_mb: int = setting(128, 'memory of the console, MB', 16, 4096)
    console_calls: int = setting(200, 'calls into the memory that one question may make', 1, 10_000)
    look_calls: int = setting(
        8, 'pictures that the vision model may look at for one question', 0, 1000)
    parallel_questions: int = setting(1, 'questions answered at a time; more are BUSY', 1, 64)


@dataclass(frozen=True)
class RetentionSettings:
    """When old records make room. Days are local days of the robot, beside the present one."""

    thin_days: int = setting(
        0, 'days after which pictures are thinned to one in thin_period_s; 0: never', 0, 36_500)
    thin_period_s: float = setting(
        60.0, 'shortest time between pictures of a camera that were thinned, s', 0.0)
    picture_days: int = setting(
        0, 'days after which pictures go that are no evidence; 0: never', 0, 36_500)
    evidence_days: int = setting(
        0, 'days after which all pictures go, those that biographies or answers show, too; '
        '0: never', 0, 36_500)
    motion_days: int = setting(
        0, 'days after which joint samples and poses go; 0: never', 0, 36_500)
    scene_days: int = setting(
        0, 'days after which scenes go whose picture is gone; 0: never', 0, 36_500)
    utterance_days: int = setting(
        0, 'days after which utterances go, while the tree keeps its words; 0: never', 0, 36_500)
    event_days: int = setting(
        0, 'days after which skill events, goals and narrations go, while the tree keeps its '
        'words; 0: never', 0, 36_500)
    max_bytes: int = setting(
        0, 'size of the memory, database and pictures, above which pictures thin out, then '
        'motion and scenes go, oldest first; 0: any', 0)
    min_free_bytes: int = setting(
        0, 'free room on the disk below which pictures thin out; 0: none', 0)


@dataclass(frozen=True)
class Settings:
    """All settings."""

    memory: MemorySettings = field(default_factory=MemorySettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    perception: PerceptionSettings = field(default_factory=PerceptionSettings)
    biography: BiographySettings = field(default_factory=BiographySettings)
    tree: TreeSettings = field(default_factory=TreeSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)

    @property
    def folder(self) -> Path:
        """The memory's folder as a path."""
        named = self.memory.folder or os.environ.get('EMV_MEMORY') or '~/.emv'
        return Path(named).expanduser()


def walk(settings: Any = Settings, prefix: str = '') -> Iterator[tuple[str, Field[Any]]]:
    """Yield the dotted name and the dataclass field of each setting."""
    for item in fields(settings):
        kind = item.default_factory if callable(item.default_factory) else None
        if is_dataclass(kind):
            yield from walk(kind, f'{prefix}{item.name}.')
        else:
            yield f'{prefix}{item.name}', item


def with_values(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with dotted names changed.

    Raises SettingsError for a name that does not exist, a value of another type or out of its
    range.
    """
    known = dict(walk())
    areas: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name not in known:
            raise SettingsError(f'there is no setting {name!r}')
        area, _, key = name.partition('.')
        areas.setdefault(area, {})[key] = _checked(name, known[name], value)
    return replace(settings, **{
        area: replace(getattr(settings, area), **changed) for area, changed in areas.items()})


def load(path: Path | None = None, settings: Settings | None = None) -> Settings:
    """Return the settings of a YAML file `{area: {name: value}}` over the defaults.

    The file may wrap them as ROS parameter files do (`/**: {ros__parameters: ...}`); what it says
    for single nodes is left to them, and so is what ROS itself takes (`use_sim_time`).
    """
    import yaml

    settings = settings or Settings()
    if path is None:
        return settings
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f'cannot read settings from {path}: {error}') from error
    while isinstance(content, dict) and ('/**' in content or len(content) == 1):
        # Beside what holds for all nodes such a file may name parameters of single nodes.
        name = '/**' if '/**' in content else next(iter(content))
        if name != 'ros__parameters' and not str(name).startswith('/'):
            break
        content = content[name] or {}
    if not isinstance(content, dict):
        raise SettingsError(f'{path} holds no mapping of settings')
    content = {name: value for name, value in content.items() if not _is_of_a_node(value)}
    given = dict(_flatten(content))
    return with_values(settings, {name: given[name] for name in given if name not in OF_ROS})


def _is_of_a_node(value: Any) -> bool:
    """Return whether a part of a file is a node's, also within namespaces."""
    return isinstance(value, dict) and ('ros__parameters' in value or any(
        map(_is_of_a_node, value.values())))


def _flatten(content: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


def _checked(name: str, item: Field[Any], value: Any) -> Any:
    wanted = type(item.default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise SettingsError(f'{name} must be of type {wanted.__name__}, not {value!r}')
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f'{name} must be a finite number, not {value!r}')
    low, high, choices = (item.metadata[key] for key in ('low', 'high', 'choices'))
    if choices and value not in choices:
        raise SettingsError(f'{name} must be one of {", ".join(choices)}, not {value!r}')
    if low is not None and not value >= low or high is not None and not value <= high:
        raise SettingsError(f'{name} must lie in {low}..{high}, not {value!r}')
    return value
