import xml.etree.ElementTree as ET

import numpy as np
import pytest

from longarena.errors import UserError
from longarena.report.patterns.memory_blocks import Shape, grids, squarest, tile
from longarena.report.patterns.pictures import Sketch, build, draw, pattern

TWO = {"mode": "2d", "image_height": 8, "image_width": 8}
TWO |= {"block": 2, "memory": 6, "block_height": 4, "memory_height": 8}
QUERY, MEMORY = 0, 1


def drawn(options, length=64):
    return grids(build(Sketch("image-transformer", options, length)), length)


def test_a_block_in_two_dimensions_is_a_rectangle_inside_its_memory():
    first, second, *_ = drawn(TWO)  # blocks 0, 2, 5 and 7 of 2 rows of 4
    assert (first[:4, :2] == QUERY).all()
    assert (first == QUERY).sum() == 8
    assert (first[:6, 2:4] == MEMORY).all()
    assert (first[4:6, :4] == MEMORY).all()
    assert (first == MEMORY).sum() == 6 * 4 - 8
    assert (second[:4, 4:6] == QUERY).all()
    assert (second[:6, 2:4] == MEMORY).all()
    assert (second[:6, 6:8] == MEMORY).all()


def test_a_block_in_one_dimension_is_a_piece_of_the_line_of_pixels():
    *_, last = drawn({"block": 12, "memory": 20})  # blocks of 12, so the last has 4 of 64 pixels
    line = last.flatten()
    assert list(np.flatnonzero(line == QUERY)) == [60, 61, 62, 63]
    assert list(np.flatnonzero(line == MEMORY)) == [56, 57, 58, 59]


@pytest.mark.parametrize("options", [TWO, {"block": 12, "memory": 20}], ids=["2d", "1d"])
def test_what_is_drawn_is_what_the_mixer_attends_to(options):
    strength = pattern(Sketch("image-transformer", options))[0] > 0
    for grid in drawn(options):
        kinds = grid.flatten()
        seen = strength[kinds == QUERY]
        assert (seen == (kinds <= MEMORY)).all()


def test_neighbouring_blocks_have_different_shades():
    grid = drawn(TWO)[0]
    assert grid[7, 0] != grid[7, 2]
    assert grid[0, 6] != grid[7, 6]


def test_the_squarest_image_is_drawn_unless_the_mixer_knows_better():
    assert squarest(60) == Shape(6, 10)
    assert squarest(7) == Shape(1, 7)
    tall = {"mode": "2d", "image_height": 16, "image_width": 4}
    assert drawn(tall)[0].shape == (16, 4)


def test_a_tile_has_four_blocks_side_by_side():
    mixer = build(Sketch("image-transformer", TWO))
    picture = tile(mixer, 64, side=16, gap=2)
    assert picture.shape == (16, 4 * 16 + 3 * 2)
    assert (picture[:8, :4] == 0).all()


def test_drawing_the_image_transformer_writes_its_memory_blocks_too(tmp_path):
    paths = draw(Sketch("image-transformer", {"mode": "2d"}), tmp_path)
    names = ["image-transformer.png", "image-transformer.svg"]
    names += ["image-transformer-memory.png", "image-transformer-memory.svg"]
    assert [path.name for path in paths] == names
    assert "its memory" in {element.text for element in ET.fromstring(paths[-1].read_text()).iter()}


def test_an_image_of_another_size_than_the_sequence_is_refused():
    with pytest.raises(UserError, match="8 x 8 has 64 pixels, not the 60"):
        build(Sketch("image-transformer", TWO, length=60))
