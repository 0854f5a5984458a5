"""What must not be kept is taken out of records and pictures, or they are not kept."""

from __future__ import annotations

import struct
import threading
import time

import cv2
import numpy as np
from private_pictures import (
    FACE_BOX,
    PERSON_BOX,
    decoded,
    drawn_face,
    is_covered,
    jpeg_of_a_person,
)
import pytest

from emv_ros.errors import PerceptionError, RedactionError, SettingsError, WithheldError
from emv_ros.ingest.blurring import PictureRedactor, cover
from emv_ros.ingest.compressed import carries_more
from emv_ros.ingest.door import PictureWorker, PrivateSink, make_redactor
from emv_ros.ingest.faces import YuNetFaces
from emv_ros.ingest.privacy import HIDDEN, WordFilter
from emv_ros.perception.detectors import make_label_detector
from emv_ros.perception.onnx_graph import OnnxGraph
from emv_ros.records import (
    ImageRecord,
    JointSample,
    Scene,
    SceneObject,
    SceneRelation,
    SkillReport,
    Status,
    Utterance,
)
from emv_ros.settings import PerceptionSettings, PrivacySettings

from ingest_parts import ListSink  # isort: skip


def words(phrases='', mode='phrase', speakers=''):
    return WordFilter(PrivacySettings(
        drop_phrases=phrases, phrase_mode=mode, drop_speakers=speakers))


@pytest.mark.parametrize(('phrases', 'text', 'kept'), [
    ('my address', 'My\u00a0 ADDRESS is here', f'{HIDDEN} is here'),
    ('my address', 'say_my_address now', f'say_{HIDDEN} now'),
    ('my address', 'my addresses', 'my addresses'),
    ('Ann', 'plan with ann, Ann-Lee, Anna', f'plan with {HIDDEN}, {HIDDEN}-Lee, Anna'),
    ('café', 'the cafe\u0301 there', f'the {HIDDEN} there'),
    ('my address', 'my\u2011address, my\u2013address', f'{HIDDEN}, {HIDDEN}'),  # hyphen, dash
    ('my address', 'm\u00ady add\u200bress', HIDDEN),  # which looks like the phrase
    ('Hauptstraße; GROSS', 'HAUPTSTRASSE, hauptstraße, groß', f'{HIDDEN}, {HIDDEN}, {HIDDEN}'),
    (r'/code \d+/', 'Code 17 and code x', f'{HIDDEN} and code x'),
    (r'a, b; /x;y\/z/ ;; /odd', 'a, b / x;y/z / /odd', f'{HIDDEN} / {HIDDEN} / {HIDDEN}'),
    (r'/(\d)\1/; /([a-z])\1/', '77 zz 78', f'{HIDDEN} {HIDDEN} 78'),
    ('', 'anything', 'anything')])
def test_phrases(phrases, text, kept):
    assert words(phrases).text(text) == kept


@pytest.mark.parametrize('phrases', ['/(/', '/a*/', '/[/; milk', '/secret/i', '/my code/ x; y'])
def test_expressions_that_are_none_are_refused(phrases):
    with pytest.raises(SettingsError, match='drop_phrases'):
        words(phrases)


def test_an_expression_without_end_is_refused_or_hides_the_whole_text(caplog):
    """Both would take years with Python's own module, which nothing can interrupt."""
    with pytest.raises(SettingsError, match='takes too long'):
        words('/(a|aa)+$/')
    with pytest.raises(SettingsError, match='takes too long'):
        words('/(?R)/')  # asks itself, without end
    door = words('/(ab|abab)+$/; milk')
    assert door.text('abab, milk') == f'abab, {HIDDEN}'
    start_s = time.process_time()
    assert door.text('ab' * 60 + '!') == HIDDEN
    assert time.process_time() - start_s < 5
    assert 'hidden as a whole' in caplog.text and 'abab' * 9 not in caplog.text
    with pytest.raises(WithheldError):
        words('/(ab|abab)+$/', 'utterance').admit(said('ab' * 60 + '!'))


def said(text, speaker='Ada'):
    return Utterance(stamp_ns=1, speaker=speaker, text=text)


