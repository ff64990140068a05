"""The labels are proved by a reader that knows the rules but not the generator's code.

It gets the paddles of an image in random order, without the path each belongs to, and follows them
from the first marker: the next paddle turns about the pixel that lies one paddle and two margins
ahead. The other tests tie that geometry to the pixels, and the pixels to what the original drew.
"""

import numpy as np
import pytest

from longarena.tasks.generate.contours import image, scene
from longarena.tasks.pathfinder import MEETINGS

# of LRA_FACTS: paddle length, margins, seed distance, marker radius, continuity, short paths
FACTS = {
    32: (2, {1}, 7, 1.5, 1.0, {6: 10, 9: 6, 14: 5}),
    64: (5, {1}, 12, 2.5, 1.8, {6: 11, 9: 7, 14: 5}),
    128: (5, {2, 3}, 20, 3.0, 1.8, {6: 17, 9: 11, 14: 8}),
    256: (5, {3}, 27, 5.0, 1.8, {6: 15, 9: 10, 14: 7}),
}
# the size that is not of the papers
SMALL = {16: (2, {1}, 3, 1.0, 1.0, {3: 3, 4: 3, 6: 1})}
ALL = FACTS | SMALL
SETS = [(side, difficulty) for side, facts in ALL.items() for difficulty in facts[-1]]


def scenes(side, difficulty, count=20):
    return [scene(side, difficulty, 3, index) for index in range(count)]


def directions(shown):
    along = shown.heads - shown.tails
    return along / np.linalg.norm(along, axis=1, keepdims=True)


def peak(pixels, y, x):
    return pixels[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2].max()


def follow(shown, length, steps, rng):
    """Follow the shuffled paddles from the tail at one marker; None where two share a pivot."""
    order = rng.permutation(len(shown.tails))
    tails, heads, pivots = shown.tails[order], shown.heads[order], shown.pivots[order]
    following = pivots + (length + 2 * shown.margin) * directions(shown)[order]
    following = np.ceil(np.round(following, 9))
    starts, ends = (
        np.flatnonzero(np.abs(tips - marker).max(axis=1) < 1e-6)
        for tips, marker in zip((tails, heads), shown.markers, strict=True)
    )
    if len(starts) != 1 or len(ends) != 1:
        return None
    at = int(starts[0])
    for _ in range(steps):
        onwards = np.flatnonzero((pivots == following[at]).all(axis=1))
        if len(onwards) != 1:
            return None
        at = int(onwards[0])
    return int(at == ends[0])


@pytest.mark.parametrize(("side", "difficulty"), SETS)
def test_every_label_is_found_by_following_the_paddles(side, difficulty):
    rng = np.random.default_rng(0)
    shown = scenes(side, difficulty, 100 if side <= 32 else 20)
    found = [(follow(each, ALL[side][0], difficulty - 1, rng), each.label) for each in shown]
    decided = [pair for pair in found if pair[0] is not None]
    assert all(followed == label for followed, label in decided)
    # where two heads cross on one pixel, nobody can tell which is which: see growth.py
    assert len(decided) >= (0.75 if side <= 32 else 0.9) * len(found)


