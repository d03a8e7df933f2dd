-- The fields of a recipe: what Lua type each has, how editors write it, what it is for, and what a
-- table in it may hold. Checks, annotations, help and completion read this list.
return {
  { "name", kind = "string", type = "string", required = true, doc = "of its run folders" },
  { "args", kind = "table", type = "table<string, any>",
    doc = "its own flags, as rille.args has them" },
  { "setup", kind = "function", type = "fun(self: table, args: table)", required = true,
    doc = "sets self.optimizer, self.model and what else a step needs" },
  { "batches", kind = "function", required = true,
    type = 'fun(self: table, args: table, split: "train"|"val"): any',
    doc = "gives what the batches come from" },
  { "loss", kind = "function", type = "fun(self: table, batch: any): rille.Tensor",
    required = true, doc = "of a batch" },
  { "evaluate", kind = "table", type = "table", doc = "on the split val", fields = {
    { "every", type = "integer", doc = "steps from one to the next" },
    { "batches", type = "integer", doc = "how many; all of a finite source without" },
  } },
  { "sample", kind = "function", type = "fun(self: table): string?",
    doc = "a text to show after each evaluation" },
  { "clip", kind = "number", type = "number", doc = "the largest norm of the gradients" },
  { "accumulate", kind = "number", type = "integer", doc = "batches a step" },
  { "amp", kind = "string", type = '"off"|"bf16"|"f16"|"f8"', doc = "mixed precision" },
  { "checkpoint_blocks", kind = "any", type = "boolean|string|number|table",
    doc = "the model's blocks recompute: true, a policy, a budget, options of rille.checkpointer" },
  { "save", kind = "table", type = "table", doc = "checkpoints", fields = {
    { "every", type = "integer", doc = "steps from one to the next" },
    { "keep", type = "integer", doc = "how many stay, 2 or more" },
    { "async", type = "boolean", doc = "written while training goes on" },
    { "on_error", type = '"stop"|"continue"', doc = "where one can't be written" },
    { "grace", type = "number", doc = "seconds that are left after SIGTERM" },
  } },
  { "log", kind = "table", type = "table", doc = "records of metrics", fields = {
    { "every", type = "integer", doc = "steps from one to the next" },
  } },
  { "on_nonfinite", kind = "string", type = '"error"|"skip"|"warn"',
    doc = "where the loss is nan or infinite" },
  { "on", kind = "table", type = "table", doc = "functions that are told", fields = {
    { "step", type = "fun(self: table, loss: number, step: integer)" },
    { "epoch", type = "fun(self: table, epoch: integer)" },
    { "evaluate", type = "fun(self: table, loss: number, step: integer)" },
    { "save", type = "fun(self: table, path: string, step: integer)" },
  } },
}
