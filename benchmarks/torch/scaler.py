"""Twin of ../scaler.lua."""
import measure

torch = measure.torch()
import models

nn = torch.nn


def gpt():
    model = models.GPT(vocab=65, context=64, layers=4, heads=4, width=128)
    x, y = torch.randint(0, 65, (12, 64)), torch.randint(0, 65, (12, 64))
    return list(model.parameters()), models.adamw(model), lambda: model(x, y), True


def mlp():
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))
    loss = lambda: nn.functional.cross_entropy(model(x), y)
    return list(model.parameters()), optimizer, loss, False


def step_of(parameters, optimizer, loss_of, clips, scaler):
    def step():
        optimizer.zero_grad()
        loss = loss_of()
        if scaler:
            loss = scaler.scale(loss)
        loss.backward()
        if clips and scaler:
            scaler.unscale_(optimizer)
        if clips:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        if not scaler:
            optimizer.step()
            return
        scaler.step(optimizer)
        scaler.update()
    return step


def workload(name, make):
    made = make()
    scalers = [None, torch.amp.GradScaler("cpu"), torch.amp.GradScaler("cpu", enabled=False)]
    measure.in_turn([name, name + "_scaled", name + "_disabled"],
                    [step_of(*made, scaler) for scaler in scalers])


workload("gpt", gpt)
workload("mlp", mlp)
