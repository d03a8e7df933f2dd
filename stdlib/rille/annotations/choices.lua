-- The strings that a type allows: those it lists, and the dtypes' names.
local choices = {}

choices.dtypes = {
  "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "f8_e4m3", "f8_e5m2",
  "f8_e8m0", "f6_e3m2", "f6_e2m3", "f4_e2m1",
}

function choices.of(type_text)
  local list = {}
  for word in type_text:gmatch '"([^"]*)"' do list[#list + 1] = word end
  if ("|" .. type_text .. "|"):find("|rille.dtype|", 1, true) then
    table.move(choices.dtypes, 1, #choices.dtypes, #list + 1, list)
  end
  return list
end

return choices