def test_utterances_go_whole_or_without_the_phrase():
    with pytest.raises(WithheldError) as caught:
        words('the code', 'utterance').admit(said('Here is the code.'))
    assert 'code' not in str(caught.value)
    assert words('the code').admit(said('Here is the code.')).text == f'Here is {HIDDEN}.'
    same = said('Good day.')
    assert words('the code', 'utterance').admit(same) is same


def test_speakers():
    door = words(speakers='Bob, Dr. Strange, Straße')
    for speaker in ('bob', ' BOB ', 'dr. strange', 'Dr.  Strange', 'dr._strange', 'B\u200bob',
                    'STRASSE'):
        with pytest.raises(WithheldError):
            door.admit(said('Hello', speaker))
    assert door.admit(said('Bob says hello')).text == 'Bob says hello'


def test_what_a_camera_says_of_its_format_is_looked_at():
    record = words('my address').admit(ImageRecord(
        stamp_ns=1, camera='head', sha256='', media_type='image/jpeg', width=1, height=1,
        encoding='jpeg, my address', frame='my_address'))
    assert (record.encoding, record.frame) == (f'jpeg, {HIDDEN}', HIDDEN)


def test_what_stands_deep_in_a_record():
    door = words('Bob; 4711', 'utterance')
    report = door.admit(SkillReport(
        stamp_ns=5, skill='bring_to_Bob', status=Status.RUNNING, goal_stack=('please Bob',),
        parameters={'to': {'names': ['Bob', 'Eve']}, 'pin': 4711, 'Bob': 1, 'bob': 2, 'n': 471},
        trigger='for Bob', narration='Bob waits', source_id='Bob 1', parent_source_id='Bob 2'))
    assert report.parameters == {'to': {'names': [HIDDEN, 'Eve']}, 'pin': HIDDEN, HIDDEN: 1,
                                 f'{HIDDEN} 4': 2, 'n': 471}
    assert (report.skill, report.goal_stack) == (f'bring_to_{HIDDEN}', (f'please {HIDDEN}',))
    assert (report.trigger, report.narration) == (f'for {HIDDEN}', f'{HIDDEN} waits')
    assert (report.status, report.stamp_ns) == (Status.RUNNING, 5)
    # Runs are told apart by their ids also where these are hidden.
    again = door.admit(SkillReport(stamp_ns=6, skill='x', status=Status.RUNNING, source_id='Bob 1'))
    assert 'Bob' not in report.source_id
    assert again.source_id == report.source_id != report.parent_source_id
    scene = door.admit(Scene(
        stamp_ns=1, objects=(SceneObject(name="Bob's mug", instance='Bob', bbox=(1, 2, 3, 4711)),),
        relations=(SceneRelation(subject='Bob', predicate='on', object='table'),)))
    assert scene.objects[0].name == f"{HIDDEN}'s mug" and scene.objects[0].bbox[3] == 4711
    assert scene.relations[0].subject == scene.objects[0].instance == HIDDEN
    joints = JointSample(stamp_ns=1, names=('j1',), position=(4711.0,))
    assert door.admit(joints) is joints


# Pictures

def picture(media_type='image/jpeg', is_depth=False):
    return ImageRecord(stamp_ns=1, camera='head', sha256='', media_type=media_type, width=0,
                       height=0, is_depth=is_depth)


def packed(pixels, kind='.jpg'):
    return cv2.imencode(kind, pixels)[1].tobytes()


class Boxes:
    """Finds boxes that are given, or fails."""

    def __init__(self, *boxes, error=None):
        self.given, self.error, self.seen = list(boxes), error, []

    def boxes(self, pixels):
        self.seen.append(pixels.shape)
        if self.error:
            raise self.error
        return self.given


def test_a_box_is_filled_with_its_margin_and_within_the_picture():
    pixels = np.zeros((100, 100, 3), np.uint8)
    covered = cover(pixels, [(40, 40, 60, 60), (-50, 90, 10, 200)], 0.5)
    assert covered[30:70, 30:70].min() == covered[30:70, 30:70].max() == 127
    assert covered[95, 5].tolist() == [127] * 3 and covered[29].max() == 0
    assert not pixels.any()
    assert cover(pixels, [(200, 200, 300, 300)], 0.25).max() == 0


