# Writes tests/support/scaler_sequences.txt: random sequences of calls of PyTorch's GradScaler on the
# CPU, and what came of them. Run with a Python that has PyTorch: scaler_sequences.py > that file.
#
# Two optimizers (SGD, lr 1/8) of one f32 parameter each, 1 at first; the loss is the sum of both. A
# letter is a call:
#   s  scale(loss) and backward; S, T: the same with an infinite gradient for the first, the second
#   u U  unscale_ of the first, the second optimizer    p P  step of the first, the second
#   d  update()    n  update(8.0)    z  zero_grad of both
# A line is: init_scale growth_interval calls outcomes scale tracker first second. Outcomes are "."
# for a call that did what it says, "x" for one that raised, "-" for a step that was skipped. No
# optimizer is unscaled or stepped while it has no gradient: what comes of that differs on purpose.
import random
import sys

import torch


def sequence(rng):
    first = torch.nn.Parameter(torch.ones(1))
    second = torch.nn.Parameter(torch.ones(1))
    optimizers = [torch.optim.SGD([p], lr=0.125) for p in (first, second)]
    steps = [0, 0]
    for k, optimizer in enumerate(optimizers):
        def count(*args, k=k, **kwargs):
            steps[k] += 1
        optimizer.register_step_post_hook(count)
    init, interval = 2.0 ** rng.randint(0, 12), rng.randint(1, 3)
    scaler = torch.amp.GradScaler("cpu", init_scale=init, growth_interval=interval)
    calls, outcomes = "", ""
    while len(calls) < 24:
        call = rng.choice("ssssSTuUuUppPPppPPdddnz")
        which = 0 if call in "up" else 1
        if call in "uUpP" and scaler._scale is not None:
            if (first, second)[which].grad is None:
                continue
        before = list(steps)
        outcome = "."
        try:
            if call in "sST":
                a = float("inf") if call == "S" else 1.0
                b = float("inf") if call == "T" else 1.0
                scaler.scale((first * a + second * b).sum()).backward()
            elif call in "uU":
                scaler.unscale_(optimizers[which])
            elif call in "pP":
                scaler.step(optimizers[which])
                if steps == before:
                    outcome = "-"
            elif call == "d":
                scaler.update()
            elif call == "n":
                scaler.update(8.0)
            else:
                for optimizer in optimizers:
                    optimizer.zero_grad()
        except (AssertionError, RuntimeError):
            outcome = "x"
        calls, outcomes = calls + call, outcomes + outcome
    numbers = (scaler.get_scale(), scaler._get_growth_tracker(), first.item(), second.item())
    return "%g %d %s %s %.9g %d %.9g %.9g" % ((init, interval, calls, outcomes) + numbers)


rng = random.Random(20260)
print("# Written by tests/peer/scaler_sequences.py with PyTorch " + torch.__version__)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
    print(sequence(rng))
