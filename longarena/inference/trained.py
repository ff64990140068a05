"""A trained model: weights, and what turns texts or arrays into its tokens.

    model = longarena.load("export/3f0755a9b1")
    model.predict(["what a film", "never again"])     a class and its probability for each text
    model(ids, mask)                                  the output of its head: logits
    model.backbone(ids)                               a vector for each token, and the mask

Nothing of the training is imported; a test holds that.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from longarena.attention import check_source
from longarena.data.shuffle import Shuffle
from longarena.data.tensors import check_fit
from longarena.errors import UserError
from longarena.inference.exported import Exported
from longarena.inference.generate import TextGenerator
from longarena.inference.predictions import Example, Prediction, predict
from longarena.inference.translate import Translator
from longarena.model.backbone import Backbone
from longarena.model.decoding import Decoding
from longarena.model.heads import ClassificationHead, NextTokenHead
from longarena.model.model import Model
from longarena.model.sampling import Sampling
from longarena.model.translation import TranslationModel
from longarena.options import Value, parse
from longarena.tasks.raw_input import Raw
from longarena.tracks import track_of

# which command answers with a model of a track
COMMANDS = {"classification": "predict", "language": "generate", "translation": "translate"}


class TrainedModel(nn.Module):
    """A model with its weights, in eval mode; `model` is the one that was trained."""

    def __init__(self, exported: Exported) -> None:
        super().__init__()
        config = exported.config
        check_source(config.model.mixer, config.model.own, "this model was trained")
        self.config, self.tokeniser = config, exported.tokeniser
        try:
            self.model = _build(exported)
        except UserError:
            raise
        except (ValueError, TypeError, RuntimeError, MemoryError) as error:
            reason = " ".join(str(error).split())
            raise UserError(
                f"the weights of run {config.run} are not of its config ({reason}); "
                "use the longarena that wrote them, or train again"
            ) from None
        self.eval()

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return what the head says of ids (batch, length), or (batch, 2, length) for pairs.

        The id of a token is one more than its number, 0 is padding. `mask` is True at real tokens.
        """
        real = ids if mask is None else ids.masked_fill(~mask, 0)
        logits: Tensor = self.model(real[:, None] if real.ndim == 2 else real)
        return logits

    @property
    def backbone(self) -> Backbone:
        """Embedding and encoder: (batch, length) ids in, vectors of tokens and their mask out."""
        return self.model.backbone

    @property
    def max_length(self) -> int:
        """The most tokens of a sequence; what is longer is cut, as in training."""
        return self.config.signature.max_length

    @property
    def classes(self) -> tuple[str, ...]:
        """What the classes are called."""
        return self.config.classes or tuple(map(str, range(self.config.signature.num_classes or 0)))

    def encode(self, example: Raw | tuple[Raw, ...]) -> Example:
        """Turn a text, a row of values or a pair of them into tokens, which are not cut."""
        wanted = self.config.signature.num_sequences
        parts = example if isinstance(example, tuple) else (example,)
        if len(parts) != wanted:
            form = "a pair: a tuple of two" if wanted == 2 else "one sequence, not a pair"
            raise UserError(f"an example of this model is {form}")
        tokens = tuple(self.config.raw_input.encode(part, self.tokeniser) for part in parts)
        most = self.config.signature.vocab_size - 2
        if max(int(each.max(initial=0)) for each in tokens) > most:
            raise UserError(f"it has a token beyond {most:,}, the last that this model knows")
        return tokens

    def predict(self, examples: Sequence[Raw | tuple[Raw, ...]]) -> list[Prediction]:
        """Name the class of texts, rows of values or pairs (tuples) of them, in their order."""
        if isinstance(examples, str | bytes):
            raise UserError("predict takes a list of examples; put the text into one")
        rows = []
        for number, example in enumerate(examples, start=1):
            try:
                rows.append(self.encode(example))
            except UserError as error:
                raise UserError(f"example {number}: {error}") from None
            if not all(map(len, rows[-1])):
                raise UserError(f"example {number}: there is nothing to read in it")
        return self.predict_tokens(rows)

    def predict_tokens(self, rows: Sequence[Example]) -> list[Prediction]:
        """Name the class of encoded examples, which are cut and shuffled as in training."""
        self.check_classifies()
        cut = [tuple(tokens[: self.max_length] for tokens in row) for row in rows]
        if shuffle := self.config.trained_on.shuffle:
            cut = [tuple(map(Shuffle.of(shuffle), row)) for row in cut]
        return predict(self.model, cut, self.classes)

    def check_classifies(self) -> None:
        """Refuse a model whose answer is not a class."""
        if not isinstance(self.model.head, ClassificationHead):
            track = self.config.signature.track
            other = f"; use: longarena {COMMANDS[track]} RUN" if track in COMMANDS else ""
            raise UserError(
                f"run {self.config.run} is of the track {track}, which names no class{other}"
            )

    def generator(
        self, sampling: Sampling | None = None, seed: int = 0, context: int | None = None
    ) -> TextGenerator:
        """Return what continues texts; refuse a model that is not of language."""
        if not isinstance(self.model.head, NextTokenHead):
            raise UserError(
                f"run {self.config.run} is of the track {self.config.signature.track}, which "
                "writes no text; choose a run of enwik8 or of a text file"
            )
        chosen = sampling or Sampling()
        return TextGenerator(self.model, context or self.max_length, chosen, seed)

    def translator(self, changes: Mapping[str, Value] | None = None) -> Translator:
        """Return what translates sentences, as it was tested but for the changes."""
        if not isinstance(self.model, TranslationModel) or self.tokeniser is None:
            raise UserError(
                f"run {self.config.run} is of the track {self.config.signature.track}, which "
                "translates nothing; choose a run of multi30k or of two files of sentences"
            )
        values = self.config.decoding.model_dump() | dict(changes or {})
        return Translator(self.model, self.tokeniser, parse(Decoding, values, "decoding"))


def _build(exported: Exported) -> Model:
    """Build a model and put its weights into it; raise ValueError if they do not fit."""
    config, tensors = exported.config, exported.tensors
    if config.model.depth > len(tensors):
        raise ValueError(f"{len(tensors)} tensors for {config.model.depth:,} layers")
    track = track_of(config.signature)
    model = track.build(config.model, config.signature, config.seed)
    check_fit(model.state_dict(), tensors)
    model.load_state_dict(tensors)
    return model


def load(path: str | Path, device: str | torch.device = "cpu", trust: bool = False) -> TrainedModel:
    """Load a model that `longarena export model` wrote; refuse one that is not whole.

    A mixer or track from outside, `module:Class`, is imported only if you `trust` the folder.
    """
    exported = Exported.read(Path(path))
    signature, config = exported.config.signature, exported.config.model
    names = (config.mixer, config.decoder or "", signature.track)
    foreign = [name for name in names if ":" in name]
    if foreign and not trust:
        raise UserError(
            f"{path} would import {foreign[0]}; if that is your own code, "
            "load it in Python by longarena.load(path, trust=True)"
        )
    model = TrainedModel(exported)
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"device {str(device)!r} cannot be used ({reason}); try cpu") from None
