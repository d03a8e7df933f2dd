"""W4 and W5, twin of ../gpt.lua."""
import itertools

import measure

torch = measure.torch()
import models


def case(name, vocab, context, batch, bf16=False, **sizes):
    if not measure.wants(name):
        return
    model = models.GPT(vocab=vocab, context=context, **sizes)
    parameters, optimizer = list(model.parameters()), models.adamw(model)
    draw = lambda: torch.randint(0, vocab, (batch, context))
    batches = itertools.cycle([(draw(), draw()) for _ in range(8)])

    def forward(x, y):
        with measure.autocast(bf16):
            return model(x, y)

    measure.case(name,
                 lambda: models.train_step(forward, parameters, optimizer, *next(batches)))


small = dict(vocab=65, layers=4, heads=4, width=128, context=64, batch=12)
big = dict(vocab=65, layers=6, heads=6, width=384, context=256, batch=8)

case("small", **small)
case("big", **big)
if measure.wants("big"):
    measure.report("memory", [measure.peak_mb()], "MB")
case("small_bf16", **small, bf16=True)
case("big_bf16", **big, bf16=True)
