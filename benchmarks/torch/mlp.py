"""W3, twin of ../mlp.lua."""
import measure

torch = measure.torch()
nn = torch.nn


def case(name, bf16):
    if not measure.wants(name):
        return
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))
    measure.classifier(name, model, optimizer, x, y, bf16)


case("step", False)
case("step_bf16", True)
