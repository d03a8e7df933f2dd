"""The whole run, twin of ../char_gpt.lua."""
import math
import time

import measure

torch = measure.torch()
import models

LENGTH, VOCAB, CONTEXT, BATCH = 1003854, 65, 64, 12
STEPS, WARM_UP, HIGH, LOW = 100 if measure.args.quick else 2000, 100, 1e-3, 1e-4

ids = torch.randint(0, VOCAB, (LENGTH,), dtype=torch.uint8)
offsets = torch.arange(CONTEXT)
model = models.GPT(vocab=VOCAB, layers=4, heads=4, width=128, context=CONTEXT)
parameters, optimizer = list(model.parameters()), models.adamw(model)


def rate(step):
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    done = (step - WARM_UP) / max(1, STEPS - WARM_UP)
    return (LOW + 0.5 * (HIGH - LOW) * (1 + math.cos(math.pi * done))) / HIGH


schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
start = time.perf_counter()
for _ in range(STEPS):
    places = torch.randint(0, LENGTH - CONTEXT, (BATCH, 1)) + offsets
    x, y = ids[places].long(), ids[places + 1].long()
    loss = models.train_step(model, parameters, optimizer, x, y)
    schedule.step()
    assert math.isfinite(loss.item())
measure.report("run", [(time.perf_counter() - start) * 1e3])
