"""Mixers of a user that break one promise each."""

import torch

from longarena.attention import Mixer, MixerCard


class Mean(Mixer):
    """Every token sees the mean of all real tokens, through one learned map: nothing is wrong."""

    card = MixerCard(title="My mean", family="kernels", exponent=1.0, colour="#123456")

    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.output = torch.nn.Linear(place.width, place.width)

    def forward(self, x, mask):
        real = mask[..., None].to(x.dtype)
        mean = (x * real).sum(1, keepdim=True) / real.sum(1, keepdim=True).clamp_min(1.0)
        return self.output(mean).expand_as(x)


class Raises(Mean):
    def forward(self, x, mask):
        raise ArithmeticError("two and two\nmake five")


class WrongSignature(Mean):
    def forward(self, x):
        return x


class WrongInit(Mixer):
    def __init__(self, place):
        super().__init__(place)

    def forward(self, x, mask):
        return x


class NoInit(Mixer):
    def __init__(self, place, options, previous=None):
        torch.nn.Module.__init__(self)

    def forward(self, x, mask):
        return x


class WrongShape(Mean):
    def forward(self, x, mask):
        return x[..., :5]


class Tuple(Mean):
    def forward(self, x, mask):
        return x, None


class OneToken(Mean):
    def forward(self, x, mask):
        return super().forward(x, mask)[:, :1]


class Nan(Mean):
    def forward(self, x, mask):
        return super().forward(x, mask) * float("nan")


class NanWhenLong(Mean):
    """Passes the trial, and fails in the first step."""

    def forward(self, x, mask):
        y = super().forward(x, mask)
        return y * float("nan") if x.shape[1] > 16 else y


class NanGradient(Mean):
    def forward(self, x, mask):
        return super().forward(x, mask) + (0 * x).square().sum().sqrt()


class SeesPadding(Mean):
    def forward(self, x, mask):
        return self.output(x.mean(1, keepdim=True)).expand_as(x)


class SeesTheBatch(Mean):
    def forward(self, x, mask):
        return super().forward(x, mask) + self.output(x[:, :1].mean(0, keepdim=True))


class Random(Mean):
    def forward(self, x, mask):
        return super().forward(x, mask) + torch.randn_like(x)


class Untrained(Mean):
    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.forgotten = torch.nn.Parameter(torch.ones(3))


class Unsaved(Mean):
    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.scale = torch.rand(1).item()

    def forward(self, x, mask):
        return self.scale * super().forward(x, mask)


class LeftBehind(Mean):
    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.kept = torch.ones(place.width)

    def forward(self, x, mask):
        return super().forward(x, mask) * self.kept


class AllPairs(Mean):
    """Compares all pairs and claims to be linear."""

    def forward(self, x, mask):
        scores = (x @ x.mT).masked_fill(~mask[:, None], -1e9)
        return self.output(scores.softmax(-1) @ x)


class LooksAhead(Mean):
    """Says that it can be causal, and is not."""

    card = MixerCard(title="Clairvoyant", causal=True)


class Unlearnable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ArithmeticError("no way back")


class RaisesBackward(Mean):
    def forward(self, x, mask):
        return Unlearnable.apply(super().forward(x, mask))
