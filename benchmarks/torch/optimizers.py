"""W7, twin of ../optimizers.lua."""
import measure

torch = measure.torch()

parameters = [torch.randn(1000, 1000, requires_grad=True) for _ in range(50)]
for p in parameters:
    p.grad = torch.randn(1000, 1000)

measure.case("adamw", torch.optim.AdamW(parameters, lr=1e-3, fused=True).step)
measure.case("sgd_momentum", torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, fused=True).step)
measure.case("clip_grad_norm", lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9))