@pytest.mark.parametrize('kind', ['.jpg', '.png'])
def test_redacted_bytes_are_of_the_covered_picture_alone(kind):
    rng = np.random.default_rng(3)
    pixels = cv2.resize(rng.integers(0, 255, (12, 16, 3), np.uint8), (320, 240))
    media_type = {'.jpg': 'image/jpeg', '.png': 'image/png'}[kind]
    data, record = PictureRedactor([Boxes((100, 80, 180, 160))], 0.0, 90).redacted(
        packed(pixels, kind), picture(media_type))
    kept = decoded(data)
    assert is_covered(kept, (104, 84, 176, 156))
    assert np.abs(kept[:70].astype(int) - pixels[:70]).mean() < 6
    assert (record.width, record.height, record.size_bytes) == (320, 240, len(data))
    assert record.extra == {'covered': 1} and record.media_type == media_type


def test_a_picture_with_nothing_to_hide_stays_bit_for_bit():
    data = packed(drawn_face())
    assert PictureRedactor([Boxes()], 0.25, 90).redacted(data, picture()) == (data, picture())


def with_exif(data, orientation):
    """A JPEG with EXIF of an orientation, and a thumbnail after it."""
    tiff = b'MM\0*' + struct.pack('>IHHHIHHI', 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    exif = b'Exif\0\0' + tiff + b'secret thumbnail'
    return data[:2] + b'\xff\xe1' + struct.pack('>H', len(exif) + 2) + exif + data[2:]


def test_what_a_file_carries_beside_its_pixels_goes():
    pixels = np.full((20, 40, 3), 60, np.uint8)
    plain = packed(pixels)
    redactor = PictureRedactor([Boxes()], 0.25, 90)
    for data in (with_exif(plain, 6), plain + b'secret tail', plain[:2] + (
            b'\xff\xfe' + struct.pack('>H', 8) + b'secret') + plain[2:]):
        assert carries_more(data)
        kept, record = redactor.redacted(data, picture())
        assert b'secret' not in kept and not carries_more(kept)
        assert decoded(kept).shape[:2] == (record.height, record.width)
    turned, record = redactor.redacted(with_exif(plain, 6), picture())
    assert (record.width, record.height) == (20, 40)  # as EXIF says that it is to be shown
    png = packed(pixels, '.png')
    text = struct.pack('>I', 6) + b'tEXt' + b'secret' + b'\0\0\0\0'
    assert not carries_more(plain) and not carries_more(png)
    assert carries_more(png[:33] + text + png[33:]) and carries_more(png + b'x')


def segment(marker, content):
    return bytes((0xff, marker)) + struct.pack('>H', len(content) + 2) + content


@pytest.mark.parametrize('options', [[], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
                                     [cv2.IMWRITE_JPEG_RST_INTERVAL, 2]])
def test_a_jpeg_carries_more_wherever_that_stands(options):
    noise = np.random.default_rng(5).integers(0, 255, (48, 64, 3), np.uint8)
    plain = cv2.imencode('.jpg', noise, options)[1].tobytes()
    header, last = plain[2:20], plain.rindex(b'\xff\xda')
    assert header[4:9] == b'JFIF\0' and not carries_more(plain)
    adobe = segment(0xee, b'Adobe\0d' + bytes(5))
    assert not carries_more(plain[:20] + adobe + plain[20:])
    small = header[4:16] + b'\x02\x02' + b'secret picture'[:12]  # 2 × 2 px of three bytes
    for data in (plain[:2] + segment(0xe0, small) + plain[20:],  # JFIF with a thumbnail
                 plain[:20] + segment(0xe0, b'JFXX\0\x10secret') + plain[20:],
                 plain[:20] + segment(0xee, b'Adobe\0d' + bytes(5) + b'secret') + plain[20:],
                 plain[:last] + segment(0xfe, b'secret') + plain[last:],  # before the last scan
                 plain + b'secret', plain + plain, plain[:-2]):
        assert carries_more(data)


@pytest.mark.parametrize('finder', [
    Boxes(error=PerceptionError('the model is broken')), Boxes(error=ZeroDivisionError()),
    Boxes((1.0, 2.0, float('nan'), 3.0)), Boxes(error=cv2.error('out of memory'))])
def test_what_cannot_be_redacted_is_not_stored(finder):
    sink = ListSink()
    door = PrivateSink(sink, PrivacySettings(), words(), PictureRedactor([finder], 0.25, 90))
    with pytest.raises(RedactionError, match='not stored'):
        door.add_image(packed(drawn_face()), picture())
    with pytest.raises(RedactionError):
        door.add_image(b'no picture', picture())
    assert sink.records == []


def test_depth_is_kept_or_dropped_and_never_covered():
    depth = np.arange(300, dtype=np.uint16).reshape(15, 20)
    data, record = packed(depth, '.png'), picture('image/png', is_depth=True)
    finder = Boxes((0, 0, 9, 9))
    kept, dropped = ListSink(), ListSink()
    PrivateSink(kept, PrivacySettings(), words(), PictureRedactor([finder], 0, 90)).add_image(
        data, record)
    assert kept.pictures == [data] and finder.seen == []
    with pytest.raises(WithheldError):
        PrivateSink(dropped, PrivacySettings(drop_depth=True), words(), None).add_image(
            data, record)
    assert dropped.records == []


def test_sixteen_bits_and_grey_are_looked_at_as_colour():
    finder = Boxes((2, 2, 10, 10))
    redactor = PictureRedactor([finder], 0, 90)
    for pixels in (np.full((20, 30), 65535, np.uint16), np.full((20, 30), 255, np.uint8)):
        data, _ = redactor.redacted(packed(pixels, '.png'), picture('image/png'))
        kept = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        assert kept.dtype == np.uint8 and kept[5, 5] == 127 and kept[15, 20] == 255
    assert finder.seen == [(20, 30, 3)] * 2


def test_faces_are_found_without_a_network():
    redactor = make_redactor(PrivacySettings(blur_faces=True), 90, None)
    for pixels in (drawn_face(), np.hstack([drawn_face(), drawn_face()])[:, ::1]):
        data, _ = redactor.redacted(packed(pixels), picture())
        assert is_covered(decoded(data), FACE_BOX)
    line = packed(np.full((1, 5000, 3), 90, np.uint8))  # of a line camera
    assert redactor.redacted(line, picture())[0] == line
    large = cv2.resize(drawn_face(), (1920, 1440))
    data, _ = redactor.redacted(packed(large), picture())
    assert is_covered(decoded(data), tuple(4 * edge for edge in FACE_BOX))


class NamedGraph(OnnxGraph):
    """A graph whose outputs have names of our choice."""

    def __init__(self):
        super().__init__('yunet')
        self.wanted = ''

    def _next(self, letter):
        name, self.wanted = self.wanted, ''
        return name or super()._next(letter)

    def put(self, name, kind, inputs, channels, **attributes):
        self.wanted = name
        self.node(kind, inputs, **attributes)
        self.output(name, (1, channels, 'h', 'w'))


def yunet_of_brightness(path):
    """Write a network with YuNet's outputs, to which each bright cell of 8 px and up is a face."""
    graph = NamedGraph()
    graph.input('input', (1, 3, 'h', 'w'))
    small = graph.weight(np.full((1, 1, 1, 1), 1 / 255, np.float32))
    none = graph.weight(np.zeros((1, 1, 1, 1), np.float32))
    for stride in (8, 16, 32):
        cells = graph.node('AveragePool', ['input'], kernel_shape=[stride] * 2,
                           strides=[stride] * 2)
        bright = graph.node('ReduceMean', [cells], axes=[1], keepdims=1)
        nothing = graph.node('Mul', [bright, none])
        for name in ('cls', 'obj'):
            graph.put(f'{name}_{stride}', 'Mul', [bright, small], 1)
        graph.put(f'bbox_{stride}', 'Concat', [nothing] * 4, 4, axis=1)
        graph.put(f'kps_{stride}', 'Concat', [nothing] * 10, 10, axis=1)
    path.write_bytes(graph.to_bytes())


def test_a_checkpoint_of_yunet_finds_in_pictures_of_any_size(tmp_path):
    yunet_of_brightness(tmp_path / 'yunet.onnx')
    finder = YuNetFaces(tmp_path / 'yunet.onnx', 0.9)
    for shape in ((240, 320, 3), (100, 150, 3)):
        pixels = np.full(shape, 20, np.uint8)
        pixels[32:64, 64:96] = 250
        boxes = np.array(finder.boxes(pixels))
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2
        assert len(boxes) and (middle >= (60, 28)).all() and (middle <= (100, 68)).all()
        assert finder.boxes(np.full(shape, 20, np.uint8)) == []


def test_an_opencv_without_cascades_is_told(monkeypatch):
    monkeypatch.delattr(cv2, 'data')
    monkeypatch.setattr('emv_ros.ingest.faces.SYSTEM_FOLDERS', ())
    with pytest.raises(SettingsError, match='blur_faces: this OpenCV .* does not carry'):
        make_redactor(PrivacySettings(blur_faces=True), 90, None)


def test_labels_are_found_by_the_detector_of_the_settings():
    def make(labels, confidence):
        return make_label_detector(PerceptionSettings(detector='household'), labels, confidence)

    redactor = make_redactor(PrivacySettings(blur_labels=' Person , red mug'), 90, make)
    data, record = redactor.redacted(jpeg_of_a_person(), picture())
    assert is_covered(decoded(data), PERSON_BOX)
    assert not is_covered(decoded(jpeg_of_a_person()), PERSON_BOX) and record.extra['covered'] >= 2
    with pytest.raises(SettingsError, match='knows no persn; it knows .*person'):
        make_redactor(PrivacySettings(blur_labels='persn'), 90, make)


def test_settings_that_cannot_be_met_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r'needs a detector: set perception\.detector'):
        make_label_detector(PerceptionSettings(), ('person',), 0.2)
    (tmp_path / 'broken.onnx').write_bytes(b'no network')
    for name in ('absent.onnx', 'broken.onnx'):
        with pytest.raises(SettingsError, match=f'face_model.*{name}'):
            make_redactor(
                PrivacySettings(blur_faces=True, face_model=str(tmp_path / name)), 90, None)


