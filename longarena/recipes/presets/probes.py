"""The probes in the presets `quick` and `cpu`: what a mechanism can do, in a minute or two.

Two layers of 64 channels, without a feed-forward where the source has none (recall, induction).
Every mechanism takes the same steps at the same rate, with windows that are small beside the length
(`windows.py`). With them the Transformer gets about 99 % and more right, within two minutes on one
core and with every one of three seeds.

Choice: positions are sinusoidal for those that need any, as they go beyond the length of training.
        By trial, the Transformer also learns faster with them than with learned ones: induction in
        500 steps (99.8 %) instead of 72 % after 800.
Choice: selective copying and the passkey have a feed-forward. By trial, the Transformer needs it:
        99.3 and 99.4 % of selective copying (two seeds) instead of 96.2 %.
Choice: the passkey has small batches and rotary positions, because with others it is a lottery. By
        trial, three seeds of the Transformer have 100, 60 and 75 % with sinusoidal positions and
        800 steps of 64, two have 99 and 68 % with 1,600 steps of 16; with rotary ones two have 91
        and 94 % with 1,200 steps of 16, three 98 to 100 % with 1,600, and 99.9 to 100 % with 2,000.
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
        PROBE,
        batch_size=16,
        steps=2000,
        options={"length": 128, "longest": 1024},
        mlp_width=128,
        positions="rotary",
        window_length=128,
    ),
}
QUICK = CPU
