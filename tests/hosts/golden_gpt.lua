-- The run of golden_gpt.cpp as a script, on the text of arg[1].
local tests = arg[0]:match "^(.*)/hosts/[^/]*$"
package.path = tests .. "/?.lua;" .. package.path
local losses, norms = require "support.golden_gpt".train(arg[1], 20, 1)
for step = 1, #losses do print(("%.17g %.17g"):format(losses[step], norms[step])) end
