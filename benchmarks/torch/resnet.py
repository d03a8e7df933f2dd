"""W6, twin of ../resnet.lua."""
import measure

torch = measure.torch()
import models


def case(name, bf16):
    if not measure.wants(name):
        return
    model = models.resnet18()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4,
                                fused=True)
    x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    measure.classifier(name, model, optimizer, x, y, bf16)


case("step", False)
case("step_bf16", True)
