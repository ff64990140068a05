"""The probes in the presets `quick` and `cpu`: what a mechanism can do, in a minute or two.

Two layers of 64 channels, without a feed-forward where the source has none (recall, induction).
Every mechanism takes the same steps at the same rate, with windows that are small beside the length
(`windows.py`). With them the Transformer gets 99 % and more
right, within two minutes on one core.

Choice: positions are sinusoidal for those that need any, as they go beyond the length of training.
        By trial, the Transformer also learns faster with them than with learned ones: induction in
        500 steps (99.8 %) instead of 72 % after 800.
Choice: selective copying and the passkey have a feed-forward. By trial, the Transformer needs it:
        99.3 and 99.4 % of selective copying (two seeds) instead of 96.2 %; the passkey 99.9 %.
"""

from dataclasses import replace

from longarena.recipes.presets.portion import Portion

PROBE = Portion(
    batch_size=64,
    steps=800,
    num_validations=8,
    validate_on=500,
    rate=3e-3,
    slow_rate=1e-3,
    mlp_width=0,
    positions="sinusoidal",
    is_causal=True,
    window_length=64,
)

CPU = {
    "recall": replace(PROBE, options={"length": 64, "pairs": 8, "vocabulary": 128}),
    "selective-copy": replace(PROBE, options={"length": 64, "kept": 8}, mlp_width=128),
    "induction": replace(PROBE, options={"length": 64, "longest": 1024}),
    "passkey": replace(
        PROBE, options={"length": 128, "longest": 1024}, mlp_width=128, window_length=128
    ),
}
QUICK = CPU
