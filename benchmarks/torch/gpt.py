"""W4 and W5, twin of ../gpt.lua."""
import itertools

import measure

torch = measure.torch()
import models


def case(name, vocab, context, batch, **sizes):
    model = models.GPT(vocab=vocab, context=context, **sizes)
    parameters, optimizer = list(model.parameters()), models.adamw(model)
    draw = lambda: torch.randint(0, vocab, (batch, context))
    batches = itertools.cycle([(draw(), draw()) for _ in range(8)])
    measure.case(name, lambda: models.train_step(model, parameters, optimizer, *next(batches)))


case("small", vocab=65, layers=4, heads=4, width=128, context=64, batch=12)
case("big", vocab=65, layers=6, heads=6, width=384, context=256, batch=8)
measure.report("memory", [measure.peak_mb()], "MB")
