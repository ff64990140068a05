import pickle

import numpy as np
import pytest
from tasks.sources import (
    cifar_binary,
    cifar_python,
    colour_batches,
    grey_npz,
    python_2_pickle,
    write_tar,
    write_tree,
)

from longarena.data.pickles import byte_array, read_pickle
from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.cifar import grey
from longarena.tasks.prepare import prepare


def read(path):
    return prepare(build("image", {}), default_home(), path)


def slow_grey(red, green, blue):
    """TensorFlow's rule for one pixel, step by step in single precision."""
    one = np.float32
    red, green, blue = (one(value) * one(1 / 255) for value in (red, green, blue))
    brightness = red * one(0.2989) + green * one(0.5870) + blue * one(0.1140)
    return int(brightness * one(255.5))


def test_grey_is_tensorflows():
    # the greys 0 to 255 stay what they are, but for the weights' sum of 0.9999
    assert grey(np.array([[[0], [0], [0]], [[255], [255], [255]]], np.uint8)).tolist() == [
        [0],
        [255],
    ]
    colours = np.random.default_rng(0).integers(0, 256, (1, 3, 500), np.uint8)
    wanted = [slow_grey(*colours[0, :, i]) for i in range(500)]
    assert grey(colours)[0].tolist() == wanted


def test_all_images_are_there_once_in_order(tmp_path):
    batches = colour_batches()
    store = read(write_tar(tmp_path / "sample.tar.gz", cifar_binary(batches)))
    assert store.sizes == {"train": 90, "valid": 10, "test": 20}
    test = store.split("test")
    labels, pixels = batches["test_batch"]
    assert test.labels.tolist() == labels.tolist()
    assert test.sequence(3).tolist() == grey(pixels[3:4].reshape(1, 3, 1024))[0].tolist()
    assert np.bincount(store.split("valid").labels).tolist() == [1] * 10


@pytest.mark.parametrize("protocol", ["python 2", 2, 4, 5])
def test_every_official_file_gives_the_same_images(tmp_path, protocol):
    batches = colour_batches()
    dump = None if protocol == "python 2" else lambda batch: pickle.dumps(batch, protocol=protocol)
    binary = read(write_tar(tmp_path / "a.tar.gz", cifar_binary(batches)))
    python = read(write_tar(tmp_path / "b.tar.gz", cifar_python(batches, dump)))
    assert python.fingerprint == binary.fingerprint


def test_the_order_of_the_archive_does_not_matter(tmp_path):
    members = cifar_binary(colour_batches())
    backwards = dict(reversed(members.items()))
    first = read(write_tar(tmp_path / "a.tar.gz", members))
    assert read(write_tree(tmp_path / "b", backwards)).fingerprint == first.fingerprint
    assert read(write_tar(tmp_path / "c.tar", backwards, "w")).fingerprint == first.fingerprint


def test_a_grey_npz_is_taken_as_it_is(tmp_path):
    path = grey_npz(tmp_path / "grey.npz")
    store = read(path)
    assert store.folder.name == "v1,grey"
    with np.load(path) as arrays:
        pixels = np.asarray(store.split("test").tokens).reshape(10, 32, 32)
        assert (pixels == arrays["x_test"]).all()
        assert store.split("test").labels.tolist() == arrays["y_test"].tolist()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x_train": np.zeros((20, 32, 31), np.uint8)}, r"shape \(20, 32, 31\) are not 32 x 32"),
        ({"x_train": np.zeros((20, 32, 32))}, "float64 of shape"),
        ({"x_train": np.zeros((20, 32, 32, 3), np.uint8)}, "not 32 x 32 grey"),
        ({"y_test": np.full(10, 10)}, "labels outside 0 to 9"),
        ({"y_test": np.full(10, -1)}, "labels outside 0 to 9"),
        ({"y_test": np.zeros(9, np.uint8)}, "not 10 labels"),
        ({"y_test": np.zeros(10)}, "float64 of shape"),
        ({"y_test": np.array([None] * 10)}, "not an .npz with x_train"),
    ],
)
def test_an_npz_of_another_shape_is_refused(tmp_path, changed, message):
    with pytest.raises(UserError, match=message):
        read(grey_npz(tmp_path / "grey.npz", **changed))


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut"])
def test_what_is_no_npz_is_refused(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"bad\.npz is not an \.npz"):
        read(tmp_path / "bad.npz")


