"""W10, twin of ../files.lua."""
import os

import measure

torch = measure.torch()

path = measure.args.folder + "/files-torch.pt"
state = {f"layer{i}.weight": torch.randn(1250, 1000) for i in range(100)}


def save():
    torch.save(state, path)
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


measure.case("save", save)
measure.case("load", lambda: [t.sum() for t in torch.load(path).values()])
measure.case("load_mapped", lambda: [t.sum() for t in torch.load(path, mmap=True).values()])
os.remove(path)
