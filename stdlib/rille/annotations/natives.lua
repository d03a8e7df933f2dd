-- Types of what is written in C++ and is no op, and of functions whose source says no types:
-- "parameters -> results" as LuaCATS has them, and one line of text ("" where the source has it).
-- A test compares the names with the live module.
local retain = {
  "retain_graph", false, doc = "it may be gone through again; create_graph's value without",
}
local create = { "create_graph", false, doc = "the gradients can be differentiated" }
local backward = {
  retain, create,
  { "inputs", type = "rille.Tensor|rille.Tensor[]", doc = "the only ones that get a gradient" },
}
local to = {
  { "dtype", type = "rille.dtype" }, { "device", type = "string" },
  { "copy", false, doc = "a copy though nothing changes" }, { "async", type = "boolean" },
  { "layout", type = "string" }, { "saturate", type = "boolean" }, { "nan", type = "any" },
  { "rounding", type = "string" }, { "generator", type = "rille.Generator" },
}
local scope = "fn?: fun(...): any, ...: any -> any"

return {
  ["rille.backward"] = { "outputs: rille.Tensor|rille.Tensor[], grad_outputs?: "
    .. "rille.Tensor|rille.Tensor[], options?: rille.backward.options",
    "Gradients of several roots at once.", options = { retain, create } },
  ["rille.clock"] = { "-> number", "Seconds of a clock that only goes forward." },
  ["rille.default_device"] = { "device?: string -> string",
    "Where new tensors are made; with an argument it is set." },
  ["rille.default_dtype"] = { "dtype?: rille.dtype -> rille.dtype",
    "The dtype of new floating tensors; with an argument it is set." },
  ["rille.set_default_dtype"] = { "dtype: rille.dtype -> rille.dtype",
    "Sets the dtype of new floating tensors." },
  ["rille.finfo"] = { "dtype: rille.dtype -> table", "Limits of a floating dtype." },
  ["rille.iinfo"] = { "dtype: rille.dtype -> table", "Limits of an integer dtype." },
  ["rille.generator"] = { "seed?: integer -> rille.Generator",
    "A source of random numbers of its own: seed(n), state(), set_state(list)." },
  ["rille.get_rng_state"] = { "-> integer[]", "The state of the interpreter's random numbers." },
  ["rille.set_rng_state"] = { "state: integer[]", "Puts such a state back." },
  ["rille.grad"] = { "outputs: rille.Tensor|rille.Tensor[], inputs: rille.Tensor|rille.Tensor[], "
    .. "options?: rille.grad.options -> rille.Tensor ...", "Gradients of outputs with respect to "
    .. "inputs; .grad of tensors stays as it is.",
    options = {
      { "grad_outputs", type = "rille.Tensor|rille.Tensor[]", doc = "what backward starts from" },
      retain, create,
      { "allow_unused", false, doc = "nil for an input that no output is made from" },
    } },
  ["rille.info"] = { "-> table<string, string>", "Versions, devices, libraries, kernels in use." },
  ["rille.io.npy"] = { "path: string, tensor?: rille.Tensor -> rille.Tensor",
    "Reads a NumPy file, or writes the tensor." },
  ["rille.io.npz"] = { "path: string, tensors?: table<string, rille.Tensor> -> "
    .. "table<string, rille.Tensor>", "Reads a NumPy archive, or writes the tensors." },
  ["rille.io.safetensors"] = { "path: string -> any",
    "Names, and a reader of tensors one by one, whatever the file's size." },
  ["rille.is_grad_enabled"] = { "-> boolean", "Whether ops are recorded for backward." },
  ["rille.is_tensor"] = { "value: any -> boolean", "Whether it is a tensor." },
  ["rille.save"] = { "path: string, value: table, options?: rille.save.options -> any",
    "Writes a table of tensors and plain values; with step into a folder that keeps the newest.",
    options = {
      { "step", type = "integer", doc = "the file's number in the folder" },
      { "keep", type = "integer", doc = "how many files stay" },
      { "async", false, doc = "on a thread of its own" }, { "lock", type = "boolean" },
    } },
  ["rille.load"] = { "path: string, options?: rille.load.options -> table",
    "What rille.save wrote; no code runs.",
    options = {
      { "device", type = "string", doc = "where the tensors go" },
      { "mmap", false, doc = "the file is mapped, not read" },
      { "map_device", type = "string", doc = "the same as device" },
      { "strict", type = "boolean" },
    } },
  ["rille.load_latest"] = { "folder: string, options?: rille.load.options -> table?, table?",
    "The newest whole file of a folder that rille.save wrote to by step, and which it is." },
  ["rille.memory.allocated"] = { "-> integer", "Bytes of tensors that are alive." },
  ["rille.memory.empty_cache"] = { "", "Gives free blocks back to the system." },
  ["rille.memory.limit"] = { "bytes?: integer|string -> integer?",
    "The most bytes of tensors, as a number or as \"4GiB\"; with an argument it is set." },
  ["rille.memory.peak"] = { "-> integer", "The most bytes that were alive at once." },
  ["rille.memory.reserved"] = { "-> integer", "Bytes that the allocator holds." },
  ["rille.memory.reset_peak"] = { "", "The peak counts anew from here." },
  ["rille.memory.snapshot"] = { "path?: string -> table[]?",
    "Who holds the memory, the largest first: dtype, shape, count, bytes, gradient, and of blocks "
    .. "from 1 MiB on the op and line that made them; those that only the tape holds have tape = "
    .. "true, no dtype and no shape. With a path it writes a page for a browser instead: memory "
    .. "over time by op and line, and who holds it now; whole or not at all (E_IO)." },
  ["rille.memory.watch"] = {
    "fn?: fun(...): any, ...: any -> rille.memory.MemoryWatch|any",
    "A scope that warns once, W_GRAPH_GROWS, where graphs stay alive from step to step, and names "
    .. "the line: total = total + loss, a list of losses, a hidden state without detach. A step "
    .. "ends with an optimizer's step, or where watch:step() is called. Each collects all garbage "
    .. "and walks the graphs, so it is for a look, not for every run. With a function it runs that "
    .. "and gives its results.",
  },
  ["rille.memory.stats"] = { "-> table<string, integer>", "Counters of the allocator." },
  ["rille.ops"] = { "-> table[]", "Every op: name, family, doc, signature, fields." },
  ["rille.promote"] = { "a: rille.dtype, b: rille.dtype -> rille.dtype",
    "The dtype of a result of both." },
  ["rille.seed"] = { "seed: integer", "Starts the interpreter's random numbers anew." },
  ["rille.tensor"] = { "values: number|boolean|table|rille.Tensor, options?: rille.tensor.options "
    .. "-> rille.Tensor", "A tensor of the values of a nested list, or a copy of a tensor.",
    options = {
      { "dtype", type = "rille.dtype" }, { "device", type = "string" }, { "requires_grad", false },
    } },
  ["rille.threads"] = { "n?: integer -> integer", "CPU threads; with an argument they are set." },

  ["rille.amp.quantize"] = {
    "x: rille.Tensor, dtype: rille.dtype, options?: rille.amp.quantize.options -> "
    .. "rille.Tensor, rille.Tensor, rille.Tensor",
    "Codes of eight bits or fewer, their scales, and a global scale (1 where there is none).",
    options = {
      { "per", "tensor", type = '"tensor"|"row"|"block"', doc = "what shares a scale" },
      { "block", type = "integer", doc = "elements of a block; default: 32, for f4_e2m1 16" },
      { "scale", type = "rille.Tensor|number", doc = "one that is known" },
      { "global_scale", type = "rille.Tensor|number", doc = "one that goes with it" },
    } },
  ["rille.amp.dequantize"] = {
    "x: rille.Tensor, scale: rille.Tensor|number, global_scale?: rille.Tensor|number, "
    .. "options?: rille.amp.dequantize.options -> rille.Tensor",
    "Codes times their scales: what quantize gave.",
    options = { { "dtype", "f32", type = "rille.dtype", doc = "of the result" } } },
  ["rille.amp.f8.amax_scale"] = {
    "x: rille.Tensor, dtype: rille.dtype, options?: rille.amp.f8.amax_scale.options -> "
    .. "rille.Tensor", "What a tensor is multiplied with to fill the range of a dtype.",
    options = { { "power_of_two", false, doc = "rounded down to one" } } },

  ["rille.no_grad"] = { scope, "Ops inside are not recorded: a <close> value, or runs fn." },
  ["rille.enable_grad"] = { scope, "Ops inside are recorded: a <close> value, or runs fn." },
  ["rille.inference"] = { scope,
    "No recording, and what is made enters no gradient: a <close> value, or runs fn." },
  ["rille.debugging.detect_anomaly"] = { "options?: table, fn?: fun(...): any, ...: any -> any",
    "Backward tells which op made the first NaN (infinity with { check_inf = true })." },
  ["rille.pairs"] = { "t: table -> fun(): any, any", "pairs in the order of the keys." },
  ["rille.args"] = { "spec: table<string, any>, words?: string[] -> table<string, any>", "" },
  ["rille.save_on_cpu"] = { "fn?: fun(...): any, ...: any -> any", "" },
  ["rille.scope"] = { "fn?: fun(...): any, ...: any -> any",
    "Tensors made inside are freed at its end: a <close> value, or runs fn." },
  ["rille.device"] = { "name: string, fn?: fun(...): any, ...: any -> any", "" },
  ["rille.strict"] = { "on?: boolean", "" },
  ["rille.use_deterministic"] = { "on?: boolean", "" },
  ["rille.nn.module"] = { "name: string, base?: rille.nn.Module -> rille.nn.Module", "" },
  ["rille.nn.Parameter"] = { "t: rille.Tensor -> rille.Tensor", "" },

  ["Tensor.backward"] = { "gradient?: rille.Tensor, options?: Tensor.backward.options",
    "Gradients of what it was made from go into their .grad.", options = backward },
  ["Tensor.bfloat16"] = { "-> rille.Tensor", "As bf16." },
  ["Tensor.bool"] = { "-> rille.Tensor", "As bool." },
  ["Tensor.cpu"] = { "-> rille.Tensor", "On the device cpu." },
  ["Tensor.detach"] = { "-> rille.Tensor", "The same values outside of the graph." },
  ["Tensor.dim"] = { "-> integer", "How many dims it has." },
  ["Tensor.double"] = { "-> rille.Tensor", "As f64." },
  ["Tensor.float"] = { "-> rille.Tensor", "As f32." },
  ["Tensor.fpstats"] = { "-> table", "" },
  ["Tensor.half"] = { "-> rille.Tensor", "As f16." },
  ["Tensor.int"] = { "-> rille.Tensor", "As i32." },
  ["Tensor.is_contiguous"] = { "-> boolean", "Whether its elements lie in order." },
  ["Tensor.is_inference"] = { "-> boolean", "Whether it was made in rille.inference." },
  ["Tensor.item"] = { "-> any", "The value of its one element." },
  ["Tensor.long"] = { "-> rille.Tensor", "As i64." },
  ["Tensor.nbytes"] = { "-> integer", "Bytes of its elements." },
  ["Tensor.numel"] = { "-> integer", "How many elements it has." },
  ["Tensor.register_hook"] = { "f: fun(gradient: rille.Tensor): rille.Tensor? -> table", "" },
  ["Tensor.remove_hook"] = { "id: integer", "Takes a hook away by its number." },
  ["Tensor.requires_grad_"] = { "on?: boolean -> rille.Tensor", "" },
  ["Tensor.retain_grad"] = { "", "backward keeps its gradient in .grad, though it is no leaf." },
  ["Tensor.set_requires_grad"] = { "on?: boolean", "Asks for gradients, or no longer." },
  ["Tensor.shape"] = { "-> integer[]", "Its sizes as a list." },
  ["Tensor.size"] = { "dim?: integer -> integer ...", "The size of a dim, or all of them." },
  ["Tensor.stride"] = { "dim?: integer -> integer ...", "The stride of a dim, or all of them." },
  ["Tensor.to"] = { "target: rille.dtype|string|rille.Tensor, other?: rille.dtype|string, "
    .. "options?: Tensor.to.options -> rille.Tensor",
    "As another dtype, elsewhere, or like a tensor.", options = to },
  ["Tensor.tolist"] = { "-> any", "Its values as nested lists." },
  ["Tensor.type_as"] = { "other: rille.Tensor -> rille.Tensor", "As the dtype of another." },

  ["Tensor#device"] = { "string", "Where it is: \"cpu\"." },
  ["Tensor#dtype"] = { "rille.dtype", "What its elements are." },
  ["Tensor#grad"] = { "rille.Tensor?", "What backward has added up." },
  ["Tensor#is_leaf"] = { "boolean", "Whether no op made it, as far as gradients go." },
  ["Tensor#layout"] = { "string", "How its elements lie." },
  ["Tensor#requires_grad"] = { "boolean", "Whether backward gives it a gradient." },
  ["Tensor#version"] = { "integer", "How often it was changed in place." },
}
