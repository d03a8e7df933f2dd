"""W12, twin of ../random_numbers.lua."""
import measure

torch = measure.torch()

x = torch.empty(16 * 1024 * 1024)
measure.case("normal", x.normal_)
measure.case("uniform", x.uniform_)
measure.case("bernoulli", lambda: x.bernoulli_(0.1))
