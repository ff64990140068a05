import io
import tarfile

import pytest
from tasks.sources import write_tar, write_tree

from longarena.data.archive import MEGABYTE, data_name, num_megabytes, reading
from longarena.errors import UserError
from longarena.progress import Bar

MEMBERS = {"a/one.txt": b"1" * 3000, "a/two.bin": b"2" * 5000, "b/one.txt": b"3" * 7000}
MODES = ["w", "w:gz", "w:bz2", "w:xz"]


def read(path, wanted=lambda name: True):
    with reading(path) as source:
        return {name: file.read() for name, file in source.members(wanted)}


@pytest.mark.parametrize("mode", MODES)
def test_every_compression_gives_the_same_members(tmp_path, mode):
    assert read(write_tar(tmp_path / "data", MEMBERS, mode)) == MEMBERS


def test_a_folder_gives_the_same_members(tmp_path):
    assert read(write_tree(tmp_path / "tree", MEMBERS)) == MEMBERS


@pytest.mark.parametrize("write", [write_tar, write_tree])
def test_only_wanted_members_are_given(tmp_path, write):
    assert list(read(write(tmp_path / "data", MEMBERS), lambda name: name.endswith(".bin"))) == [
        "a/two.bin"
    ]


def test_links_and_folders_are_passed_over(tmp_path):
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert read(path) == {}


def test_a_folder_is_read_without_what_its_links_bring_in(tmp_path):
    tree = write_tree(tmp_path / "tree", MEMBERS)
    (tmp_path / "secret").write_text("a key")
    (tree / "a" / "link.txt").symlink_to(tmp_path / "secret")
    (tree / "a" / "near.txt").symlink_to("one.txt")
    (tree / "up").symlink_to(tmp_path, target_is_directory=True)
    assert read(tree) == MEMBERS | {"a/near.txt": MEMBERS["a/one.txt"]}


def test_a_path_that_leads_outside_is_only_a_name(tmp_path):
    path = write_tar(tmp_path / "evil.tar.gz", {"../../outside.txt": b"x"})
    assert read(path) == {"../../outside.txt": b"x"}
    assert [each.name for each in tmp_path.iterdir()] == ["evil.tar.gz"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_archive_is_refused_in_one_line(tmp_path, mode, share):
    path = write_tar(tmp_path / "data", MEMBERS, mode)
    content = path.read_bytes()
    # a plain tar ends in zeros, which may be missing
    end = len(content) if mode != "w" else 16_000
    path.write_bytes(content[: int(end * share)])
    with pytest.raises(UserError, match="cut off") as refusal:
        read(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_changed_byte_is_noticed_even_behind_the_last_member(tmp_path, mode):
    path = write_tar(tmp_path / "data", MEMBERS, mode)
    content = bytearray(path.read_bytes())
    content[-6] ^= 0xFF  # in the checksum at the end
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"damaged|cut off"):
        read(path, lambda name: name == "a/one.txt")


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "page.tar.gz"
    path.write_text("<html>404 not found</html>")
    with pytest.raises(UserError, match=r"page\.tar\.gz is not a tar archive"):
        read(path)


def test_an_error_that_is_not_the_archives_passes_through(tmp_path):
    path = write_tar(tmp_path / "data", MEMBERS)
    with pytest.raises(OSError, match="No space left"), reading(path):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("write", [write_tar, write_tree])
def test_files_are_closed_when_reading_ends_half_way(tmp_path, write):
    with reading(write(tmp_path / "data", MEMBERS)) as source:
        members = source.members(lambda name: True)
        _, file = next(members)
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_the_bar_reaches_the_end_of_the_archive(tmp_path):
    content = io.BytesIO(b"\x00" * 5 * MEGABYTE).getvalue()
    path = write_tar(tmp_path / "data.tar", {"big": content}, "w")
    bar = Bar(num_megabytes(path))
    with reading(path, bar) as source:
        for _, file in source.members(lambda name: True):
            file.read()
    assert bar.done == bar.total == 5


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x/aan-mini.tar.xz", "aan-mini"),
        ("lra_release.gz", "lra_release"),
        ("my data, v=2.tgz", "my-data-v-2"),
        ("v1.2.npz", "v1.2"),
        ("...", "unnamed"),
    ],
)
def test_data_is_named_after_its_file(tmp_path, path, name):
    assert data_name(tmp_path / path) == name
