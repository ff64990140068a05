"""The folder of an exported model: three files that need neither a recipe nor the data.

    config.json          what the model is, what it reads, what it was trained on and scored
    model.safetensors    its weights, with a digest (`data/tensors.py`)
    tokeniser.json       what makes its tokens, where these are not bytes or numbers

`config.json` is written last and has the digests of the others, so a folder is whole or refused.
Nothing in it is code or a pickle; a mixer or a track from outside is only named.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from longarena.data.files import read_json, write_atomically
from longarena.data.tensors import State, Tensors, load_tensors, save_tensors
from longarena.data.tokens import Tokeniser, read_tokeniser
from longarena.errors import UserError
from longarena.inference.config import FORMAT, KIND, ExportedConfig
from longarena.options import parse

CONFIG, WEIGHTS, TOKENISER = "config.json", "model.safetensors", "tokeniser.json"
MAKE = "longarena export model RUN"


@dataclass(frozen=True)
class Exported:
    """A trained model as values: its config, its weights, and its tokeniser if it has one."""

    config: ExportedConfig
    tensors: Tensors
    tokeniser: Tokeniser | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write the files; refuse a folder that holds another model. Return their paths."""
        config = self.config
        _check_free(folder, config.run)
        digest = None
        if self.tokeniser is not None:
            content = self.tokeniser.to_json().encode()
            digest = hashlib.sha256(content).hexdigest()
            write_atomically(folder / TOKENISER, content)
        about: State = {"run": config.run, "step": config.step}
        weights = save_tensors(folder / WEIGHTS, self.tensors, about)
        config = config.model_copy(update={"weights": weights, "tokeniser": digest})
        write_atomically(folder / CONFIG, config.model_dump_json(indent=2) + "\n")
        others = [] if digest is None else [folder / TOKENISER]
        return [folder / CONFIG, folder / WEIGHTS, *others]

    @classmethod
    def read(cls, folder: Path) -> "Exported":
        """Read and verify such a folder; whatever is wrong with it is one line."""
        config = _read_config(folder)
        return cls(config, _read_weights(folder, config), _read_tokeniser(folder, config))


def _check_free(folder: Path, run: str) -> None:
    if not (folder / CONFIG).exists():
        return
    held = _read_config(folder).run
    if held != run:
        raise UserError(f"{folder} holds the model of run {held}; choose another folder by --out")


def _read_config(folder: Path) -> ExportedConfig:
    path = folder / CONFIG
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; make one: {MAKE}")
    if not path.exists() and (folder / "recipe.json").exists():
        command = MAKE.replace("RUN", str(folder))
        raise UserError(f"{folder} is a run, not an exported model; run: {command}")
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise UserError(f"{folder} has no {CONFIG}; make a whole folder: {MAKE}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); export the run again") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise UserError(f"{path} is not of a model that longarena exported; make one: {MAKE}")
    if found.get("format") != FORMAT:
        raise UserError(
            f"{path} has the format {found.get('format')!r}, and this longarena reads {FORMAT}; "
            "use the longarena that wrote it"
        )
    return parse(ExportedConfig, found, str(path))


def _read_weights(folder: Path, config: ExportedConfig) -> Tensors:
    path = folder / WEIGHTS
    try:
        found = load_tensors(path)
    except FileNotFoundError:
        raise UserError(f"{path} is missing; export the run again") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); export the run again") from None
    if found.digest != config.weights:
        raise UserError(f"{path} does not belong to the {CONFIG} beside it; export the run again")
    return found.tensors


def _read_tokeniser(folder: Path, config: ExportedConfig) -> Tokeniser | None:
    if config.tokeniser is None:
        return None
    path = folder / TOKENISER
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); export again") from None
    if hashlib.sha256(content).hexdigest() != config.tokeniser:
        raise UserError(f"{path} does not belong to the {CONFIG} beside it; export the run again")
    return read_tokeniser(content.decode())
