-- The workloads in the order of the table, and what each case must reach: a number is the largest
-- ratio of our median to PyTorch's; { ms = x } and { mb = x } are absolute, and { ms = x, of = y }
-- was set where PyTorch took y: where it takes longer, so may we. `tuned` asks for a second PyTorch
-- whose malloc keeps its memory; `rounds` is the most the workload takes part in; `apart` are the
-- cases of which each runs in a process of its own, as a training run does; `against` is
-- PyTorch's case where it is another: a load that checks every byte is compared with PyTorch's
-- ordinary one, whose mapped one checks none.
local ns, us = 1e-6, 1e-3

return {
  { name = "startup", id = "W1", rounds = 1, cases = {
    { "start", { ms = 20 } }, { "memory", { mb = 20 } } } },
  { name = "dispatch", id = "W2", cases = {
    { "add", { ms = 250 * ns, of = 746 * ns } }, { "add_graph", { ms = 400 * ns, of = 1435 * ns } },
    { "view", { ms = 200 * ns, of = 601 * ns } }, { "slice", { ms = 250 * ns, of = 776 * ns } },
    { "item", { ms = 80 * ns, of = 132 * ns } }, { "matmul64", { ms = 3 * us, of = 3.7 * us } } } },
  { name = "mlp", id = "W3", apart = { "step", "step_bf16" }, cases = {
    { "step", 0.80 }, { "step_bf16", 0.75 } } },
  { name = "gpt", id = "W4/5", apart = { "small", "big", "small_bf16", "big_bf16" }, cases = {
    { "small", 0.80 }, { "big", 0.90 }, { "memory", { mb = 700 } }, { "small_bf16", 0.45 },
    { "big_bf16", 0.70 } } },
  { name = "blocks", id = "W5", apart = { "step", "step_bf16" }, cases = {
    { "step", 0.80 }, { "memory", { mb = 350 } }, { "step_bf16", 0.80 } } },
  { name = "resnet", id = "W6", apart = { "step", "step_bf16" }, cases = {
    { "step", 1.0 }, { "step_bf16", 0.95 } } },
  { name = "pointwise", id = "W7", tuned = true, cases = {
    { "add", 0.40 }, { "exp", 0.40 }, { "gelu_tanh", 0.40 }, { "gelu_erf", 0.40 }, { "sum", 1.1 },
    { "copy", 1.1 }, { "add_into", 1.1 }, { "dropout", 0.15 }, { "transposed_copy", 0.60 } } },
  { name = "rows", id = "W7", tuned = true, cases = {
    { "softmax", 0.50 }, { "layer_norm", 0.50 }, { "softmax_both", 0.50 },
    { "layer_norm_both", 0.50 }, { "cross_entropy_both", 0.50 },
    { "cross_entropy_bf16", 0.50 } } },
  { name = "optimizers", id = "W7", tuned = true, cases = {
    { "adamw", 1.0 }, { "sgd_momentum", 1.0 }, { "clip_grad_norm", 0.6 } } },
  { name = "files", id = "W10", cases = {
    { "save", 0.45 }, { "load_mapped", 0.30, against = "load" } } },
  { name = "gemm", id = "W11", cases = {} },
  { name = "random_numbers", id = "W12", cases = {
    { "normal", 0.30 }, { "uniform", 0.30 }, { "bernoulli", 0.30 } } },
  { name = "scaler", id = "amp", cases = {} },
  { name = "attention", id = "W13", cases = {
    { "time256", 0.85 }, { "time1024", 0.85 }, { "time256_bf16", 0.60 },
    { "time1024_bf16", 0.60 } } },
  { name = "char_gpt", id = "run", rounds = 1, cases = { { "run", 0.85 } } },
}
