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

    def step():
        optimizer.zero_grad()
        with measure.autocast(bf16):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    measure.case(name, step)


case("step", False)
case("step_bf16", True)
