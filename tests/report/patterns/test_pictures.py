import base64

import numpy as np
import pytest

from longarena.attention import MIXERS
from longarena.data import png
from longarena.errors import UserError
from longarena.report.patterns.pictures import Sketch, draw, gallery, pattern, tile


def test_a_local_pattern_is_blocks_on_the_diagonal():
    strength = pattern(Sketch("local", {"block": 8}, length=32, num_heads=2))
    block = np.arange(32) // 8
    assert strength.shape == (2, 32, 32)
    assert ((strength > 0) == (block[:, None] == block)).all()


def test_the_strongest_link_of_every_row_is_one():
    strength = pattern(Sketch("transformer", length=16))
    np.testing.assert_allclose(strength.max(axis=-1), 1.0)


def test_drawing_writes_a_picture_and_a_vector_file(tmp_path):
    paths = draw(Sketch("local", length=16, num_heads=2), tmp_path / "pictures")
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text()
    assert sorted(path.name for path in paths[0].parent.iterdir()) == ["local.png", "local.svg"]


def test_a_tile_is_dark_where_attention_is():
    picture = tile(Sketch("local", {"block": 8}, length=16, num_heads=1))
    assert picture[0, :8].min() == 0
    assert (picture[0, 8:] == 255).all()
    assert (png.decode(png.encode(picture), "tile") == picture).all()


def test_the_gallery_has_every_mechanism_with_a_matrix():
    names = [plate.card.name for plate in gallery()]
    assert set(names) <= set(MIXERS)
    assert {"transformer", "linear"} <= set(names)
    assert len(names) == len(set(names)) + 2  # the memory blocks of the Image Transformer


def test_the_gallery_shows_memory_blocks_in_one_and_in_two_dimensions():
    plates = [plate for plate in gallery() if plate.about]
    assert [plate.options for plate in plates] == ["mode=1d", "mode=2d"]
    pictures = [png.decode(base64.b64decode(p.url.partition(",")[2]), "plate") for p in plates]
    sizes = {picture.shape[:2] for picture in pictures}
    assert sizes == {tile(Sketch("local")).shape}  # as large as a pattern, so that one style fits


@pytest.mark.parametrize("options", [{"nonsense": 8}, {"block": 0}])
def test_an_option_that_cannot_be_is_refused(options):
    with pytest.raises(UserError):
        pattern(Sketch("local", options))
