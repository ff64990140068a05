"""Translation: write a sentence in another language, scored by BLEU.

    source    ein Mann schläft .                 END
    target    a man is sleeping .                END

An example is a pair of sentences, source and target. Training asks for every token of the target,
given the source and the tokens before it (teacher forcing); the loss is per token, with the end
token. Evaluation lets the model write, decodes its tokens to text, and compares the text with the
untouched reference: BLEU of the whole split (`bleu.py`), not a mean over sentences.

The level is what the source itself scores as its own translation; its loss is that of the
frequencies of the tokens.

Choice: validation is by BLEU of greedy translations, so that what selects the parameters is what is
        recorded and tested. It costs about as much as a few training steps: a sentence is written
        token by token, but all sentences of a batch side by side, and nothing goes backwards. The
        test uses the recipe's beam.
Choice: scores are not computed in training: what a model says when every word before is given is
        not a translation.
Choice: beside BLEU, each sentence has its chrF, because the BLEU of one sentence says little.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longarena.data.batches import (
    Batch,
    Batches,
    TrainingBatches,
    evaluation_batches,
    evaluation_order,
)
from longarena.data.dataset import Integers, Split
from longarena.data.parallel import Parallel
from longarena.model.beam_search import translate
from longarena.model.config import ModelConfig
from longarena.model.decoding import GREEDY, Decoding
from longarena.model.translation import (
    BUCKET,
    SOURCE,
    TARGET,
    TranslationModel,
    finish,
    translation_model,
)
from longarena.options import Value
from longarena.progress import SILENT, Progress
from longarena.seeding import seeded
from longarena.tasks.signature import Signature
from longarena.tracks.base import Evaluation, Judgement, Level, Track, Whole
from longarena.tracks.bleu import score, sentence_scores
from longarena.tracks.metric import Metric
from longarena.tracks.tally import Tally

IGNORED = -1
NUM_SAMPLES = 8  # translations that are kept in the record for a person to read


class Translation(Track):
    """The track of pairs of sentences; `decoding` says how translations are found."""

    metric = Metric(name="BLEU", title="BLEU", unit="", better="more")
    is_scored_in_training = False

    def __init__(self, decoding: Decoding = GREEDY) -> None:
        self.decoding = decoding

    def with_decoding(self, decoding: Decoding) -> "Translation":
        return Translation(decoding)

    def build(self, config: ModelConfig, signature: Signature, seed: int) -> TranslationModel:
        with seeded(seed, "model"):
            return TranslationModel(config, signature, seed)

    def training_batches(
        self, split: Split, signature: Signature, batch_size: int, seed: int
    ) -> Batches:
        return TrainingBatches(split, batch_size, seed, BUCKET)

    def weight(self, batch: Batch) -> Tensor:
        """Count the tokens of the targets, each with its end token."""
        target = batch.ids[:, TARGET]
        return (target != 0).sum() + len(target)

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        logits: Tensor = model(batch.ids)
        # computed once: with thousands of tokens to choose from it is a good part of a step
        log_p = logits.float().log_softmax(dim=-1)
        # the class of an id is one less, and padding has none
        asked = finish(batch.ids[:, TARGET], logits.shape[2]) - 1
        pair = log_p.flatten(0, 1), asked.flatten()
        loss = F.nll_loss(*pair, ignore_index=IGNORED, reduction="sum")
        objective = loss
        if label_smoothing:
            spread = -(log_p.mean(dim=-1) * (asked != IGNORED)).sum()
            objective = (1 - label_smoothing) * loss + label_smoothing * spread
        nothing = torch.zeros_like(batch.labels)
        return Judgement(objective, Tally.of(loss, nothing, self.weight(batch)), nothing, nothing)

    @torch.inference_mode()
    def evaluate(
        self,
        model: nn.Module,
        split: Split,
        batch_size: int,
        device: torch.device,
        progress: Progress = SILENT,
    ) -> Evaluation:
        """Translate all examples of a split, and score the texts."""
        split = _parallel(split)
        was_training = model.training
        model.eval()
        tally, found = Tally.zero(device), []
        with progress.bar("translating", len(split)) as bar:
            for batch in evaluation_batches(split, batch_size, BUCKET):
                here = batch.to(device)
                tally += self.judge(model, here).tally
                found += translate(translation_model(model), here.ids[:, SOURCE], self.decoding)
                bar.advance(len(batch.labels))
        model.train(was_training)
        back = np.argsort(evaluation_order(split)).tolist()
        # a token on disk is one less than its id
        tokens = [[each - 1 for each in found[place].ids] for place in back]
        return self._score(split, tally, tokens)

    def _score(self, split: Parallel, tally: Tally, tokens: list[list[int]]) -> Evaluation:
        # one line each, whatever a model writes
        texts = [split.tokeniser.decode(each).replace("\n", " ") for each in tokens]
        given = texts, split.references, split.tokeniser.lower_case
        bleu = score(*given)
        return Evaluation(
            tally,
            np.array(sentence_scores(*given), np.float32),
            np.array([len(each) for each in tokens], np.int64),
            whole=Whole(bleu.value, bleu.standard_error),
            texts=tuple(texts),
            facts={
                "signature": bleu.signature,
                "chrF": bleu.chrf,
                "beam": self.decoding.beam,
                "length_penalty": self.decoding.length_penalty,
            },
        )

    def level(self, train: Split, test: Split) -> Level:
        """Score the sources as they stand; the loss is the entropy of the tokens of the targets."""
        test = _parallel(test)
        copied = score(test.sources, test.references, test.tokeniser.lower_case)
        counts = target_counts(train)
        shares = counts[counts > 0] / counts.sum()
        return Level(copied.value, -sum(share * math.log(share) for share in shares))

    def details(self, split: Split, found: Evaluation) -> dict[str, Value]:
        """Say how translations were found and scored, and keep some to read."""
        split = _parallel(split)
        chosen = np.linspace(0, len(split) - 1, min(NUM_SAMPLES, len(split))).round().astype(int)
        samples: list[Value] = [
            {
                "source": split.sources[each],
                "reference": split.references[each],
                "translation": found.texts[each],
            }
            for each in chosen.tolist()
        ]
        return {**found.facts, "translations": samples}


def target_counts(split: Split) -> Integers:
    """Count how often each token is in a target, and the end token behind them."""
    lengths = np.diff(split.offsets)
    is_target = np.repeat(np.arange(len(lengths)) % 2 == TARGET, lengths)
    counts = np.bincount(split.tokens[is_target])
    return np.append(counts, len(split)).astype(np.int64)


def _parallel(split: Split) -> Parallel:
    if not isinstance(split, Parallel):
        raise TypeError("only pairs of sentences can be translated")
    return split
