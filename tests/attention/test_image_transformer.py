import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import image_transformer, local, transformer

from longarena.attention import matrix
from longarena.errors import UserError
from longarena.options import parse

ONE_RECTANGLE = {
    "mode": "2d",
    "image_height": 8,
    "image_width": 8,
    "block_height": 8,
    "memory_height": 8,
}
SQUARES = {
    "mode": "2d",
    "image_height": 8,
    "image_width": 8,
    "block": 4,
    "memory": 8,
    "block_height": 4,
    "memory_height": 8,
}


@pytest.mark.parametrize(
    "options", [{"block": 61, "memory": 61}, {"block": 8, "memory": 128}, ONE_RECTANGLE]
)
@pytest.mark.parametrize("causal", [False, True])
def test_memory_that_holds_everything_is_full_attention(options, causal):
    mixer = make("image-transformer", options, causal=causal, max_length=64)
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_memory_no_longer_than_its_block_is_local_attention():
    mixer = make("image-transformer", {"block": 8, "memory": 8})
    x, mask = tokens(61, 40)
    options = parse(make("local", {}).options_type, {"block": 8}, "local")
    expected = local.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_a_rectangle_sees_the_pixels_around_it():
    seen = matrix(make("image-transformer", SQUARES, max_length=64), *tokens(64))[0, 0] > 0
    image = torch.zeros(8, 8, dtype=torch.bool)
    image[2:8, :6] = True  # the rectangle of rows 4 to 7, columns 0 to 3, and 2 pixels around
    assert torch.equal(seen[7 * 8 + 1].view(8, 8), image)


def test_in_raster_order_a_block_sees_as_much_before_as_behind_it():
    seen = matrix(make("image-transformer", {"block": 4, "memory": 8}), *tokens(16))[0, 0] > 0
    assert torch.equal(seen[5].nonzero()[:, 0], torch.arange(2, 10))


@pytest.mark.parametrize("length", [127, 128, 129, 1000])
def test_the_default_blocks_equal_the_definition_at_any_length(length):
    mixer = make("image-transformer", {}, max_length=1000)
    x, mask = tokens(length, length // 2 + 1)
    options = mixer.options_type()
    expected = image_transformer.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "2d"}, "needs image_height and image_width"),
        (
            {"mode": "2d", "image_height": 8, "image_width": 8},
            "8 x 8 has 64 pixels, not the 128 tokens",
        ),
        ({"image_height": 8}, "mode 1d has no image_height"),
        ({"block": 8, "memory": 4}, "memory 4 is less than block; choose at least 8"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(options, words):
    with pytest.raises(UserError, match=words):
        make("image-transformer", options)