@pytest.mark.parametrize(("side", "difficulty"), SETS)
def test_there_are_two_long_paths_and_some_short_ones(side, difficulty):
    _, margins, _, _, _, most = ALL[side]
    shown = scenes(side, difficulty)
    lengths = [np.bincount(each.chains) for each in shown]
    assert {each.margin for each in shown} <= margins
    assert all((length[:2] == difficulty).all() for length in lengths)
    assert all((length[2:] == difficulty // 3).all() for length in lengths)
    short = [len(length) - 2 for length in lengths]
    assert max(short) <= most[difficulty]
    assert np.mean(short) > 0.9 * most[difficulty]


@pytest.mark.parametrize("side", FACTS)
def test_long_paths_start_near_the_middle_and_turn_smoothly(side):
    _, _, seed_distance, _, continuity, _ = FACTS[side]
    for shown in scenes(side, 9):
        first, second = shown.tails[0], shown.tails[1]
        assert (np.abs(first - side / 2) <= side / 2 - 2 * seed_distance + 1).all()
        assert abs(np.linalg.norm(first - second) - seed_distance) <= 1
        for chain in range(2):
            unit = directions(shown)[shown.chains == chain]
            cosines = (unit[1:] * unit[:-1]).sum(axis=1)
            assert (cosines > np.cos(np.pi / 2 / continuity) - 1e-9).all()


@pytest.mark.parametrize("side", FACTS)
def test_what_is_bright_is_a_paddle_or_a_marker(side):
    radius = FACTS[side][3]
    for index in range(5):
        shown, (pixels, label) = scene(side, 9, 3, index), image(side, 9, 3, index)
        along = np.linspace(shown.tails, shown.heads, 9).reshape(-1, 2)
        bright = np.argwhere(pixels > 30)[:, None]
        near_paddle = (np.linalg.norm(bright - along, axis=2) < 2.5).any(axis=1)
        near_marker = (np.linalg.norm(bright - shown.markers, axis=2) < radius + 1.5).any(axis=1)
        assert label == shown.label
        assert (near_paddle | near_marker).all()
        middles = np.round((shown.tails + shown.heads) / 2).astype(int)
        around = [peak(pixels, y, x) for y, x in middles]
        assert min(around) > 50  # the dimmest are cut by the border


@pytest.mark.parametrize("side", [64, 128, 256])
def test_markers_are_full_discs(side):
    radius = FACTS[side][3]
    grid = np.stack(np.mgrid[:side, :side], axis=-1)
    for index in range(5):
        shown, (pixels, _) = scene(side, 6, 3, index), image(side, 6, 3, index)
        for marker in shown.markers:
            assert (pixels[np.linalg.norm(grid - marker, axis=2) <= radius - 1] > 240).all()


@pytest.mark.parametrize(("side", "ratio"), [(32, 0.75), (64, 1.0), (128, 1.0), (256, 1.0)])
def test_targets_are_dimmer_than_distractors_in_the_smallest_images_only(side, ratio):
    means = {True: [], False: []}
    for index in range(100):
        shown, (pixels, _) = scene(side, 6, 3, index), image(side, 6, 3, index)
        middles = (shown.tails + shown.heads) / 2
        to_marker = np.linalg.norm(middles[:, None] - shown.markers, axis=2).min(axis=1)
        alone = to_marker > FACTS[side][3] + FACTS[side][0]
        for (y, x), chain in zip(
            np.round(middles[alone]).astype(int), shown.chains[alone], strict=True
        ):
            means[chain < 2].append(peak(pixels, y, x))
    assert np.mean(means[True]) / np.mean(means[False]) == pytest.approx(ratio, abs=0.05)


def test_labels_are_balanced_and_every_image_is_stretched():
    drawn = [image(32, 6, 3, index) for index in range(1000)]
    assert {(pixels.min(), pixels.max()) for pixels, _ in drawn} == {(0, 255)}
    assert abs(np.mean([label for _, label in drawn]) - 0.5) < 4 * 0.5 / np.sqrt(1000)


def test_labels_do_not_show_in_the_brightness_of_an_image():
    drawn = [image(32, 9, 3, index) for index in range(600)]
    means = np.array([pixels.mean() for pixels, _ in drawn])
    labels = np.array([label for _, label in drawn])
    difference = means[labels == 1].mean() - means[labels == 0].mean()
    assert abs(difference) < 4 * means.std() / np.sqrt(600 / 4)


def test_small_markers_are_the_brightest_and_their_distance_tells_little():
    drawn = [image(16, 4, 3, index) for index in range(1000)]
    shown = scenes(16, 4, 1000)
    for (pixels, _), each in zip(drawn, shown, strict=True):
        assert all(pixels[y, x] == 255 for y, x in each.markers)
        assert np.sort(pixels, axis=None)[-20] < 160
    apart = [np.round(np.linalg.norm(np.subtract(*each.markers))) for each in shown]
    counts = np.zeros((24, 2))
    np.add.at(counts, (np.array(apart, int), [each.label for each in shown]), 1)
    # even a rule that has seen all answers
    assert counts.max(axis=1).sum() < 0.6 * len(shown)


def test_an_image_depends_on_its_number_and_seed_only():
    pixels, _ = image(32, 14, 5, 7)
    others = [image(32, 14, 5, 6), image(32, 14, 6, 7), image(32, 9, 5, 7)]
    np.testing.assert_array_equal(image(32, 14, 5, 7)[0], pixels)
    assert not any(np.array_equal(pixels, other) for other, _ in others)


@pytest.mark.parametrize("kind", MEETINGS)
def test_the_card_says_how_often_long_paths_end_on_each_other(kind):
    close = same = 0
    for index in range(1000):
        shown = scene(*kind, 1, index)
        paths = [shown.chains == chain for chain in range(2)]
        along = [np.linspace(shown.tails[on], shown.heads[on], 9).reshape(-1, 2) for on in paths]
        ends = [shown.heads[on][-1] for on in paths]
        gaps = [np.linalg.norm(along[1 - i] - ends[i], axis=1).min() for i in range(2)]
        close += min(gaps) < 0.5
        same += np.abs(ends[0] - ends[1]).max() < 0.5
    assert (close, same) == MEETINGS[kind]