class Slow(Boxes):
    """Waits for a sign before it finds nothing."""

    def __init__(self):
        super().__init__()
        self.began, self.goes_on = threading.Event(), threading.Event()

    def boxes(self, pixels):
        self.began.set()
        assert self.goes_on.wait(20)
        return []


def test_the_worker_holds_nobody_up_and_tells_what_it_drops():
    finder, kept = Slow(), []
    worker = PictureWorker(PictureRedactor([finder], 0, 90), 2, lambda data, _: kept.append(data))
    pictures = [packed(np.full((8, 8, 3), 10 * value, np.uint8)) for value in range(5)]
    worker.take(pictures[0], picture())
    assert finder.began.wait(20)
    told = []
    for data in pictures[1:]:
        worker.take(data, picture(), lambda reason, data=data: told.append((reason, data)))
    assert worker.queued == 3 and worker.dropped == 2
    assert told == [('', pictures[1]), ('', pictures[2])]
    finder.goes_on.set()
    assert worker.flush(20) and kept == [pictures[0], *pictures[3:]]
    assert '2 pictures were dropped' in worker.words
    assert worker.close(20) and worker.refused == 0


def test_what_is_not_looked_at_in_time_is_not_stored_and_told(caplog):
    finder, kept = Slow(), []
    worker = PictureWorker(PictureRedactor([finder], 0, 90), 9, lambda data, _: kept.append(data))
    for value in range(3):
        worker.take(packed(np.full((8, 8, 3), value, np.uint8)), picture())
    assert finder.began.wait(20)
    assert not worker.close(0.01) and worker.dropped == 3
    assert '3 pictures are not stored' in caplog.text
    finder.goes_on.set()


def test_a_picture_is_counted_as_covered_where_something_is():
    finder = Boxes()
    worker = PictureWorker(PictureRedactor([finder], 0, 90), 9, lambda *_: None)
    worker.take(with_exif(packed(drawn_face()), 1), picture())
    assert worker.flush(20) and worker.covered == 0
    finder.given = [(0, 0, 9, 9)]
    worker.take(packed(drawn_face()), picture())
    assert worker.close(20) and worker.covered == 1


def test_the_worker_outlives_what_fails_and_stores_nothing_of_it():
    finder, kept = Boxes(error=MemoryError('too large')), []
    worker = PictureWorker(PictureRedactor([finder], 0, 90), 9, lambda data, _: kept.append(data))
    reasons = []
    worker.take(packed(drawn_face()), picture(), reasons.append)
    assert worker.flush(20)
    assert (worker.refused, kept, len(reasons)) == (1, [], 1) and 'too large' in reasons[0]
    assert '1 pictures were not stored' in worker.words and 'too large' in worker.words
    finder.error = None
    worker.take(packed(drawn_face()), picture())
    assert worker.close(20) and len(kept) == 1
