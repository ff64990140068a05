"""Lite Transformer: the configuration files of its authors for translation.

Source: mit-han-lab/lite-transformer at 8504193 (IWSLT'14), bda1013 and 0828cba (WMT'14),
        configs/{iwslt14.de-en,wmt16.en-de,wmt14.en-fr}/attention/multibranch_v2/embed*.yml; layers
        and kernels: fairseq/models/transformer_multibranch_v2.py; beam and averaging: test.sh.

Six layers each way, half of the channels attend and half are convolved with kernels of 3, 7, 15 and
31 tokens, the feed-forward is as wide as the model. IWSLT'14: width 320 (others: 160, 240), plain
lightweight convolution, inverse square root from 5e-4 at step 4,000, dropout 0.2, decay 1e-4, the
last ten checkpoints averaged. WMT'14: width 496 (others: 200, 408), dynamic convolution, a gated
unit, cosine from 1e-3, dropout 0.1, length penalty 0.6. Adam with betas 0.9 and 0.98, label
smoothing 0.1, 50,000 updates, beam 4.

Choice: batches of sentences; theirs have 4,096 tokens, for WMT'14 on 8 GPUs and 16 times for one
        update. At 25 tokens a sentence that is about 160 and 16,000.
Choice: the averaged checkpoints are 250 updates apart, theirs an epoch.
Choice: eight heads, four for each half, are eight heads of cross attention too, as in their WMT'14
        models; in those of IWSLT'14 it has four. Source and target share their vectors, which
        theirs do for WMT'14 only.
Choice: decay is decoupled, theirs is L2; kernels and weights of attention are not dropped; norms
        come before the mixer, and the feed-forward has GELU, theirs ReLU.
"""

import math
from functools import partial

from longarena.model.decoding import Decoding
from longarena.recipes.presets.own.published import Published

IWSLT_RATE, IWSLT_WARMUP = 5e-4, 4000

LITE = partial(
    Published,
    depth=6,
    num_heads=8,
    steps=50_000,
    norm="layer",
    positions="sinusoidal",
    beta_2=0.98,
    label_smoothing=0.1,
)

RECIPES = {
    "iwslt14": LITE(
        width=320,
        mlp_width=320,
        # `rsqrt` divides by the root of the step, fairseq also multiplies by that of the warm-up
        rate=IWSLT_RATE * math.sqrt(IWSLT_WARMUP),
        schedule="rsqrt",
        warmup_steps=IWSLT_WARMUP,
        batch_size=160,
        weight_decay=1e-4,
        dropout=0.2,
        options={"glu": False},
        averaged=10,
    ),
    "wmt14": LITE(
        width=496,
        mlp_width=496,
        rate=1e-3,
        warmup_steps=10_000,
        batch_size=16_000,
        weight_decay=0.0,
        dropout=0.1,
        options={"dynamic": True},
        decoding=Decoding(length_penalty=0.6),
    ),
}
