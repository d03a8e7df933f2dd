"""The big GPT with each block checkpointed, twin of ../blocks.lua."""
import measure

torch = measure.torch()
import models
from torch.utils.checkpoint import checkpoint


class Checkpointed(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


def case(name, bf16=False):
    if not measure.wants(name):
        return
    model = models.GPT(vocab=65, layers=6, heads=6, width=384, context=256)
    parameters, optimizer = list(model.parameters()), models.adamw(model)
    model.blocks = torch.nn.ModuleList(Checkpointed(b) for b in model.blocks)
    x, y = (torch.randint(0, 65, (8, 256)) for _ in range(2))

    def forward(x, y):
        with measure.autocast(bf16):
            return model(x, y)

    measure.case(name, lambda: models.train_step(forward, parameters, optimizer, x, y))


case("step")
if measure.wants("step"):
    measure.report("memory", [measure.peak_mb()], "MB")
case("step_bf16", bf16=True)