def test_a_cut_npz_is_refused(tmp_path):
    path = grey_npz(tmp_path / "grey.npz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(UserError, match=r"is not an \.npz"):
        read(path)


def test_a_set_too_small_to_split_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"grey\.npz is too small: .*'train': 0, 'valid': 10"):
        read(grey_npz(tmp_path / "grey.npz", train=10))


def test_a_missing_batch_is_named(tmp_path):
    members = cifar_binary(colour_batches())
    del members["cifar-10-batches-bin/data_batch_3.bin"]
    with pytest.raises(UserError, match="has no data_batch_3; it should be"):
        read(write_tar(tmp_path / "a.tar.gz", members))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00" * 3072, "not a whole number of 3073-byte records"),
        (b"\x0a" + b"\x00" * 3072, "labels outside 0 to 9"),
        (b"", "not 32 x 32 grey"),
    ],
)
def test_a_bad_record_is_named(tmp_path, content, message):
    members = cifar_binary(colour_batches())
    members["cifar-10-batches-bin/data_batch_2.bin"] = content
    with pytest.raises(UserError, match=rf"data_batch_2\.bin: .*{message}"):
        read(write_tar(tmp_path / "a.tar.gz", members))


class Trap:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([1, 2], "does not hold a dictionary"),
        ({b"labels": [1]}, "has no data"),
        ({b"data": np.zeros((1, 3071), np.uint8), b"labels": [1]}, "has no data of 3072"),
        ({b"data": np.zeros((1, 3072)), b"labels": [1]}, "has no data of 3072"),
        ({b"data": np.zeros((1, 3072), np.uint8)}, "has no list of labels"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": [12]}, "labels outside"),
    ],
)
def test_a_pickle_of_something_else_is_refused(tmp_path, batch, message):
    members = cifar_python(colour_batches())
    members["cifar-10-batches-py/data_batch_1"] = pickle.dumps(batch)
    with pytest.raises(UserError, match=message):
        read(write_tar(tmp_path / "a.tar.gz", members))


def test_a_pickle_runs_nothing(tmp_path):
    members = cifar_python(colour_batches())
    members["cifar-10-batches-py/test_batch"] = pickle.dumps({"data": Trap(tmp_path / "trapped")})
    with pytest.raises(UserError, match=r"it asks for .*open"):
        read(write_tar(tmp_path / "a.tar.gz", members))
    assert not (tmp_path / "trapped").exists()


def test_a_cut_pickle_is_refused():
    content = python_2_pickle({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2]})
    with pytest.raises(UserError, match="batch is not a pickle"):
        read_pickle("batch", content[:100])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", [2, 5])
def test_arrays_come_out_of_a_pickle_as_they_went_in(order, protocol):
    array = np.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4), order=order)
    held = read_pickle("array", pickle.dumps(array, protocol=protocol))
    assert byte_array(held).tolist() == array.tolist()


def test_a_description_draws_the_picture():
    pixels = np.zeros((32, 32), np.uint8)
    pixels[:, 16:] = 255
    lines = build("image", {}).describe([pixels.reshape(-1)], 6).splitlines()
    assert lines == ["frog", *[" " * 16 + "@" * 16] * 16]


def test_a_small_image_has_the_means_of_squares(tmp_path):
    archive = write_tar(tmp_path / "sample.tar.gz", cifar_binary(colour_batches()))
    small = prepare(build("image", {"side": 16}), default_home(), archive)
    whole = read(archive)
    assert small.folder.name == "v1,sample,side=16"
    assert small.sizes == whole.sizes
    for split in ("train", "valid", "test"):
        assert (small.split(split).labels == whole.split(split).labels).all()
    pixels = whole.split("test").sequence(7).reshape(32, 32).astype(int)
    wanted = [
        pixels[row : row + 2, column : column + 2].sum() // 4
        for row in range(0, 32, 2)
        for column in range(0, 32, 2)
    ]
    assert small.split("test").sequence(7).tolist() == wanted


def test_an_image_has_one_of_two_sizes():
    assert build("image", {"side": 16}).signature.max_length == 256
    with pytest.raises(UserError, match="16 or 32"):
        build("image", {"side": 20})
